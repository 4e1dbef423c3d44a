package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/docs"
	"github.com/p20export/p20export/finding"
)

// findings prints findings with excerpts of the lines they are on. Findings at the same
// place share one excerpt. After them it prints each next step and each rule once.
func (p *Printer) findings(list []finding.Finding) {
	var hints, rules []string
	codes := map[string][]string{}
	for i, f := range list {
		p.finding(f)
		if i+1 == len(list) || !samePlace(f, list[i+1]) {
			p.excerpt(f)
		}
		if f.Rule != "" && !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
		if f.Hint == "" {
			continue
		}
		if codes[f.Hint] == nil {
			hints = append(hints, f.Hint)
		}
		if code := string(f.Code); !slices.Contains(codes[f.Hint], code) {
			codes[f.Hint] = append(codes[f.Hint], code)
		}
	}
	for _, h := range hints {
		of := ""
		if len(hints) > 1 {
			of = " (" + strings.Join(codes[h], ", ") + ")"
		}
		p.line("  next    \t%s%s", painted(finding.Printable(h)), of)
	}
	for _, r := range rules {
		p.line("  see     %s", ruleURI(r))
	}
}

func samePlace(a, b finding.Finding) bool {
	return a.Offset != nil && b.Offset != nil && *a.Offset == *b.Offset
}

// finding prints one finding.
func (p *Printer) finding(f finding.Finding) {
	if f.Code == finding.FindingsUnlisted {
		p.line("  %-7s \t%s", "…", painted(finding.Printable(f.Message)))
		return
	}
	p.line("  %s \t%s", p.paint(severityColour(f.Severity), fmt.Sprintf("%-7s", string(f.Severity))), painted(sentence(f)))
}

// excerpt prints the line a finding is on, if it is known, with a caret below the
// position.
func (p *Printer) excerpt(f finding.Finding) {
	if f.Excerpt.Text == "" {
		return
	}
	p.line("  %7d | %s", f.Line, painted(finding.Printable(f.Excerpt.Text)))
	p.line("  %7s | %s%s", "", strings.Repeat(" ", f.Excerpt.Caret()), p.paint(severityColour(f.Severity), "^"))
}

// sentence returns the code, place, message and rule of a finding, escaped.
func sentence(f finding.Finding) string {
	return finding.Escape(string(f.Code)+where(f)) + ": " + finding.Printable(f.Message) + finding.Escape(rule(f))
}

// where formats the place of a finding.
func where(f finding.Finding) string {
	var parts []string
	if f.EventIndex != nil {
		parts = append(parts, "event "+strconv.Itoa(*f.EventIndex))
	}
	if f.Pointer != "" {
		parts = append(parts, string(f.Pointer))
	}
	if f.Line > 0 {
		parts = append(parts, "line "+strconv.Itoa(f.Line))
	}
	if f.Column > 0 {
		parts = append(parts, "column "+strconv.Itoa(f.Column))
	}
	if f.Offset != nil {
		parts = append(parts, "byte "+strconv.FormatInt(*f.Offset, 10))
	}
	if parts == nil {
		return ""
	}
	return " at " + strings.Join(parts, ", ")
}

// rule formats the rule of a finding.
func rule(f finding.Finding) string {
	if f.Rule == "" {
		return ""
	}
	return " (rule " + f.Rule + ")"
}

// The addresses of this program's documentation.
const (
	homepage = "https://github.com/p20export/p20export"
	pages    = homepage + "/blob/main/docs"
)

// ruleURI returns the address of a rule on its page.
func ruleURI(id string) string {
	page := docs.Contract
	if r, ok := docs.Find(id); ok {
		page = r.Page
	}
	return pages + "/" + page + "#" + id
}

// codeURI returns the address of a finding code in the table of codes.
func codeURI(code finding.Code) string { return pages + "/findings.md#" + string(code) }

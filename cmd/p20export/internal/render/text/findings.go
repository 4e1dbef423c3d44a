package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/docs"
	"github.com/p20export/p20export/finding"
)

// Findings prints findings with excerpts of the lines they are on. Findings at the same
// place share one excerpt. After them it prints each next step and each rule once.
func (w *Writer) Findings(list []finding.Finding) {
	var hints, rules []string
	codes := map[string][]string{}
	for i, f := range list {
		w.finding(f)
		if i+1 == len(list) || !samePlace(f, list[i+1]) {
			w.excerpt(f)
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
		w.Line("  next    \t%s%s", Painted(finding.Printable(h)), of)
	}
	for _, r := range rules {
		w.Line("  see     %s", RuleURI(r))
	}
}

func samePlace(a, b finding.Finding) bool {
	return a.Offset != nil && b.Offset != nil && *a.Offset == *b.Offset
}

// finding prints one finding.
func (w *Writer) finding(f finding.Finding) {
	if f.Code == finding.FindingsUnlisted {
		w.Line("  %-7s \t%s", "…", Painted(finding.Printable(f.Message)))
		return
	}
	w.Line("  %s \t%s", w.Paint(SeverityColour(f.Severity), fmt.Sprintf("%-7s", string(f.Severity))), Painted(Sentence(f)))
}

// excerpt prints the line a finding is on, if it is known, with a caret below the
// position.
func (w *Writer) excerpt(f finding.Finding) {
	if f.Excerpt.Text == "" {
		return
	}
	w.Line("  %7d | %s", f.Line, Painted(finding.Printable(f.Excerpt.Text)))
	w.Line("  %7s | %s%s", "", strings.Repeat(" ", f.Excerpt.Caret()), w.Paint(SeverityColour(f.Severity), "^"))
}

// Sentence returns the code, place, message and rule of a finding, escaped.
func Sentence(f finding.Finding) string {
	return finding.Escape(string(f.Code)+where(f)) + ": " + finding.Printable(f.Message) + finding.Escape(Rule(f))
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

// Rule formats the rule of a finding.
func Rule(f finding.Finding) string {
	if f.Rule == "" {
		return ""
	}
	return " (rule " + f.Rule + ")"
}

// The addresses of this program's documentation.
const (
	Homepage = "https://github.com/p20export/p20export"
	Pages    = Homepage + "/blob/main/docs"
)

// RuleURI returns the address of a rule on its page.
func RuleURI(id string) string {
	page := docs.Contract
	if r, ok := docs.Find(id); ok {
		page = r.Page
	}
	return Pages + "/" + page + "#" + id
}

// CodeURI returns the address of a finding code in the table of codes.
func CodeURI(code finding.Code) string { return Pages + "/findings.md#" + string(code) }

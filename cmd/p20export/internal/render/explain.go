package render

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/p20export/p20export/cmd/p20export/internal/render/text"
	"github.com/p20export/p20export/docs"
	"github.com/p20export/p20export/finding"
)

// codeRow is the row of a finding code.
type codeRow struct {
	Code     finding.Code     `json:"code"`
	Severity finding.Severity `json:"severity"`
	Meaning  string           `json:"meaning"`
	Spec     string           `json:"spec,omitzero"`
	Hint     string           `json:"hint,omitzero"`
	Rules    []string         `json:"rules,omitzero"`
	See      string           `json:"see"`
}

// ruleRow is the row of a rule. Only rules of the contract, of the order of events and of
// lint have Code, Spec and Hint, and only the first two have Examples.
type ruleRow struct {
	Rule  string         `json:"rule"`
	Code  finding.Code   `json:"code,omitzero"`
	Text  string         `json:"text"`
	After string         `json:"after,omitzero"`
	Codes []finding.Code `json:"codes,omitzero"`
	Spec  string         `json:"spec,omitzero"`
	// Source is that of a rule of the order of events.
	Source   *finding.Source `json:"source,omitzero"`
	Hint     string          `json:"hint,omitzero"`
	Examples string          `json:"examples,omitzero"`
	See      string          `json:"see"`
}

// topicRow is the row of a code or rule in the list of all of them.
type topicRow struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

// Topics prints the list of codes and rules.
func (p *Printer) Topics() {
	var rows []topicRow
	for _, c := range finding.Codes() {
		about, _ := finding.Describe(c)
		rows = append(rows, topicRow{string(c), about.Meaning})
	}
	for _, r := range docs.Rules() {
		rows = append(rows, topicRow{r.ID, r.Summary()})
	}
	for _, row := range rows {
		if p.format == JSON {
			p.json(row)
			continue
		}
		p.Line("%-28s  %s", row.Name, painted(truncate(row.Meaning)))
	}
}

// truncate shortens a text that would make a line of the list too long.
func truncate(s string) string {
	const most = 88
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:most-1]), " ") + "…"
}

// Code prints the explanation of a code.
func (p *Printer) Code(c finding.Code, about finding.Description) {
	row := codeRow{c, about.Severity, about.Meaning, about.Spec, about.Hint, docs.RulesOf(c), text.CodeURI(c)}
	if p.format == JSON {
		p.json(row)
		return
	}
	p.Line("%s", string(c))
	p.field("severity", string(row.Severity))
	p.field("means", row.Meaning)
	p.field("source", row.Spec)
	p.field("next", row.Hint)
	p.field("rules", strings.Join(row.Rules, ", "))
	p.field("see", row.See)
}

// Rule prints the explanation of a rule.
func (p *Printer) Rule(r docs.Rule) {
	row := ruleRow{Rule: r.ID, Text: r.Text, After: r.Notes, Codes: r.Codes, See: text.Pages + "/" + r.Page + "#" + r.ID}
	all := slices.Concat(finding.Rules(), finding.SequenceRules(), finding.LintRules())
	if i := slices.IndexFunc(all, func(c finding.Rule) bool { return c.ID == r.ID }); i >= 0 {
		about, _ := finding.Describe(all[i].Code)
		row.Code, row.Codes, row.Spec, row.Hint = all[i].Code, nil, all[i].Spec, about.Hint
		switch r.Page {
		case docs.Contract:
			row.Examples = text.Homepage + "/tree/main/schema/vectors/cases/" + r.ID
		case docs.Sequence:
			row.Examples = text.Homepage + "/blob/main/envelope/sequence/testdata/vectors/" + r.ID + ".json"
			source, _ := finding.SourceOf(r.ID)
			row.Source = &source
		}
	}
	if p.format == JSON {
		p.json(row)
		return
	}
	p.Line("%s", r.ID)
	p.prose(row.Text)
	if row.After != "" {
		p.Line("")
		p.Line("  The text that follows, up to the next rule or section:")
		p.prose(row.After)
	}
	p.Line("")
	var codes []string
	for _, c := range row.Codes {
		codes = append(codes, string(c))
	}
	p.field("code", string(row.Code))
	p.field("codes", strings.Join(codes, ", "))
	p.field("source", row.Spec)
	if row.Source != nil {
		p.ruleSource(*row.Source)
	}
	p.field("next", row.Hint)
	p.field("examples", row.Examples)
	p.field("see", row.See)
}

// ruleSource prints where a rule of the order of events comes from, and who enforces it.
func (p *Printer) ruleSource(s finding.Source) {
	var places []string
	for _, at := range s.Sentences {
		places = append(places, at.String())
	}
	clients := strings.Join(s.Clients, ", ")
	if clients == "" {
		clients = "none of the published ones"
	}
	p.field("says", strings.Join(places, "; "))
	p.field("page", s.Page())
	p.field("versions", strings.Join(s.Versions, ", "))
	p.field("clients", clients)
}

// field prints a named value unless it is empty.
func (p *Printer) field(name, value string) {
	if value != "" {
		p.Line("  %-8s  \t%s", name, painted(value))
	}
}

// verbatimBlock matches the beginning of a block whose lines are not wrapped.
var verbatimBlock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^(```|\\| )") })

// prose prints the text of a rule, indented. It wraps paragraphs and list items, but not
// fenced blocks and tables.
func (p *Printer) prose(text string) {
	for block := range strings.SplitSeq(text, "\n\n") {
		p.Line("")
		for line := range strings.SplitSeq(block, "\n") {
			if verbatimBlock().MatchString(block) {
				p.Unwrapped("  %s", painted(line))
				continue
			}
			p.paragraph(line)
		}
	}
}

// paragraph prints a line, wrapped at its spaces.
func (p *Printer) paragraph(text string) {
	const most = 78
	line, width := "", 0
	for word := range strings.SplitSeq(text, " ") {
		n := utf8.RuneCountInString(word)
		if width > 0 && width+1+n > most {
			p.Line("  %s", painted(line))
			line, width = "", 0
		}
		if width > 0 {
			line, width = line+" ", width+1
		}
		line, width = line+word, width+n
	}
	p.Line("  %s", painted(line))
}

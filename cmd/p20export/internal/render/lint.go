package render

import (
	"strings"

	"github.com/p20export/p20export/cmd/p20export/internal/render/document"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/lint"
)

// Lint prints the result for one capture, with the features that it exercises if it is the
// only one. A format that is one document stores it until LintSummary.
func (p *Printer) Lint(row lint.Row, single bool) {
	switch p.format {
	case Text:
		p.linted(row, single)
	case JSON:
		p.json(row)
	case GitHub:
		p.annotate(row.Response, !row.ContentEncoded, row.Findings)
	default:
		p.add("lint", document.Result{
			Name: row.Capture, File: row.Response, Response: !row.ContentEncoded, Outcome: outcomeOf(statusOfLint(row)), Verdict: string(row.Verdict),
			Digest: row.Digest, Bytes: row.Bytes, Findings: row.Findings,
		})
	}
}

// LintSummary prints the number of captures by verdict if there are several, or the
// document. If the captures are not all, missing says why.
func (p *Printer) LintSummary(t *Tally, missing string) {
	switch {
	case p.format == SARIF || p.format == JUnit:
		p.document("lint")
	case missing != "":
		p.Note("%s: %s; %s", Plural(t.Total(), "capture", "captures"), verdictCounts(t.counts, project.Accepted, project.Refused, project.Failed), missing)
	case t.Total() > 1:
		p.Note("%d captures: %s", t.Total(), verdictCounts(t.counts, project.Accepted, project.Refused, project.Failed))
	}
}

func (p *Printer) linted(row lint.Row, single bool) {
	result := "not checked"
	switch {
	case row.Breaches > 0:
		result = Plural(row.Breaches, "error", "errors")
	case row.Verdict == project.Accepted:
		result = "no rule broken"
	case row.Events > 0:
		result = Plural(errorsOf(row), "error", "errors")
	}
	if row.Events > 0 {
		result = Plural(row.Events, "event", "events") + " in " + Plural(row.Runs, "run", "runs") + ", " + protocolsOf(row) + ", " + result
	}
	p.Line("%s \t%s  %s", p.verdict(row.Verdict), row.Capture, painted(result))
	if single && len(row.Features) > 0 {
		p.Line("  features \t%s", strings.Join(row.Features, ", "))
	}
	p.Findings(row.Findings)
}

// errorsOf returns the number of errors.
func errorsOf(row lint.Row) (n int) {
	for _, c := range row.Rules {
		if c.Severity == finding.Error {
			n += c.Count
		}
	}
	return n
}

// protocolsOf names the versions of AG-UI whose rules were applied. The text is escaped.
func protocolsOf(row lint.Row) string {
	if len(row.Declared) == 0 {
		return "AG-UI " + string(row.Protocol)
	}
	last := len(row.Declared) - 1
	var all []string
	for _, d := range row.Declared[:last] {
		all = append(all, d.About())
	}
	text := row.Declared[last].About()
	if last > 0 {
		text = strings.Join(all, ", ") + " and " + text
	}
	return "AG-UI " + text
}

// LintGroups prints the groups of findings.
func (p *Printer) LintGroups(groups *lint.Groups) {
	for _, g := range groups.List() {
		if p.format == JSON {
			p.json(g)
			continue
		}
		name := string(g.Code)
		if g.Rule != nil {
			name = *g.Rule + " " + name
		}
		p.Line("%-7s %s: %s in %s", string(g.Severity), name, Plural(g.Count, "time", "times"), Plural(g.Captures, "capture", "captures"))
		for _, place := range g.First {
			p.Line("  \t%s%s: %s", place.Capture, placeOf(place.Finding), painted(finding.Printable(place.Finding.Message)))
		}
	}
}

package render

import (
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/lint"
)

// Lint prints the result for one capture. A format that is one document stores it until
// LintSummary.
func (p *Printer) Lint(row lint.Row) {
	switch p.format {
	case Text:
		p.linted(row)
	case JSON:
		p.json(row)
	default:
		p.add("lint", result{
			name: row.Capture, file: row.Response, response: !row.ContentEncoded, status: StatusOf(row.Verdict), verdict: string(row.Verdict),
			digest: row.Digest, bytes: row.Bytes, findings: row.Findings,
		})
	}
}

// LintSummary prints the number of captures by verdict if there are several, or the
// document.
func (p *Printer) LintSummary(t *Tally) {
	switch {
	case p.format == SARIF || p.format == JUnit:
		p.document("lint")
	case t.Total() > 1:
		p.Note("%d captures: %s", t.Total(), verdictCounts(t.counts, project.Accepted, project.Refused, project.Failed))
	}
}

func (p *Printer) linted(row lint.Row) {
	counts := ""
	if row.Digest != "" { // it was read to its end
		counts = "  " + Plural(row.Events, "event", "events") + " in " + Plural(row.Runs, "run", "runs") + ", " + breaches(row.Breaches)
	}
	p.line("%s \t%s%s", p.verdict(row.Verdict), row.Capture, counts)
	p.findings(row.Findings)
}

// breaches formats a number of breaches of rules.
func breaches(n int) string {
	if n == 0 {
		return "no rule broken"
	}
	return Plural(n, "breach", "breaches")
}

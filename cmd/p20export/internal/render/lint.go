package render

import (
	"github.com/p20export/p20export/cmd/p20export/internal/render/document"
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
		p.add("lint", document.Result{
			Name: row.Capture, File: row.Response, Response: !row.ContentEncoded, Outcome: outcomeOf(StatusOf(row.Verdict)), Verdict: string(row.Verdict),
			Digest: row.Digest, Bytes: row.Bytes, Findings: row.Findings,
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
	result := "not checked"
	switch {
	case row.Breaches > 0:
		result = Plural(row.Breaches, "error", "errors")
	case row.Verdict == project.Accepted:
		result = "no rule broken"
	}
	if row.Events > 0 {
		result = Plural(row.Events, "event", "events") + " in " + Plural(row.Runs, "run", "runs") + ", " + result
	}
	p.Line("%s \t%s  %s", p.verdict(row.Verdict), row.Capture, result)
	p.Findings(row.Findings)
}

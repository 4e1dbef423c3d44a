package render

import (
	"fmt"

	"github.com/p20export/p20export/cmd/p20export/internal/render/document"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/validate"
)

func resultOf(row validate.Row) document.Result {
	j := document.Result{
		Name: row.File, File: row.File, Outcome: outcomeOf(StatusOf(row.Verdict)), Verdict: string(row.Verdict),
		Bytes: row.Bytes, Profile: row.Profile, Canonical: row.Canonical, Findings: row.Findings,
	}
	if row.Digest != nil {
		j.Digest = *row.Digest
	}
	if row.Kind != nil {
		j.Kind = string(*row.Kind)
	}
	return j
}

// outcomeOf returns what a status means for a document.
func outcomeOf(s Status) document.Outcome {
	switch s {
	case Done:
		return document.Passed
	case Negative:
		return document.Negative
	}
	return document.Failed
}

// Validation prints the result of validating a file. A format that is one document stores
// it until ValidationSummary.
func (p *Printer) Validation(row validate.Row) {
	switch p.format {
	case Text:
		p.validated(row)
	case JSON:
		p.json(row)
	default:
		p.add("validate", resultOf(row))
	}
}

// ValidationSummary prints the number of files by verdict if there are several, or the
// document.
func (p *Printer) ValidationSummary(t *Tally) {
	switch {
	case p.format == SARIF || p.format == JUnit:
		p.document("validate")
	case t.Total() > 1:
		p.Note("%d files: %s", t.Total(), verdictCounts(t.counts, project.Accepted, project.Malformed, project.Differs, project.Failed))
	}
}

func (p *Printer) validated(row validate.Row) {
	kind := ""
	if row.Kind != nil {
		kind = "  " + string(*row.Kind) + ", profile " + string(row.Profile)
	}
	p.Line("%s \t%s%s", p.verdict(row.Verdict), row.File, kind)
	if row.Digest != nil {
		p.Line("  digest    \t%s", string(*row.Digest))
	}
	if row.Verdict == project.Accepted {
		p.Line("  canonical \t%s", yesNo(*row.Canonical))
	}
	p.Findings(row.Findings)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Plural formats a number with the matching form of a noun.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

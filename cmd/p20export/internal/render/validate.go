package render

import (
	"fmt"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/validate"
)

// result is the part of a SARIF or JUnit document about one input, or about one run in
// it.
type result struct {
	name      string // of the input, and of the run if there is one
	file      string // that the offsets of findings refer to
	response  bool   // whether the file is a response as it was sent, so that findings have lines in it
	status    Status
	verdict   string
	digest    digest.Digest // of the file; empty if it was not read
	bytes     int64
	kind      string // empty if inputs have only one kind
	profile   artifact.Profile
	canonical *bool
	findings  []finding.Finding
}

// failed reports whether the input could not be checked.
func (r result) failed() bool { return r.status == Failed }

func resultOf(row validate.Row) result {
	j := result{
		name: row.File, file: row.File, status: StatusOf(row.Verdict), verdict: string(row.Verdict),
		bytes: row.Bytes, profile: row.Profile, canonical: row.Canonical, findings: row.Findings,
	}
	if row.Digest != nil {
		j.digest = *row.Digest
	}
	if row.Kind != nil {
		j.kind = string(*row.Kind)
	}
	return j
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
	p.line("%s \t%s%s", p.verdict(row.Verdict), row.File, kind)
	if row.Digest != nil {
		p.line("  digest    \t%s", string(*row.Digest))
	}
	if row.Verdict == project.Accepted {
		p.line("  canonical \t%s", yesNo(*row.Canonical))
	}
	p.findings(row.Findings)
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

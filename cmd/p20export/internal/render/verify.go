package render

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/verify"
)

// statusOfRow returns the exit status for an entry of a directory.
func statusOfRow(row verify.TreeRow) Status {
	switch {
	case row.Verdict == verify.Whole, row.Verdict == verify.Unexplained && !finding.Failed(row.Findings):
		return Done
	}
	return StatusOf(row.Verdict)
}

// verdictCounts formats the number of times each verdict was given, in the order of
// verdicts. Zeros are omitted, except for the first verdict.
func verdictCounts[V ~string](count map[V]int, verdicts ...V) string {
	var parts []string
	for i, v := range verdicts {
		if n := count[v]; n > 0 || i == 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

// Verification prints the result of verifying an artifact.
func (p *Printer) Verification(row verify.Row) {
	if p.format == JSON {
		p.json(row)
		return
	}
	p.Line("%s \t%s", p.verdict(row.Verdict), row.Artifact)
	if row.Record != "" {
		p.Line("  record    \t%s", row.Record)
	}
	if row.Capture != "" { // empty if none was found
		p.Line("  capture   \t%s", row.Capture)
	}
	p.provenance(row.Origin, row.FromRequest, row.TimeSource)
	p.signature(row.Signature)
	p.Findings(row.Findings)
}

// TreeEntry prints the result for an entry of a directory: first its path, then the
// other paths of its row.
func (p *Printer) TreeEntry(row verify.TreeRow) {
	if p.format == JSON {
		p.json(row)
		return
	}
	labels := [...]string{"", "  record    \t", "  capture   \t", ""}
	about := true
	for i, path := range [...]*string{row.Artifact, row.Record, row.Capture, row.File} {
		switch {
		case path == nil:
		case about:
			p.Line("%s \t%s", p.treeVerdict(row), *path)
			about = false
		default:
			p.Line("%s%s", painted(labels[i]), *path)
		}
	}
	p.provenance(row.Origin, row.FromRequest, row.TimeSource)
	p.signature(row.Signature)
	p.Findings(row.Findings)
}

// treeVerdict returns the verdict on an entry of a directory in its colour.
func (p *Printer) treeVerdict(row verify.TreeRow) painted {
	colour := ""
	switch {
	case row.Verdict == verify.Whole:
		colour = green
	case statusOfRow(row) == Done && row.Verdict == verify.Unexplained:
		colour = yellow
	default:
		return p.verdict(row.Verdict)
	}
	return p.Paint(colour, fmt.Sprintf("%-9s", string(row.Verdict)))
}

// provenance prints the origin of the snapshot and of the times of an artifact.
func (p *Printer) provenance(origin *project.Origin, requestTaken bool, times *project.TimeSource) {
	if origin != nil {
		p.Line("  snapshot  \t%s", formatOrigin(*origin, requestTaken))
	}
	if times != nil {
		p.Line("  times     \t%s", string(*times))
	}
}

// TreeSummary prints the number of entries of a directory, list or archive by verdict.
func (p *Printer) TreeSummary(name string, capturesOnly bool, t *Tally) {
	verdicts := []project.Verdict{project.Verified, verify.Broken, verify.Unsigned, project.Differs, project.Unverifiable, project.Failed, verify.Whole, verify.Unexplained}
	if capturesOnly {
		verdicts = []project.Verdict{verify.Whole, project.Differs, project.Unverifiable, project.Failed, verify.Unexplained}
	}
	text := verdictCounts(t.counts, verdicts...)
	if verified := t.counts[project.Verified]; !capturesOnly {
		count := fmt.Sprintf("%d %s", verified, project.Verified)
		text = count + t.incompleteNote(verified) + strings.TrimPrefix(text, count)
	}
	p.Note("%s: %s", name, text)
}

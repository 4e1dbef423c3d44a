package render

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/cmd/p20export/internal/render/rows"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// Freeze prints the result of freezing a run.
func (p *Printer) Freeze(row freeze.Row) {
	if p.format == JSON {
		files := []rows.Member{{Name: "artifact_json", Text: row.ArtifactJSON}, {Name: "envelope_ndjson", Text: row.EnvelopeNDJSON}, {Name: "record_json", Text: row.RecordJSON}, {Name: "signature_json", Text: row.SignatureJSON}}
		row.ArtifactJSON, row.EnvelopeNDJSON, row.RecordJSON, row.SignatureJSON = nil, nil, nil, nil
		p.json(row, files...)
		return
	}
	switch {
	case row.Run == nil:
		p.Line("%s \t%s", p.verdict(row.Verdict), row.Capture)
	case row.RunID == nil: // it was skipped
		p.Line("%s \t%s  run %d", p.verdict(row.Verdict), row.Capture, *row.Run)
	default:
		p.Line("%s \t%s  run %d  %s", p.verdict(row.Verdict), row.Capture, *row.Run, *row.RunID)
	}
	if row.Verdict == project.Frozen {
		p.Line("  artifact  \t%s  %s", *row.Artifact, humanize.Bytes(int64(*row.ArtifactBytes)))
		p.Line("  digest    \t%s", string(*row.ArtifactDigest))
		p.Line("  envelope  \t%s", *row.Envelope)
		p.Line("  record    \t%s", *row.Record)
		if row.Signature != nil {
			p.Line("  signature \t%s", *row.Signature)
		}
		if row.Timestamp != nil {
			p.Line("  token     \t%s", *row.Timestamp)
		}
		p.Line("  snapshot  \t%s", formatOrigin(*row.Origin, row.FromRequest))
	}
	if row.Verdict == project.Skipped {
		p.Line("  record    \t%s", *row.Record)
	}
	p.Findings(row.Findings)
	if row.Verdict == project.Frozen {
		p.Line("  %s", assayLine(row))
	}
}

// formatOrigin describes the origin of an artifact's messages.
func formatOrigin(o project.Origin, requestTaken bool) string {
	switch {
	case o == project.Built && requestTaken:
		return "built from the request and the streamed text, not emitted"
	case o == project.Built:
		return "built from the stream, not emitted"
	}
	return "emitted by the run"
}

// assayLine says whether Assay can import the artifact and, if not, why.
func assayLine(row freeze.Row) string {
	switch {
	case row.Profiles.Assay && *row.Origin == project.Built:
		return "Assay can import this artifact as a receipt (p20export assay --receipt), which states that its snapshot was built."
	case row.Profiles.Assay && finding.Has(row.Findings, finding.SnapshotLacksText):
		return "Assay can import this artifact, but its events cannot express that the snapshot lacks streamed text: keep the record."
	case row.Profiles.Assay:
		return "Assay can import this artifact."
	}
	var reasons []string
	for _, f := range row.Assay {
		if f.Severity == finding.Error {
			reasons = append(reasons, f.Message)
		}
	}
	const shown = 3
	if more := len(reasons) - shown; more > 0 {
		reasons = append(reasons[:shown], "and "+Plural(more, "more reason", "more reasons"))
	}
	return "Assay cannot import this artifact: " + strings.Join(reasons, "; ") + "."
}

// FreezeSummary prints the numbers of runs by verdict, and of captures without a run. If
// the captures are not all, missing says why.
func (p *Printer) FreezeSummary(captures int, t *Tally, missing string) {
	frozen, skipped := t.counts[project.Frozen], ""
	if n := t.counts[project.Skipped]; n > 0 {
		skipped = fmt.Sprintf("%d skipped, ", n)
	}
	text := fmt.Sprintf("%s of %s: %d frozen%s, %s%d refused, %d failed", Plural(t.Total(), "run", "runs"), Plural(captures, "capture", "captures"),
		frozen, t.incompleteNote(frozen), skipped, t.counts[project.Refused], t.counts[project.Failed])
	if n := t.runless[project.Refused]; n > 0 {
		text += "; " + Plural(n, "capture", "captures") + " without a run refused"
	}
	if n := t.runless[project.Failed]; n > 0 {
		text += "; " + Plural(n, "capture", "captures") + " could not be read"
	}
	if missing != "" {
		text += "; " + missing
	}
	p.Note("%s", text)
}

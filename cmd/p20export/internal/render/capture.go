package render

import (
	"context"
	"errors"
	"fmt"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
)

// captureRow is the row of a capture.
type captureRow struct {
	Capture  string            `json:"capture"`
	Verdict  project.Verdict   `json:"verdict"`
	End      *capture.End      `json:"end"`
	Status   *int              `json:"status"`
	Framing  *capture.Framing  `json:"framing"`
	Events   *int              `json:"events"`
	Bytes    *int64            `json:"bytes"`
	Digest   *digest.Digest    `json:"digest"`
	Findings []finding.Finding `json:"findings"`
}

// Capture prints the result of a capture, or why there is none, and returns the exit
// status. An import stores a file as it is, so only reaching its limit makes it fail.
func (p *Printer) Capture(dir string, r capture.Result, err error) Status {
	row := captureRow{Capture: dir, Verdict: scenario.Captured, Findings: append([]finding.Finding{}, r.Findings...)}
	m := r.Manifest
	if m != nil {
		row.setManifest(m)
		row.Events = r.Events
		if finding.Failed(r.Findings) && (m.Source.Kind != capture.KindFile || m.End == capture.EndLimit) {
			row.Verdict = project.Failed
		}
	}
	if err != nil && (m == nil || m.End != capture.EndCancelled || !errors.Is(err, context.Canceled)) {
		found, _ := finding.FromError(err)
		row.Verdict, row.Findings = project.Failed, append(row.Findings, found)
	}
	if row.Verdict == scenario.Captured && row.Events != nil && *row.Events == 0 {
		none := finding.New(finding.NoEvents, "the response contains no event with the framing %s", *row.Framing)
		if r.Compression != "" {
			none = finding.New(finding.NoEvents, "the file begins as %s and contains no event", r.Compression).WithHint("%s", strictjson.DecompressHint)
		}
		row.Findings = append(row.Findings, none)
	}
	if p.format == JSON {
		p.json(row)
	} else {
		p.captured(row)
	}
	if row.Verdict != scenario.Captured || row.End != nil && *row.End != capture.EndEOF {
		return Failed
	}
	return Done
}

func (p *Printer) captured(row captureRow) {
	p.Line("%s \t%s", p.capturedVerdict(row), row.Capture)
	if row.Digest != nil {
		detail := humanize.Bytes(*row.Bytes) + ", framing " + string(*row.Framing)
		detail = events(row.Events) + detail
		if row.Status != nil {
			detail += fmt.Sprintf(", HTTP status %03d", *row.Status)
		}
		p.Line("  response  \t%s", detail)
		p.Line("  digest    \t%s", string(*row.Digest))
		p.Line("  end       \t%s", string(*row.End))
	}
	p.Findings(row.Findings)
}

// events formats the number of events as the beginning of a list, or returns "" if it is
// not known.
func events(n *int) string {
	if n == nil {
		return ""
	}
	return Plural(*n, "event", "events") + ", "
}

func (p *Printer) capturedVerdict(row captureRow) painted {
	switch {
	case row.Verdict != scenario.Captured:
		return p.Paint(red, fmt.Sprintf("%-9s", string(row.Verdict)))
	case *row.End != capture.EndEOF:
		return p.Paint(yellow, fmt.Sprintf("%-9s", string(row.Verdict)))
	}
	return p.Paint(green, fmt.Sprintf("%-9s", string(row.Verdict)))
}

// setManifest sets the values from the manifest of the closed capture.
func (row *captureRow) setManifest(m *capture.Manifest) {
	row.End, row.Framing, row.Status = &m.End, &m.Framing, m.Source.Status
	if response := m.Response(); response != nil {
		row.Bytes, row.Digest = &response.Bytes, &response.Digest
	}
}

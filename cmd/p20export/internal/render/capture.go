package render

import (
	"fmt"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/spell"
	"github.com/p20export/p20export/project"
)

// CaptureRow is what became of a capture.
type CaptureRow struct {
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

// Captured prints what became of a capture.
func (p *Printer) Captured(row CaptureRow) {
	if p.format == JSON {
		p.json(row)
		return
	}
	p.line("%s %s", p.capturedVerdict(row), row.Capture)
	if row.Digest != nil {
		detail := spell.Bytes(*row.Bytes) + ", framing " + string(*row.Framing)
		if row.Events != nil {
			detail = plural(*row.Events, "event", "events") + ", " + detail
		}
		if row.Status != nil {
			detail += fmt.Sprintf(", HTTP status %d", *row.Status)
		}
		p.line("  response  %s", detail)
		p.line("  digest    %s", string(*row.Digest))
		p.line("  end       %s", string(*row.End))
	}
	p.findings(row.Findings)
}

func (p *Printer) capturedVerdict(row CaptureRow) painted {
	switch {
	case row.Verdict != scenario.Captured:
		return p.paint(red, fmt.Sprintf("%-9s", string(row.Verdict)))
	case *row.End != capture.EndEOF:
		return p.paint(yellow, fmt.Sprintf("%-9s", string(row.Verdict)))
	}
	return p.paint(green, fmt.Sprintf("%-9s", string(row.Verdict)))
}

// Close takes in the manifest of the closed capture.
func (row *CaptureRow) Close(m *capture.Manifest) {
	row.End, row.Framing = &m.End, &m.Framing
	if m.Source.Status != 0 {
		row.Status = &m.Source.Status
	}
	if response := m.Response(); response != nil {
		row.Bytes, row.Digest = &response.Bytes, &response.Digest
	}
}

// Fail takes in what went wrong.
func (row *CaptureRow) Fail(err error) {
	found, _ := finding.FromError(err)
	row.Verdict, row.Findings = project.Failed, append(row.Findings, found)
}

// Package lint checks the events of captures against the rules of the AG-UI reference
// client.
//
// The rules are in packages envelope/sequence and envelope/event. A capture is read
// once, by package project/scan.
package lint

import (
	"context"
	"path/filepath"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// Row is the result for one capture.
type Row struct {
	Capture  string         `json:"capture"`
	Protocol event.Protocol `json:"protocol"`
	// Verdict is project.Accepted if there are no errors, project.Refused if there
	// are, and project.Failed if the capture could not be read.
	Verdict project.Verdict `json:"verdict"`
	Runs    int             `json:"runs"`
	Events  int             `json:"events"`
	// Breaches is the number of errors about events, including those that are not
	// among the findings.
	Breaches int               `json:"breaches"`
	Findings []finding.Finding `json:"findings"`

	// Response is the file that offsets refer to, and Digest and Bytes are those of
	// the file. If ContentEncoded is set, offsets refer to the decoded response.
	Response       string        `json:"-"`
	Digest         digest.Digest `json:"-"`
	Bytes          int64         `json:"-"`
	ContentEncoded bool          `json:"-"`
}

// Capture checks one capture. Findings in the first artifact.MaxFileBytes of a response
// have lines, columns and excerpts. Later findings have only an offset.
func Capture(ctx context.Context, path string, p event.Protocol, progress scan.Progress) Row {
	row := Row{Capture: path, Protocol: p, Findings: []finding.Finding{}, Response: path}
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		row.fail(err)
		return row
	}
	defer c.Close()
	c.KeepHead(artifact.MaxFileBytes)
	l := New(p)
	result, err := scan.Run(ctx, c, progress, l)
	if err != nil {
		row.fail(err)
		return row
	}
	row.Runs, row.Events, row.Breaches = result.Runs, result.Events, l.Breaches()
	row.Digest, row.Bytes = result.Digest, result.Bytes
	if result.Manifest != nil {
		row.Response = filepath.Join(path, result.Framing.FileName())
		row.ContentEncoded = result.Manifest.Source.Headers["content-encoding"] != ""
	}
	row.Findings = append(row.Findings, l.Findings()...)
	if !row.ContentEncoded {
		head, _ := c.Head()
		finding.Locate(head, row.Findings)
	}
	row.Verdict = project.Accepted
	if l.Failed() {
		row.Verdict = project.Refused
	}
	return row
}

// Conversation reads a capture as scan.ReadConversation does, and checks in the same pass
// at which event the reference client 1.0.0 ends the run.
func Conversation(ctx context.Context, in *inputs.Input, o scan.ConversationOptions, progress scan.Progress) scan.Conversation {
	l := New(event.V1)
	c := scan.ReadConversation(ctx, in, o, progress, l)
	if l.refused >= 0 && l.refused <= c.Event {
		c.Refused = l.refused
	}
	return c
}

// fail describes a capture that could not be read.
func (row *Row) fail(err error) {
	f, isVerdict := finding.FromError(err)
	row.Findings, row.Verdict = append(row.Findings, f), project.Failed
	if isVerdict {
		row.Verdict = project.Refused
	}
}

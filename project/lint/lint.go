// Package lint checks the events of captures: whether AG-UI allows them, whether a producer
// most likely meant them, and how they were sent.
//
// The rules of AG-UI are in packages envelope/sequence and envelope/event, the others in
// packages producer and transport (docs/lint.md). A capture is read once, by package
// project/scan.
package lint

import (
	"cmp"
	"context"
	"io"
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
	Capture string `json:"capture"`
	// Protocol is the version of AG-UI whose rules were applied to the first run.
	Protocol event.Protocol `json:"protocol"`
	// Declared says how the runs declare their version: one entry for each declaration.
	Declared []Declaration `json:"declared"`
	// Verdict is project.Accepted if there are no errors, project.Refused if there
	// are, and project.Failed if the capture could not be read. Without a policy it is the
	// verdict of the specification.
	Verdict project.Verdict `json:"verdict"`
	// Client is the verdict of the published AG-UI client.
	Client project.Verdict `json:"client"`
	// Passed means that no finding is as severe as Options.FailOn.
	Passed bool `json:"passed"`
	Runs   int  `json:"runs"`
	Events int  `json:"events"`
	// Features are the features of AG-UI that the stream exercises.
	Features []string `json:"features"`
	// Rules has how often each rule was broken.
	Rules []RuleCount `json:"rules"`
	// Breaches is the number of errors about events, including those that are not
	// among the findings.
	Breaches int               `json:"breaches"`
	Findings []finding.Finding `json:"findings"`
	// Labels are the labels of the capture. They are null if the capture has no manifest,
	// or if it could not be opened.
	Labels map[string]string `json:"labels"`

	// Response is the file that offsets refer to, and Digest and Bytes are those of
	// the file. If ContentEncoded is set, offsets refer to the decoded response.
	Response       string        `json:"-"`
	Digest         digest.Digest `json:"-"`
	Bytes          int64         `json:"-"`
	ContentEncoded bool          `json:"-"`
}

// Capture checks one capture. Findings in the first artifact.MaxFileBytes of a response
// have lines, columns and excerpts. Later findings have only an offset.
func Capture(ctx context.Context, in *inputs.Input, o Options, progress scan.Progress) Row {
	c, err := in.Open(ctx)
	return opened(ctx, c, err, in.Path, o, progress)
}

// Reader checks the events that r has as newline-delimited JSON, as Capture does for a file
// with this name.
func Reader(ctx context.Context, r io.Reader, name string, o Options) Row {
	c, err := capture.OpenReader(r, name, capture.NDJSON)
	return opened(ctx, c, err, name, o, nil)
}

// opened checks a capture, or returns the row for the error of opening it. It closes the capture.
func opened(ctx context.Context, c *capture.Capture, err error, path string, o Options, progress scan.Progress) Row {
	row, o := newRow(path, o)
	if err != nil {
		row.Fail(err)
		return row
	}
	defer c.Close()
	row.Labels = c.Labels()
	request, err := c.Request()
	if err != nil {
		row.Fail(err)
		return row
	}
	c.KeepHead(artifact.MaxFileBytes)
	l := newFull(c, o, request)
	result, err := scan.Run(ctx, c, progress, l.evidence(request), l)
	if err != nil {
		row.Fail(err)
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
	if len(l.declared) > 0 {
		row.Declared, row.Protocol = l.declared, l.declared[0].Protocol
	}
	row.Features, row.Rules = l.features.list(), l.counts.list()
	row.Verdict, row.Client, row.Passed = project.Accepted, project.Accepted, true
	if l.Failed() {
		row.Verdict = project.Refused
	}
	if l.client || result.Events == 0 || result.Runs == 0 && !l.failed || isErrorStatus(result.Manifest) {
		row.Client = project.Refused
	}
	for _, count := range row.Rules {
		row.Passed = row.Passed && !AtLeast(count.Severity, o.FailOn)
	}
	return row
}

// isErrorStatus reports whether a response has a status with which clients do not read it.
func isErrorStatus(m *capture.Manifest) bool {
	return m != nil && m.Source.Status != nil && (*m.Source.Status < 200 || *m.Source.Status > 299)
}

// newRow returns a row without a verdict, and the options with their defaults.
func newRow(path string, o Options) (Row, Options) {
	o.Protocol, o.FailOn = cmp.Or(o.Protocol, event.Auto), cmp.Or(o.FailOn, finding.Error)
	row := Row{
		Capture: path, Protocol: o.Protocol, Declared: []Declaration{}, Features: []string{}, Rules: []RuleCount{}, Findings: []finding.Finding{},
		Response: path,
	}
	if o.Protocol == event.Auto {
		row.Protocol = event.Current
	}
	if o.Live != nil && o.Live.Name != "" {
		row.Capture = o.Live.Name
	}
	return row, o
}

// FailedRow returns the row of a capture that could not be recorded, or of a list or an
// archive that could not be read to its end.
func FailedRow(path string, o Options, err error) Row {
	row, _ := newRow(path, o)
	row.Fail(err)
	row.Verdict, row.Client = project.Failed, project.Failed
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

// Fail describes a capture that could not be read.
func (row *Row) Fail(err error) {
	f, isVerdict := finding.FromError(err)
	row.Findings, row.Verdict = append(row.Findings, f), project.Failed
	if isVerdict {
		row.Verdict = project.Refused
	}
	row.Client, row.Passed = row.Verdict, false
	var c counts
	c.add(f, 1)
	row.Rules = c.list()
}

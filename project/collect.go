package project

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

// Collector keeps, of one run's events, what its projections need: the chosen
// snapshots, and the streamed text. However many projections need it, each
// snapshot is kept once and the text is folded once.
type Collector struct {
	selections []Selection
	snapshots  map[Selection]*envelope.Event
	seen       int
	fold       *fold // nil when nothing folds
}

// NewCollector returns a collector for one run, which will be projected under
// the settings. They must be checked.
func NewCollector(settings ...Settings) *Collector {
	c := &Collector{snapshots: make(map[Selection]*envelope.Event)}
	for _, s := range settings {
		if c.fold == nil && (s.Projection == FoldedStream || s.comparesStream()) {
			c.fold = newFold()
		}
		if s.Projection != FoldedStream && !slices.Contains(c.selections, s.Snapshot) {
			c.selections = append(c.selections, s.Snapshot)
		}
	}
	return c
}

// Observe takes the run's next event, which is valid during the call.
func (c *Collector) Observe(e *envelope.Event) {
	if c.fold != nil {
		c.fold.observe(e)
	}
	if e.Type != envelope.MessagesSnapshot {
		return
	}
	c.seen++
	var kept *envelope.Event
	for _, s := range c.selections {
		want := s.number()
		if c.seen == want || want == 0 && (c.seen == 1 || s == Last) {
			if kept == nil {
				kept = e.Clone()
			}
			c.snapshots[s] = kept
		}
	}
}

// Output is what a projection made of a run.
type Output struct {
	Artifact *artifact.Artifact
	// Bytes are the artifact's canonical bytes.
	Bytes []byte
	// Envelope is the bounded envelope behind the artifact, three lines.
	Envelope  []byte
	Origin    Origin
	Parts     []Part
	Times     Times
	Omissions []Omission
	// Assay are the findings against the assay profile; no error among them
	// means that Assay could take the artifact.
	Assay []finding.Finding
}

// Project makes the artifact of a run whose events the collector has seen, under
// one of its settings. The request is the capture's request.json, nil when there
// is none. FoldedStream takes its messages; the others only tell by it what of a
// snapshot the run was asked with. The output is nil when the run is refused:
// then the findings say every reason. They are ordered.
func (c *Collector) Project(run *envelope.Run, request []byte, s Settings) (*Output, []finding.Finding) {
	d := &draft{run: run, request: request, settings: s, artifact: artifact.New(), strict: s.Projection == EmittedSnapshot}
	d.reportAll(run.Findings)
	d.otherRun()
	if run.Terminal == nil {
		return d.result(nil, nil)
	}
	if n := run.Families.Uncounted(); n > 0 {
		d.omitted.add(Omission{Reason: finding.FamiliesUncounted, Count: n})
	}
	d.times()
	d.started()
	d.terminal()
	var snapshot []byte
	if s.Projection == FoldedStream {
		if run.SnapshotCount > 0 {
			d.report(run.Snapshots[0].Annotate(finding.New(finding.SnapshotPresent, "the run emitted a MESSAGES_SNAPSHOT")))
		} else {
			d.folded(c.fold)
			snapshot = builtSnapshot(d.artifact.Messages)
		}
	} else if taken := c.snapshots[s.Snapshot]; d.chosen(taken) {
		d.emitted(taken)
		snapshot = taken.Data
	}
	return d.result(snapshot, c.fold)
}

// result judges the draft and turns it into an output.
func (d *draft) result(snapshot []byte, f *fold) (*Output, []finding.Finding) {
	if len(d.artifact.Messages) == 0 && !d.failed {
		d.report(finding.New(finding.NothingLeft, "no message is left within the text subset"))
	}
	if d.failed {
		return nil, d.sorted()
	}
	out := &Output{
		Artifact: d.artifact,
		Bytes:    artifact.Encode(d.artifact),
		Origin:   d.settings.Projection.Origin(),
		Times:    d.resolved,
	}
	for _, f := range d.judge(out.Bytes, d.settings.Profile) {
		if f.Code == finding.MessagesTooMany && d.unread > 0 {
			f.Message = fmt.Sprintf("there are more than %d messages, the limit", d.settings.Profile.Limits().Messages)
		}
		d.report(d.relocate(f))
	}
	if d.failed {
		return nil, d.sorted()
	}
	if d.settings.comparesStream() {
		d.compareStream(f)
	}
	out.Omissions = d.omitted.result()
	if out.Origin == Built {
		from := "the stream"
		if d.fromRequest {
			from = "the request and the stream"
		}
		d.report(finding.New(finding.SnapshotBuilt, "the message snapshot was built from %s; the run emitted none", from))
	}
	out.Assay = d.judge(out.Bytes, artifact.Assay)
	out.Parts = append(out.Parts, Part{RunStartedPart, d.run.Started.Ref()})
	if d.snapshot != nil {
		out.Parts = append(out.Parts, Part{SnapshotPart, d.snapshot.Ref()})
	}
	out.Parts = append(out.Parts, Part{TerminalPart, d.run.Terminal.Ref()})
	for _, event := range [][]byte{d.run.Started.Data, snapshot, d.run.Terminal.Data} {
		out.Envelope = append(append(out.Envelope, oneLine(event)...), '\n')
	}
	return out, d.sorted()
}

// sorted returns the findings in their order. Who gave the times of an artifact
// does not matter when there is none.
func (d *draft) sorted() []finding.Finding {
	if d.failed {
		d.findings = slices.DeleteFunc(d.findings, func(f finding.Finding) bool { return f.Code == finding.OperatorAsserted })
	}
	finding.Sort(d.findings)
	var more []string
	if d.unlisted > 0 {
		more = append(more, fmt.Sprintf("%d more findings are not listed", d.unlisted))
	}
	if d.unread > 0 {
		more = append(more, fmt.Sprintf("%d more messages were not looked at", d.unread))
	}
	if more != nil {
		d.findings = append(d.findings, finding.New(finding.FindingsUnlisted, "%s", strings.Join(more, "; ")))
	}
	return d.findings
}

// oneLine returns an event's JSON text as it is, less white space around it, or
// without any white space where it spans lines.
func oneLine(event []byte) []byte {
	event = bytes.Trim(event, " \t\r\n")
	if !bytes.ContainsAny(event, "\r\n") {
		return event
	}
	out := make([]byte, 0, len(event))
	inString := false
	for i := 0; i < len(event); i++ {
		c := event[i]
		switch {
		case inString && c == '\\':
			out = append(out, c)
			i++
			c = event[i]
		case c == '"':
			inString = !inString
		case !inString && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			continue
		}
		out = append(out, c)
	}
	return out
}

// Part is one event of the envelope and where it is in the response.
type Part struct {
	Part string `json:"part"`
	envelope.Ref
}

// The parts of an envelope.
const (
	RunStartedPart = "run_started"
	SnapshotPart   = "messages_snapshot"
	TerminalPart   = "terminal"
)

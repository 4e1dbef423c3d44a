package project

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// Collector collects what projections need from the events of one run: the
// selected snapshots and the streamed text. Projections share each snapshot and
// the folded text.
type Collector struct {
	selected []selected
	seen     int   // number of snapshots
	fold     *fold // nil if no projection needs it
}

// selected is the snapshot of a selection.
type selected struct {
	by Selection
	// event is nil if no snapshot was selected yet.
	event *envelope.Event
}

// NewCollector returns a collector for projecting one run with each of the
// settings. The caller must have called Normalize on them.
func NewCollector(settings ...Settings) *Collector {
	c := &Collector{}
	holds := slices.ContainsFunc(settings, func(s Settings) bool { return s.Projection == FoldedStream })
	for _, s := range settings {
		if c.fold == nil && (holds || s.comparesStream()) {
			c.fold = newFold()
			c.fold.summed = !holds
		}
		if s.Projection != FoldedStream && c.of(s.Snapshot) == nil {
			c.selected = append(c.selected, selected{by: s.Snapshot})
		}
	}
	return c
}

// of returns the snapshot of a selection, or nil if the collector does not have the selection.
func (c *Collector) of(by Selection) *selected {
	if i := slices.IndexFunc(c.selected, func(s selected) bool { return s.by == by }); i >= 0 {
		return &c.selected[i]
	}
	return nil
}

// KeepTexts makes a collector for FoldedStream keep all streamed texts, up to 48 MiB, for
// Fold. Without it, a collector keeps no texts that are together larger than an artifact
// can be. A collector for other projections keeps none.
func (c *Collector) KeepTexts() {
	if c.fold != nil {
		c.fold.most = math.MaxInt
	}
}

// Observe processes the run's next event. It does not retain e.
func (c *Collector) Observe(e *envelope.Event) {
	if c.fold != nil {
		c.fold.observe(e)
	}
	if e.Type != envelope.MessagesSnapshot {
		return
	}
	c.seen++
	var kept *envelope.Event
	for i := range c.selected {
		s := &c.selected[i]
		want := s.by.number()
		if c.seen == want || want == 0 && (c.seen == 1 || s.by == Last) {
			if kept == nil {
				kept = e.Clone()
			}
			s.event = kept
		}
	}
}

// Output is the result of projecting a run.
type Output struct {
	Artifact *artifact.Artifact
	// Bytes are the artifact's canonical bytes.
	Bytes []byte
	// Envelope is the bounded envelope: three lines, one for each event.
	Envelope  []byte
	Origin    Origin
	Parts     []Part
	Times     Times
	Omissions []Omission
	// Assay are the findings about Bytes under the assay profile, without lines, columns
	// and excerpts. If none is an error, Assay can import the artifact.
	Assay []finding.Finding
}

// Project projects a run with one of the collector's settings. The collector
// must have observed all events of the run. The request is the content of
// request.json, or nil if the capture has none. FoldedStream copies the messages
// of the request. The other projections use the request only to distinguish its
// messages from the run's own in a snapshot.
//
// If the run is refused, Project returns a nil output, and the findings list
// every reason. The findings are sorted.
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
	} else if taken := c.of(s.Snapshot).event; d.checkSelection(taken) {
		if !d.failed && s.comparesStream() && c.fold.mustCompare(taken) {
			d.summer = sums()
		}
		d.emitted(taken)
		snapshot = taken.Data
	}
	return d.result(snapshot, c.fold)
}

// result validates the draft and returns its output.
func (d *draft) result(snapshot []byte, f *fold) (*Output, []finding.Finding) {
	if len(d.artifact.Messages) == 0 && !d.failed {
		d.report(finding.New(finding.NothingLeft, "the run has no message within the text subset"))
	}
	if d.failed {
		return nil, d.sorted()
	}
	if d.tooLarge {
		d.report(artifact.TooLarge())
		return nil, d.sorted()
	}
	out := &Output{
		Artifact: d.artifact,
		Bytes:    artifact.Encode(d.artifact),
		Origin:   d.settings.Projection.Origin(),
		Times:    d.resolved,
	}
	own, assay := d.validate(out.Bytes)
	for _, f := range own {
		if f.Code == finding.MessagesTooMany && d.skipped > 0 {
			f.Message = fmt.Sprintf("there are more than %d messages, which is the limit", d.settings.Profile.Limits().Messages)
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
	out.Assay = assay
	out.Parts = append(out.Parts, Part{RunStartedPart, d.run.Started.Ref()})
	if d.snapshot != nil {
		out.Parts = append(out.Parts, Part{SnapshotPart, d.snapshot.Ref()})
	}
	out.Parts = append(out.Parts, Part{TerminalPart, d.run.Terminal.Ref()})
	out.Envelope = make([]byte, 0, len(d.run.Started.Data)+len(snapshot)+len(d.run.Terminal.Data)+3)
	for _, event := range [][]byte{d.run.Started.Data, snapshot, d.run.Terminal.Data} {
		out.Envelope = append(append(out.Envelope, strictjson.OneLine(event)...), '\n')
	}
	return out, d.sorted()
}

// sorted returns the sorted findings. If the run is refused, sorted omits the
// finding operator_asserted.
func (d *draft) sorted() []finding.Finding {
	if d.failed {
		d.findings = slices.DeleteFunc(d.findings, func(f finding.Finding) bool { return f.Code == finding.OperatorAsserted })
	}
	finding.Sort(d.findings)
	var more []string
	if d.unlisted > 0 {
		more = append(more, fmt.Sprintf("%d more findings are not listed", d.unlisted))
	}
	if d.skipped > 0 {
		more = append(more, fmt.Sprintf("%d more messages were not checked", d.skipped))
	}
	if more != nil {
		d.findings = append(d.findings, finding.New(finding.FindingsUnlisted, "%s", strings.Join(more, "; ")))
	}
	return d.findings
}

// Part is one event of the envelope and its place in the response.
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

package envelope

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// maxSnapshots is how many snapshots of one run are described one by one, and
// maxRoles how many roles are told apart in each. AG-UI has seven.
const (
	maxSnapshots = 10_000
	maxRoles     = 16
)

// Frames is a source of frames in order; io.EOF ends it.
type Frames interface {
	Next() (capture.Frame, error)
}

// Run is what a run looks like from outside. It owns the frames from its
// RUN_STARTED up to the next one's.
type Run struct {
	// Number counts the capture's runs from 1.
	Number int
	// ThreadID and RunID are RUN_STARTED's, ParentRunID its optional lineage
	// label; each is empty when it is absent or no string, and shows half a
	// surrogate pair as U+FFFD.
	ThreadID, RunID, ParentRunID string
	// Started is the RUN_STARTED event, Terminal the first RUN_FINISHED or
	// RUN_ERROR, nil when there is none.
	Started, Terminal *Event
	// Families counts the run's events by type.
	Families Counts
	// Snapshots describes the first MESSAGES_SNAPSHOT events; SnapshotCount
	// counts them all.
	Snapshots     []Snapshot
	SnapshotCount int
	// Bytes is the extent of the run's frames.
	Bytes int64
	// Findings are what is wrong with the run as an envelope. An error among
	// them means that every projection refuses the run.
	Findings []finding.Finding
	// TerminalOtherRun is the warning that the terminal event names another run than
	// RUN_STARTED; nil when it does not. Some projections refuse the run for it.
	TerminalOtherRun *finding.Finding

	found     finding.List
	names     identity
	last      Ref
	after     *finding.Finding // first event after the terminal one
	terminals int
}

// Snapshot describes one MESSAGES_SNAPSHOT.
type Snapshot struct {
	Ref
	Messages int
	// Roles counts messages by role; those without a role are not counted, nor
	// those of a role past the sixteenth.
	Roles Counts
	// Problem is why the messages cannot be read, if they cannot.
	Problem *finding.Finding
}

// Visitor is told of a capture's runs as they are read.
type Visitor interface {
	// Event is called for each readable event of a run, RUN_STARTED first. The
	// event is valid during the call.
	Event(run *Run, e *Event)
	// End is called when the run is complete. An error ends the reading.
	End(run *Run) error
}

// FrameVisitor is a Visitor that also sees every frame, before it sees the event
// in it.
type FrameVisitor interface {
	Visitor
	// Frame is called for each frame in order, those that belong to no run
	// included. The run owns the frame; it is nil before the first RUN_STARTED.
	// The event is nil where the frame cannot be read as one. Frame and event are
	// valid during the call.
	Frame(run *Run, f capture.Frame, e *Event)
}

// Totals says what a capture holds besides its runs.
type Totals struct {
	Events int
	Runs   int
	// Findings are about the capture as a whole.
	Findings []finding.Finding
}

// Scan reads frames to their end and shows v every run. Its memory is bounded
// by the largest single event. The error is one of the frames' or of v's.
func Scan(frames Frames, v Visitor) (Totals, error) {
	var (
		s      scanner
		totals Totals
		run    *Run
		before prelude
	)
	every, _ := v.(FrameVisitor)
	for {
		frame, err := frames.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return totals, err
		}
		totals.Events++
		e, err := s.scan(frame)
		if err == nil && e.Type == RunStarted {
			if run != nil {
				if err := run.end(v); err != nil {
					return totals, err
				}
			}
			totals.Runs++
			run = &Run{Number: totals.Runs}
		}
		switch {
		case run == nil:
			before.add(frame, err)
		case err != nil:
			run.damaged(frame, err)
		default:
			run.add(e)
		}
		if err != nil {
			e = nil
		}
		if every != nil {
			every.Frame(run, frame, e)
		}
		if run != nil && e != nil {
			v.Event(run, e)
		}
	}
	if run != nil {
		if err := run.end(v); err != nil {
			return totals, err
		}
	}
	if before.frames > 0 {
		totals.Findings = append(totals.Findings, before.finding())
	}
	if totals.Runs == 0 {
		totals.Findings = append(totals.Findings, finding.New(finding.NoRun, "no RUN_STARTED among %s", count(totals.Events, "event", "events")))
	}
	finding.Sort(totals.Findings)
	return totals, nil
}

// prelude is what stands before the first run.
type prelude struct {
	frames     int
	first      Ref
	unreadable int
	why        finding.Finding // about the first that is no event
}

// add notes a frame, and why it is no event if it is none.
func (p *prelude) add(f capture.Frame, err error) {
	if p.frames++; p.frames == 1 {
		p.first = refOf(f)
	}
	if err == nil {
		return
	}
	if p.unreadable++; p.unreadable == 1 {
		p.why = unreadable(f, err)
	}
}

// finding says how many frames there are, and why they are no events where that is
// so. What cannot be read there can be a damaged RUN_STARTED.
func (p *prelude) finding() finding.Finding {
	text := count(p.frames, "event stands", "events stand") + " before the first RUN_STARTED"
	switch {
	case p.unreadable == 1:
		text += fmt.Sprintf("; event %d cannot be read: ", *p.why.EventIndex)
	case p.unreadable > 1:
		text += fmt.Sprintf("; %d of them cannot be read, the first is event %d: ", p.unreadable, *p.why.EventIndex)
	}
	if p.unreadable > 0 {
		text += string(p.why.Code)
		if p.why.Offset != nil {
			text += fmt.Sprintf(" at byte %d", *p.why.Offset)
		}
		text += ": " + p.why.Message
	}
	return p.first.Annotate(finding.New(finding.FramesBeforeRun, "%s", text))
}

// refOf says where a frame is.
func refOf(f capture.Frame) Ref {
	return Ref{Index: f.Index, Offset: f.Offset, Bytes: f.Bytes, Line: f.Line}
}

// damaged notes a frame of the run that cannot be read as an event.
func (r *Run) damaged(f capture.Frame, err error) {
	r.last = refOf(f)
	r.found.Add(unreadable(f, err))
}

// unreadable is the finding about a frame that is no event.
func unreadable(f capture.Frame, err error) finding.Finding {
	if fault, ok := err.(finding.Finding); ok {
		return fault.WithRule()
	}
	return refOf(f).Annotate(finding.New(finding.JSONSyntax, "%v", err))
}

// add notes one event of the run.
func (r *Run) add(e *Event) {
	r.last = e.Ref()
	r.Families.Add(e.Type)
	switch e.Type {
	case RunStarted:
		r.Started = e.Clone()
		r.names = e.identity(r.found.Add)
		r.ThreadID, r.RunID = r.names.thread.text, r.names.run.text
		if v, ok := e.Get("parentRunId"); ok {
			parent, _ := v.Text()
			r.ParentRunID = strings.ToValidUTF8(parent, "\uFFFD")
		}
	case RunFinished, RunError:
		if r.terminals++; r.terminals == 1 {
			r.Terminal = e.Clone()
			return
		}
		r.found.Add(e.Finding(finding.TerminalSeveral, "%s is terminal event %d of the run", e.Type, r.terminals))
		return
	case MessagesSnapshot:
		if r.SnapshotCount++; r.SnapshotCount <= maxSnapshots {
			r.Snapshots = append(r.Snapshots, describe(e))
		}
	}
	if r.terminals > 0 && r.after == nil {
		f := e.Finding(finding.EventsAfterTerminal, "%s follows the terminal event", finding.Quote(e.Type))
		r.after = &f
	}
}

// end judges the run as a bounded envelope and hands it over.
func (r *Run) end(v Visitor) error {
	r.Bytes = r.last.Offset + r.last.Bytes - r.Started.Offset
	switch {
	case r.Terminal == nil:
		r.found.Add(r.last.Annotate(finding.New(finding.RunNotTerminated, "the run ends with event %d and has no RUN_FINISHED or RUN_ERROR", r.last.Index)))
	default:
		if r.after != nil {
			r.found.Add(*r.after)
		}
		if otherRun := r.Terminal.sameRun(r.names, r.found.Add); otherRun != nil {
			warning := otherRun.WithSeverity(finding.Warning)
			r.TerminalOtherRun = &warning
		}
	}
	if r.Families.uncounted > 0 {
		r.found.Add(finding.New(finding.FamiliesUncounted, "%d events are of types that are not told apart: those past %d, or of more than %d bytes", r.Families.uncounted, maxFamilies, maxFamilyBytes))
	}
	r.Findings = slices.Clip(r.found.Findings())
	return v.End(r)
}

// describe counts a snapshot's messages.
func describe(e *Event) Snapshot {
	s := Snapshot{Ref: e.Ref()}
	list, ok := e.Get("messages")
	if !ok || list.Kind != strictjson.ArrayStart {
		f := e.Finding(finding.SnapshotMalformed, "the snapshot has no list of messages").WithPointer("/messages")
		s.Problem = &f
		return s
	}
	// The elements were read before, as part of the event, so there is no error.
	_ = strictjson.Elements(list, func(_ int, _ strictjson.Value, o *strictjson.Object) error {
		s.Messages++
		if role, ok := o.Get("role"); ok && role.Kind == strictjson.String {
			name, _ := role.Text()
			s.Roles.AddRole(name)
		}
		return nil
	})
	return s
}

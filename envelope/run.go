package envelope

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/frame"
	"github.com/p20export/p20export/internal/strictjson"
)

// MaxSnapshots limits the places of snapshots in a Run.
const MaxSnapshots = 10_000

// maxRoles is the maximum number of roles counted in a snapshot. AG-UI has seven roles.
const maxRoles = 16

// Frames is a sequence of frames.
type Frames interface {
	// Next returns the next frame, or io.EOF after the last. The frame is valid until
	// the next call.
	Next() (*frame.Frame, error)
}

// Run describes a run. A run contains the frames from its RUN_STARTED up to, but not
// including, the next RUN_STARTED.
type Run struct {
	// Number is the number of the run in the capture, from 1.
	Number int
	// ThreadID, RunID and ParentRunID are the ids in RUN_STARTED. ParentRunID is
	// optional. An id that is absent or not a string is empty. Half a surrogate pair
	// in an id becomes U+FFFD.
	ThreadID, RunID, ParentRunID string
	// Started is the RUN_STARTED event.
	Started *Event
	// Terminal is the first RUN_FINISHED or RUN_ERROR event, or nil.
	Terminal *Event
	// Families counts the run's events by type.
	Families Counts
	// Snapshots are the places of the first MaxSnapshots MESSAGES_SNAPSHOT events.
	// SnapshotCount is the number of all of them.
	Snapshots     []Ref
	SnapshotCount int
	// Bytes is the number of bytes from the start of the run's first frame to the
	// end of its last.
	Bytes int64
	// Findings are the faults of the run as an envelope. If one of them is an error,
	// every projection refuses the run.
	Findings []finding.Finding
	// TerminalOtherRun is a warning that the terminal event and RUN_STARTED name
	// different runs, or nil if they do not. Some projections refuse such a run.
	TerminalOtherRun *finding.Finding

	found         finding.List
	identity      identity
	last          Ref
	afterTerminal *finding.Finding // about the first event after the terminal event
	terminals     int
}

// Snapshot describes one MESSAGES_SNAPSHOT.
type Snapshot struct {
	Ref
	Messages int
	// Roles counts messages by role. It does not count messages without a role, and
	// it counts only the first sixteen roles.
	Roles Counts
	// Problem describes why the messages cannot be read, or is nil.
	Problem *finding.Finding
}

// A Visitor receives the runs of a capture while they are read.
type Visitor interface {
	// Event is called for each readable event of a run. RUN_STARTED is the first.
	// The event is valid during the call.
	Event(run *Run, e *Event)
	// End is called at the end of each run. An error ends the scan.
	End(run *Run) error
}

// A FrameVisitor is a Visitor that also receives every frame, before its event.
type FrameVisitor interface {
	Visitor
	// Frame is called for each frame in order. The argument run is the run that
	// contains the frame, or nil before the first RUN_STARTED. The event is nil if the
	// frame cannot be read as an event. The frame and the event are valid during the
	// call.
	Frame(run *Run, f *frame.Frame, e *Event)
}

// Totals describes a capture as a whole.
type Totals struct {
	Events int
	Runs   int
	// Findings are about the capture as a whole.
	Findings []finding.Finding
}

// scanners keeps scanners between captures, because a scanner is large, and because the
// events of the next capture resemble those of the last one.
var scanners = sync.Pool{New: func() any { return newScanner() }}

// release makes s available to other captures, unless its memory is large.
func (s *scanner) release() {
	small := s.json.Release(&s.event.Object)
	s.event = Event{Object: s.event.Object}
	if small {
		scanners.Put(s)
	}
}

// Scan reads frames to the end and passes every run to v. Its memory is bounded by
// the size of the largest event. It returns an error only if frames or v returns
// one.
func Scan(frames Frames, v Visitor) (Totals, error) {
	s := scanners.Get().(*scanner)
	defer s.release()
	var (
		totals Totals
		run    *Run
		before prelude
	)
	frameVisitor, _ := v.(FrameVisitor)
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
			run.addUnreadable(frame, err)
		default:
			run.add(e)
		}
		if err != nil {
			e = nil
		}
		if frameVisitor != nil {
			frameVisitor.Frame(run, frame, e)
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

// prelude describes the frames before the first run.
type prelude struct {
	frames     int
	first      Ref
	unreadable int
	why        finding.Finding // about the first unreadable frame
}

// add adds a frame. The error is nil if the frame was read as an event.
func (p *prelude) add(f *frame.Frame, err error) {
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

// finding returns a finding with the number of frames and the reason why the first
// unreadable one, which may be a damaged RUN_STARTED, cannot be read.
func (p *prelude) finding() finding.Finding {
	text := count(p.frames, "event precedes", "events precede") + " the first RUN_STARTED"
	switch {
	case p.unreadable == 1:
		text += fmt.Sprintf("; event %d cannot be read: ", *p.why.EventIndex)
	case p.unreadable > 1:
		text += fmt.Sprintf("; %d of them cannot be read; the first is event %d: ", p.unreadable, *p.why.EventIndex)
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

// refOf returns the place of a frame.
func refOf(f *frame.Frame) Ref {
	return Ref{Index: f.Index, Offset: f.Offset, Bytes: f.Bytes, Line: f.Line}
}

// addUnreadable adds a frame that cannot be read as an event.
func (r *Run) addUnreadable(f *frame.Frame, err error) {
	r.last = refOf(f)
	r.found.Add(unreadable(f, err))
}

// unreadable returns the finding about a frame that cannot be read as an event.
func unreadable(f *frame.Frame, err error) finding.Finding {
	if fault, ok := err.(finding.Finding); ok {
		return fault.WithRule()
	}
	return refOf(f).Annotate(finding.New(finding.JSONSyntax, "%v", err))
}

// add adds an event to the run.
func (r *Run) add(e *Event) {
	// Assigning e.Ref() would copy it twice.
	r.last.Index, r.last.Offset, r.last.Bytes, r.last.Line = e.Index, e.Offset, e.Bytes, e.Line
	r.Families.Add(e.Type)
	switch e.Type {
	case RunStarted:
		r.Started = e.Clone()
		r.identity = e.identity(r.found.Add)
		r.ThreadID, r.RunID = r.identity.thread.text, r.identity.run.text
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
		if r.SnapshotCount++; r.SnapshotCount <= MaxSnapshots {
			r.Snapshots = append(r.Snapshots, e.Ref())
		}
	}
	if r.terminals > 0 && r.afterTerminal == nil {
		f := e.Finding(finding.EventsAfterTerminal, "%s follows the terminal event", finding.Quote(e.Type))
		r.afterTerminal = &f
	}
}

// end checks the complete run and passes it to v.
func (r *Run) end(v Visitor) error {
	r.Bytes = r.last.Offset + r.last.Bytes - r.Started.Offset
	switch {
	case r.Terminal == nil:
		r.found.Add(r.last.Annotate(finding.New(finding.RunNotTerminated, "the run ends with event %d and has no RUN_FINISHED or RUN_ERROR", r.last.Index)))
	default:
		if r.afterTerminal != nil {
			r.found.Add(*r.afterTerminal)
		}
		if otherRun := r.Terminal.checkIdentity(r.identity, r.found.Add); otherRun != nil {
			warning := otherRun.WithSeverity(finding.Warning)
			r.TerminalOtherRun = &warning
		}
	}
	if r.Families.uncounted > 0 {
		r.found.Add(finding.New(finding.FamiliesUncounted, "%d events are not counted by type, because there are more than %d types or the type is longer than %d bytes", r.Families.uncounted, maxFamilies, maxFamilyBytes))
	}
	r.Findings = slices.Clip(r.found.Findings())
	return v.End(r)
}

// DescribeSnapshot counts the messages of a MESSAGES_SNAPSHOT.
func DescribeSnapshot(e *Event) Snapshot {
	s := Snapshot{Ref: e.Ref()}
	list, ok := e.Get("messages")
	if !ok || list.Kind != strictjson.ArrayStart {
		f := e.Finding(finding.SnapshotMalformed, "the snapshot has no list of messages").WithPointer("/messages")
		s.Problem = &f
		return s
	}
	// The event was read before, so there is no error.
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

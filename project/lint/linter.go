package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/scan"
)

// A Linter is a scan.FrameConsumer that checks the events of one capture.
type Linter struct {
	protocol event.Protocol
	checker  *sequence.Checker
	found    finding.List
	list     []finding.Finding
	breaches int
	refused  int  // the index of the first event that the client refuses, or -1
	failed   bool // there is a RUN_ERROR, which needs no run
	last     envelope.Ref
	first    envelope.Ref // the first event with an error
	altered  map[alteration]*altered
}

// alteration is a kind of part that the client drops or converts, and its place in an event
// without the indices of arrays.
type alteration struct {
	place finding.Pointer
	how   event.Tolerance
}

// altered is the first event with an alteration, and the number of all of them.
type altered struct {
	first  finding.Finding
	events int
	last   int // the index of the last of them
}

// maxAlterations is the maximum number of alterations that are listed. Real captures have
// a few.
const maxAlterations = 1000

// New returns a Linter that checks events under a protocol. The form of events is only
// checked except under event.V0.
func New(p event.Protocol) *Linter {
	return &Linter{protocol: p, refused: -1, checker: sequence.New(sequence.Options{Protocol: p})}
}

// Findings returns the sorted findings. It must be called after Finish.
func (l *Linter) Findings() []finding.Finding { return l.list }

// Breaches returns the number of errors about events, including those that Findings does
// not list.
func (l *Linter) Breaches() int { return l.breaches }

// Failed reports whether the client refuses the stream, or the capture is no evidence
// of one.
func (l *Linter) Failed() bool { return l.found.Failed() }

// Begin implements scan.Consumer.
func (l *Linter) Begin(*envelope.Run) scan.Observer { return nil }

// Frame implements scan.FrameConsumer.
func (l *Linter) Frame(_ *envelope.Run, f *capture.Frame, e *envelope.Event) {
	l.last = envelope.Ref{Index: f.Index, Offset: f.Offset, Bytes: f.Bytes, Line: f.Line}
	if e == nil {
		l.checker.Skip()
		_, err := envelope.ReadFrame(f)
		fault, _ := finding.FromError(err)
		l.add(fault)
		return
	}
	l.failed = l.failed || e.Type == envelope.RunError
	breaches := l.checker.Event(e)
	if l.protocol != event.V0 {
		breaches = l.checkForm(e, breaches)
	}
	for _, f := range breaches {
		l.add(f)
	}
}

// add adds a finding about an event.
func (l *Linter) add(f finding.Finding) {
	if f.Severity == finding.Error {
		if l.breaches == 0 {
			l.first = l.last
		}
		l.breaches++
		if source, ok := finding.SourceOf(f.Rule); l.refused < 0 && (!ok || source.Enforced(l.checker.Protocol().Client())) {
			l.refused = l.last.Index
		}
	}
	l.found.Add(f)
}

// checkForm checks the form of an event. It returns the breaches without those in a part
// that the client drops before it checks the order of events. A fault at the place of a
// breach is not reported.
func (l *Linter) checkForm(e *envelope.Event, breaches []finding.Finding) []finding.Finding {
	faults, err := event.Check(e.Data, l.protocol)
	if err != nil { // there are too many faults, because the event was read before
		l.add(e.Finding(finding.EventRefused, "%s: %s", e.Type, err))
		return breaches
	}
	for _, fault := range faults {
		if !fault.Fatal {
			breaches = slices.DeleteFunc(breaches, func(f finding.Finding) bool { return isIn(f.Pointer, fault.Pointer) })
			l.countAlteration(e, fault)
		} else if !slices.ContainsFunc(breaches, func(f finding.Finding) bool { return f.Pointer == fault.Pointer && f.Pointer != "" }) {
			l.add(place(e, fault, finding.EventRefused))
		}
	}
	return breaches
}

// isIn reports whether a pointer is to the value at another pointer, or to a part of it.
// No pointer is in the whole event.
func isIn(p, value finding.Pointer) bool {
	return value != "" && (p == value || strings.HasPrefix(string(p), string(value)+"/"))
}

// place returns the finding about a fault of an event.
func place(e *envelope.Event, fault event.Fault, code finding.Code) finding.Finding {
	f := e.Place(finding.New(code, "%s: %s", e.Type, fault.Message), envelope.Value{Start: fault.Offset})
	return f.WithPointer(fault.Pointer)
}

// countAlteration counts an event of which the client drops or converts a part. Such events
// are common, so each kind is reported once.
func (l *Linter) countAlteration(e *envelope.Event, fault event.Fault) {
	kind := alteration{withoutIndices(fault.Pointer.Bounded()), fault.Tolerance}
	a := l.altered[kind]
	switch {
	case a == nil && len(l.altered) == maxAlterations:
		return
	case a == nil:
		if l.altered == nil {
			l.altered = make(map[alteration]*altered)
		}
		a = &altered{first: place(e, fault, finding.EventAltered), last: -1}
		l.altered[kind] = a
	}
	if a.last != e.Index {
		a.events++
	}
	a.last = e.Index
}

// withoutIndices returns the pointer with * for every number.
func withoutIndices(p finding.Pointer) finding.Pointer {
	parts := strings.Split(string(p), "/")
	for i, part := range parts {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			parts[i] = "*"
		}
	}
	return finding.Pointer(strings.Join(parts, "/"))
}

// Finish implements scan.Consumer.
func (l *Linter) Finish(r scan.Result) error {
	for _, f := range r.Findings {
		switch {
		case f.Code == finding.FramesBeforeRun: // each of them was checked
		case f.Code == finding.NoRun && l.failed:
			l.found.Add(f.WithSeverity(finding.Info).WithHint(""))
		case f.Code == finding.NoRun && l.breaches > 0: // list it after the breach of G1
			l.found.Add(l.first.Annotate(f))
		default:
			l.found.Add(f)
		}
	}
	for _, a := range l.altered {
		switch {
		case a.events == 2:
			a.first.Message += "; 1 more event has the same"
		case a.events > 2:
			a.first.Message += fmt.Sprintf("; %d more events have the same", a.events-1)
		}
		l.found.Add(a.first)
	}
	for _, f := range l.checker.Truncated() {
		l.add(f)
	}
	if !l.checker.End() && l.checker.Protocol() != event.Draft {
		l.found.Add(l.last.Annotate(finding.New(finding.RunNotTerminated, "the capture ends in a run without RUN_FINISHED or RUN_ERROR, which the client accepts").WithSeverity(finding.Info).WithHint("")))
	}
	l.list = l.found.Findings()
	return nil
}

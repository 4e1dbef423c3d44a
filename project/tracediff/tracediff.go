// Package tracediff compares two captures event by event, in the normal form of
// docs/traces.md.
//
// It must not contain rules of that form, and its results are not evidence.
package tracediff

import (
	"context"
	"errors"
	"iter"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// Equal is the verdict on two captures whose traces are equal.
const Equal project.Verdict = "equal"

// Settings say what counts.
type Settings struct {
	trace.Options
	// Exact says that the order of all events counts.
	Exact bool
}

// File is one of the two captures.
type File struct {
	Capture string          `json:"capture"`
	Verdict project.Verdict `json:"verdict"`
	// Events is the number of events, and Digest the digest of the response. They are nil if
	// the capture could not be read.
	Events   *int              `json:"events"`
	Digest   *digest.Digest    `json:"digest"`
	Findings []finding.Finding `json:"findings"`
}

// Row is the outcome of comparing two captures.
type Row struct {
	// Verdict is Equal or project.Differs. If a capture cannot be read, it is the verdict on
	// that one.
	Verdict project.Verdict `json:"verdict"`
	A       File            `json:"a"`
	B       File            `json:"b"`
	// Missing is the number of events that only A has.
	Missing int `json:"missing"`
	// Added is the number of events that only B has.
	Added int `json:"added"`
	// Changed is the number of events that have other values in B.
	Changed int `json:"changed"`
	// Moved is the number of events that B has in another place.
	Moved int `json:"moved"`
}

// Place is the place of an event, or of the first of several that count as one.
type Place struct {
	// Event is the index of the event in the capture, from 0.
	Event int `json:"event"`
	// Offset is the offset of the event's first data byte in the response.
	Offset int64 `json:"offset"`
	// Line is the line of the response with that byte, from 1.
	Line int `json:"line"`
}

// Difference is one difference.
type Difference struct {
	Kind      trace.Kind `json:"what"`
	EventType string     `json:"event_type"`
	// A and B are the places in the captures, and nil where the event is not.
	A *Place `json:"a"`
	B *Place `json:"b"`
	// Text is the event in normal form: in A, unless it was added.
	Text string `json:"text"`
	// Changes are the values that differ in a changed event.
	Changes []Change `json:"changes"`
}

// Change is a value that differs.
type Change struct {
	Pointer finding.Pointer `json:"pointer"`
	// A and B are the JSON texts of the values, and nil where there is none.
	A *string `json:"a"`
	B *string `json:"b"`
}

// Compare compares the captures at two paths, and passes each difference to each, in the order
// of the events. The differences are valid only if the verdict says so. Both captures are read
// twice: ids are collected first. The error is that of each.
func Compare(ctx context.Context, a, b string, s Settings, each func(Difference) error) (Row, error) {
	row := Row{Verdict: Equal, A: File{Capture: a, Verdict: project.Accepted, Findings: []finding.Finding{}}, B: File{Capture: b, Verdict: project.Accepted, Findings: []finding.Finding{}}}
	var ids [2]trace.IDs
	files := [2]*File{&row.A, &row.B}
	for i, f := range files {
		if err := f.read(ctx, func(e *envelope.Event) error {
			ids[i].Event(e)
			return nil
		}); err != nil {
			f.fail(err)
			if row.Verdict != project.Failed {
				row.Verdict = f.Verdict
			}
		}
	}
	if row.Verdict != Equal {
		return row, nil
	}
	var failed [2]error
	source := func(i int) (trace.Source, func()) {
		next, stop := iter.Pull(func(yield func(*trace.Line) bool) {
			n := trace.New(s.Options, &ids[i], func(l *trace.Line) error {
				if !yield(l.Clone()) {
					return errStopped
				}
				return nil
			})
			err := files[i].read(ctx, n.Event)
			if err == nil {
				err = n.End()
			}
			failed[i] = err
		})
		return func() (*trace.Line, error) {
			l, _ := next()
			return l, failed[i]
		}, stop
	}
	x, stopX := source(0)
	defer stopX()
	y, stopY := source(1)
	defer stopY()
	var reported error
	err := trace.Compare(x, y, s.Exact, func(d *trace.Difference) error {
		row.Verdict = project.Differs
		row.count(d.Kind)
		reported = each(differenceOf(d))
		return reported
	})
	if err == nil || reported != nil {
		return row, reported
	}
	for i, f := range files {
		if failed[i] != nil && !errors.Is(failed[i], errStopped) {
			f.fail(failed[i])
			row.Verdict = f.Verdict
		}
	}
	return row, nil
}

var errStopped = errors.New("the comparison has ended")

func (row *Row) count(k trace.Kind) {
	switch k {
	case trace.Missing:
		row.Missing++
	case trace.Added:
		row.Added++
	case trace.Changed:
		row.Changed++
	case trace.Moved:
		row.Moved++
	}
}

func differenceOf(d *trace.Difference) Difference {
	out := Difference{Kind: d.Kind, A: placeOf(d.A), B: placeOf(d.B), Changes: []Change{}}
	line := d.A
	if line == nil {
		line = d.B
	}
	out.EventType, out.Text = line.Type, string(line.Text)
	for _, c := range d.Changes {
		out.Changes = append(out.Changes, Change{Pointer: c.Pointer, A: textOf(c.A), B: textOf(c.B)})
	}
	return out
}

func placeOf(l *trace.Line) *Place {
	if l == nil {
		return nil
	}
	return &Place{Event: l.First.Index, Offset: l.First.Offset, Line: l.First.Line}
}

func textOf(b []byte) *string {
	if b == nil {
		return nil
	}
	s := string(b)
	return &s
}

// fail makes f the file of a capture that cannot be read.
func (f *File) fail(err error) {
	found, isVerdict := finding.FromError(err)
	f.Verdict = project.Failed
	if isVerdict {
		f.Verdict = project.Refused
	}
	f.Events, f.Digest, f.Findings = nil, nil, []finding.Finding{found}
}

// read reads the capture once and passes its events to do.
func (f *File) read(ctx context.Context, do func(*envelope.Event) error) error {
	c, err := capture.Open(ctx, f.Capture, "")
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &reader{do: do, stop: cancel}
	result, err := scan.Run(ctx, c, nil, r)
	if r.err != nil {
		return r.err
	}
	if err != nil {
		return err
	}
	if result.Events == 0 && c.Framing() != capture.JSON { // [] is a stream
		return finding.New(finding.NoEvents, "%s contains no events; it was read as %s", finding.Escape(f.Capture), c.Framing()).WithSeverity(finding.Error).WithHint(hint.ImportFraming)
	}
	f.Events, f.Digest = &result.Events, &result.Digest
	f.Findings = []finding.Finding{}
	for _, found := range result.Findings {
		switch {
		case found.Code == finding.NoRun || found.Code == finding.FramesBeforeRun: // events need not belong to a run
		case found.Severity == finding.Error:
			return found
		default:
			f.Findings = append(f.Findings, found)
		}
	}
	return nil
}

// reader passes the events of a capture on. A frame that is no event ends the reading: such a
// capture has no trace.
type reader struct {
	do   func(*envelope.Event) error
	stop context.CancelCauseFunc
	err  error
}

// Begin implements scan.Consumer.
func (r *reader) Begin(*envelope.Run) scan.Observer { return nil }

// Frame implements scan.FrameConsumer.
func (r *reader) Frame(_ *envelope.Run, f *capture.Frame, e *envelope.Event) {
	if r.err != nil {
		return
	}
	if e == nil {
		_, r.err = envelope.ReadFrame(f)
	} else {
		r.err = r.do(e)
	}
	if r.err != nil {
		r.stop(r.err)
	}
}

// Finish implements scan.Consumer.
func (r *reader) Finish(scan.Result) error { return nil }

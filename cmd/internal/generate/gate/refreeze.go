package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// seen is a run and what is in its events besides what an analysis says.
type runDetails struct {
	run   analysis.Run
	state stateEvents
	ids   messageIDs
	// trial is nil where the run has no artifact.
	refreezing *refreezing
}

// look reads a run again.
func readDetails(run analysis.Run) (runDetails, error) {
	s := runDetails{run: run}
	c, err := capture.Open(context.Background(), run.Capture, "")
	if err != nil {
		return s, err
	}
	defer c.Close()
	request, err := c.Request()
	if err != nil {
		return s, err
	}
	ids, err := newIDCollector(request, c.Manifest().Source.URL)
	if err != nil {
		return s, fmt.Errorf("%s: the request: %w", run.Capture, err)
	}
	var events []*envelope.Event
	of := &filteredFrames{Capture: c, run: *run.Run, keep: func(e *envelope.Event) bool {
		ids.event(e)
		if gate.IsStateEvent(e.Type) {
			events = append(events, e.Clone())
		}
		return false
	}}
	for err == nil {
		_, err = of.Next()
	}
	if err != io.EOF {
		return s, err
	}
	s.ids = ids.ids
	var made *artifact.Artifact
	if run.Sizes != nil {
		if s.refreezing, made, err = refreeze(run); err != nil {
			return s, fmt.Errorf("%s: %w", run.Capture, err)
		}
	}
	if s.state, err = describeState(events, made); err != nil {
		return s, fmt.Errorf("%s: %w", run.Capture, err)
	}
	return s, nil
}

// trial is what became of a run that has an artifact when it was projected again
// from fewer of its events.
type refreezing struct {
	origin project.Origin
	// stateless says that the artifact is the same, byte for byte, without the
	// STATE_* and ACTIVITY_* events.
	sameWithoutState bool
	// alone says so of RUN_STARTED, the snapshot behind the artifact and the
	// terminal event alone; of a built artifact there is no snapshot.
	sameFromEnvelope bool
	// spared counts those of these events without which an artifact of an emitted
	// snapshot can still be made.
	dispensable int
}

// try makes the artifact of a run again and again, and returns it too.
func refreeze(run analysis.Run) (*refreezing, *artifact.Artifact, error) {
	whole, err := freeze(run, func(*envelope.Event) bool { return true })
	if err != nil {
		return nil, nil, err
	}
	if whole == nil || len(whole.Bytes) != run.Sizes.Artifact {
		return nil, nil, fmt.Errorf("the artifact of run %d cannot be made again", *run.Run)
	}
	t := &refreezing{origin: whole.Origin}
	same := func(keep func(e *envelope.Event) bool) bool {
		out, tryErr := freeze(run, keep)
		err = cmp.Or(err, tryErr)
		return out != nil && out.Origin == whole.Origin && bytes.Equal(out.Bytes, whole.Bytes)
	}
	t.sameWithoutState = same(func(e *envelope.Event) bool { return !gate.IsStateEvent(e.Type) })
	inEnvelope := func(e *envelope.Event) bool {
		return slices.ContainsFunc(run.Events, func(p project.Part) bool { return p.Offset == e.Offset })
	}
	t.sameFromEnvelope = same(inEnvelope)
	for _, p := range run.Events {
		out, tryErr := freeze(run, func(e *envelope.Event) bool { return inEnvelope(e) && e.Offset != p.Offset })
		err = cmp.Or(err, tryErr)
		if out != nil && out.Origin == project.Emitted {
			t.dispensable++
		}
	}
	return t, whole.Artifact, err
}

// freeze projects a run from those of its events that are kept, as an analysis
// does, and returns the first output that a projection gives; nil when all refuse.
func freeze(run analysis.Run, keep func(e *envelope.Event) bool) (*project.Output, error) {
	c, err := capture.Open(context.Background(), run.Capture, "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	request, err := c.Request()
	if err != nil {
		return nil, err
	}
	settings := analysis.Settings(artifact.V1)
	for i := range settings {
		if err := settings[i].Normalize(); err != nil {
			return nil, err
		}
	}
	var out *project.Output
	projections := &scan.Projector{
		Request:  request,
		Settings: func(*envelope.Run) []project.Settings { return settings },
		Handle: func(_ *envelope.Run, made iter.Seq[*scan.Projection]) error {
			for p := range made {
				if out = p.Output; out != nil {
					break
				}
			}
			return nil
		},
	}
	_, err = envelope.Scan(&filteredFrames{Capture: c, run: *run.Run, keep: keep}, &runVisitor{consumer: projections})
	return out, err
}

// fewer leaves frames out: those of other runs, and those whose event is not kept.
type filteredFrames struct {
	*capture.Capture
	run, runsStarted int
	keep             func(e *envelope.Event) bool
}

// Next implements envelope.Frames.
func (f *filteredFrames) Next() (capture.Frame, error) {
	for {
		frame, err := f.Capture.Next()
		if err != nil {
			return frame, err
		}
		e, err := envelope.ReadEvent(frame.Data)
		switch {
		case err != nil && f.runsStarted == f.run:
			return frame, nil
		case err != nil:
			continue
		case e.Type == envelope.RunStarted:
			f.runsStarted++
		}
		e.Index, e.Offset, e.Bytes = frame.Index, frame.Offset, frame.Bytes
		if f.runsStarted == f.run && f.keep(e) {
			return frame, nil
		}
	}
}

// only shows a run to one consumer.
type runVisitor struct {
	consumer scan.Consumer
	observer scan.Observer
}

// Event implements envelope.Visitor.
func (o *runVisitor) Event(run *envelope.Run, e *envelope.Event) {
	if e.Type == envelope.RunStarted {
		o.observer = o.consumer.Begin(run)
	}
	o.observer.Event(e)
}

// End implements envelope.Visitor.
func (o *runVisitor) End(run *envelope.Run) error { return o.observer.End(run) }

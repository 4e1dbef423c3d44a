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

// runDetails has facts about a run that analysis.Run does not have.
type runDetails struct {
	run   analysis.Run
	state stateEvents
	ids   messageIDs
	boundaries
	// rebuilt is nil if the run has no snapshot.
	rebuilt *analysis.Rebuilt
	// refreezing is nil if the run has no artifact.
	refreezing *refreezing
}

// readDetails reads the capture of a run again and returns the details of the run.
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
	ends, err := newBoundaryReader(request)
	if err != nil {
		return s, fmt.Errorf("%s: the request: %w", run.Capture, err)
	}
	rebuilder := newRebuilder(request)
	var events []*envelope.Event
	of := &filteredFrames{Capture: c, run: *run.Run, keep: func(e *envelope.Event) bool {
		ids.event(e)
		ends.event(e)
		rebuilder.event(e)
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
	s.ids, s.boundaries = ids.ids, ends.found
	if s.rebuilt, err = rebuilder.compare(); err != nil {
		return s, fmt.Errorf("%s: %w", run.Capture, err)
	}
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

// refreezing has the results of projecting a run with an artifact again from fewer events.
type refreezing struct {
	origin project.Origin
	// sameWithoutState reports that the artifact is identical without the STATE_* and
	// ACTIVITY_* events.
	sameWithoutState bool
	// sameFromEnvelope reports that the artifact is identical if only RUN_STARTED, the
	// emitted snapshot of the artifact, if any, and the terminal event are projected.
	sameFromEnvelope bool
	// dispensable counts the events of the envelope without which the run still
	// produces an artifact of an emitted snapshot.
	dispensable int
}

// refreeze projects a run from several subsets of its events. It also returns the artifact
// from all events.
func refreeze(run analysis.Run) (*refreezing, *artifact.Artifact, error) {
	whole, err := freeze(run, func(*envelope.Event) bool { return true })
	if err != nil {
		return nil, nil, err
	}
	if whole == nil || len(whole.Bytes) != run.Sizes.Artifact {
		return nil, nil, fmt.Errorf("the artifact of run %d cannot be reproduced", *run.Run)
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

// freeze projects the events of a run for which keep returns true, with the settings of an
// analysis. It returns the output of the first projection that freezes the run, or nil if
// all refuse it.
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

// filteredFrames returns only the frames of one run whose events keep accepts.
type filteredFrames struct {
	*capture.Capture
	run, runsStarted int
	keep             func(e *envelope.Event) bool
}

// Next implements envelope.Frames.
func (f *filteredFrames) Next() (*capture.Frame, error) {
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

// runVisitor passes the events of a run to one consumer.
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

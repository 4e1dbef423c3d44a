package servetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/compact"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/store"
)

// A thread is what the log has of the thread of a trial.
type thread struct {
	entries []*store.Entry
	visible []*store.Entry
	runs    []*run
}

// A run is a run of a thread.
type run struct {
	first   *store.Entry   // RUN_STARTED
	entries []*store.Entry // with RUN_STARTED
}

// thread reads the thread from the log.
func (t *trial) thread(ctx context.Context) (*thread, error) {
	th := &thread{}
	runs := make(map[int64]*run)
	for e, err := range t.Log.Read(ctx, t.key, 0) {
		if err != nil {
			return nil, err
		}
		e := &store.Entry{Position: e.Position, Run: e.Run, Stream: e.Stream, Kind: e.Kind, Type: e.Type, Arrived: e.Arrived, Data: slices.Clone(e.Data)}
		th.entries = append(th.entries, e)
		if !visible(e) {
			continue
		}
		th.visible = append(th.visible, e)
		if e.Run == e.Position {
			runs[e.Run] = &run{first: e}
			th.runs = append(th.runs, runs[e.Run])
		}
		if r := runs[e.Run]; r != nil {
			r.entries = append(r.entries, e)
		}
	}
	return th, nil
}

// at returns the entry at a position, or nil.
func (th *thread) at(position int64) *store.Entry {
	if position < 1 || position > int64(len(th.entries)) {
		return nil
	}
	return th.entries[position-1]
}

// runOf returns the run that has the entry at a position, or nil.
func (th *thread) runOf(position int64) *run {
	e := th.at(position)
	if e == nil || e.Run == 0 {
		return nil
	}
	for _, r := range th.runs {
		if r.first.Position == e.Run {
			return r
		}
	}
	return nil
}

// before returns the last run that starts at a position or before, or nil.
func (th *thread) before(position int64) (last *run) {
	for _, r := range th.runs {
		if r.first.Position <= position {
			last = r
		}
	}
	return last
}

// end returns the position of the first terminal event, or of the last event if there is none.
func (r *run) end() int64 {
	for _, e := range r.entries {
		if terminal(e) {
			return e.Position
		}
	}
	return r.entries[len(r.entries)-1].Position
}

func terminal(e *store.Entry) bool { return e.Type == "RUN_FINISHED" || e.Type == "RUN_ERROR" }

// after returns the entries after a position.
func after(entries []*store.Entry, position int64) []*store.Entry {
	i := slices.IndexFunc(entries, func(e *store.Entry) bool { return e.Position > position })
	if i < 0 {
		return nil
	}
	return entries[i:]
}

// compacted returns the compacted events of a run up to a position. A client must accept them.
func (r *run) compacted(last int64) (events []string, err error) {
	checker := sequence.New(sequence.Options{Client: true})
	c := compact.New(compact.Options{Mode: compact.ModeClient}, func(data []byte) error {
		events = append(events, string(data))
		e, err := envelope.ReadEvent(data)
		if err != nil {
			return err
		}
		for _, f := range checker.Event(e) {
			return fmt.Errorf("compacted event %d of run %d: %w", len(events), r.first.Position, f)
		}
		return nil
	})
	for _, e := range r.entries {
		if e.Position > last {
			break
		}
		event, err := envelope.ReadEvent(e.Data)
		if err != nil {
			return nil, err
		}
		if err := c.Event(event); err != nil {
			return nil, err
		}
	}
	err = c.End()
	return events, err
}

// compacts reports whether there is a run whose compacted form a client accepts.
func (th *thread) compacts() bool {
	return slices.ContainsFunc(th.runs, func(r *run) bool {
		_, err := r.compacted(r.entries[len(r.entries)-1].Position)
		return err == nil
	})
}

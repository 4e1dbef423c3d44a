package index

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/store"
)

// Place computes the rows of the batch after the given state of the thread and of the
// streams of StreamIDs, in the same order. Neither is changed. The error is store.ErrEntry
// if an entry follows the end of its stream. Place can be called again with another state.
func (b *Batch) Place(t Thread, streams []Stream) error {
	b.Thread, b.Streams, b.Runs = t, slices.Clone(streams), nil
	b.Rows = make([]Row, len(b.entries))
	changed := make([]bool, len(streams)) // the last run of the stream is
	for i := range b.entries {
		e, ev := &b.entries[i], &b.events[i]
		s := &b.Streams[ev.stream]
		if s.Ended {
			return fmt.Errorf("entry %d of %d: %w: stream %q ended at position %d",
				i+1, len(b.entries), store.ErrEntry, s.ID, s.Last)
		}
		b.Thread.Last++
		b.Thread.Bytes += int64(len(e.Data))
		if s.Number == 0 {
			b.Thread.Streams++
			s.Number, s.ID, s.First = b.Thread.Streams, e.Stream, b.Thread.Last
		}
		s.Last = b.Thread.Last
		s.Entries++
		row := &b.Rows[i]
		row.Number = s.Number
		switch e.Kind {
		case store.Input:
			s.Input, s.InputParent = s.Last, ev.parent
			continue
		case store.End:
			s.Ended = true
			if s.cut() {
				changed[ev.stream] = true
			}
			continue
		}
		row.Type = ev.name
		if ev.name == eventnames.RunStarted {
			if s.cut() || changed[ev.stream] {
				b.Runs = append(b.Runs, s.Run)
			}
			b.Thread.Runs++
			s.begin(e, ev)
		}
		if s.Run.Start == 0 {
			continue
		}
		row.Run = s.Run.Start
		s.Run.add(s.Last, e, ev)
		changed[ev.stream] = true
	}
	for i := range b.Streams {
		if changed[i] {
			b.Runs = append(b.Runs, b.Streams[i].Run)
		}
	}
	return nil
}

// begin begins a run with the entry at the position s.Last.
func (s *Stream) begin(e *store.Entry, ev *event) {
	s.Run = Run{Number: s.Number, Run: store.Run{
		ID: ev.run, Parent: cmp.Or(ev.parent, s.InputParent), Stream: s.ID,
		Input: s.Input, Start: s.Last, StartedAt: e.Arrived, End: store.Open,
	}}
	s.Input, s.InputParent = 0, ""
}

// cut ends the last run of the stream unless it has a terminal event. It reports whether
// this changed the run.
func (s *Stream) cut() bool {
	if s.Run.Start == 0 || s.Run.End != store.Open {
		return false
	}
	s.Run.End = store.Cut
	return true
}

// add adds an event to the run. Its first terminal event says how the run ended.
func (r *Run) add(position int64, e *store.Entry, ev *event) {
	r.Last = position
	r.Entries++
	r.Bytes += int64(len(e.Data))
	r.LastAt = e.Arrived
	if r.End != store.Open {
		return
	}
	switch ev.name {
	case eventnames.RunError:
		r.End = store.Failed
	case eventnames.RunFinished:
		r.End = ev.end
	}
}

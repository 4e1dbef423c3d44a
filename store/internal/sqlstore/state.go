package sqlstore

import (
	"sync"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/index"
)

// Limits of the states that are kept. A thread with more open streams is loaded each time.
const (
	maxStates  = 256
	maxStreams = 64
)

// state is the state of a thread at its last position.
type state struct {
	thread  int64
	totals  index.Thread
	updated int64 // the time of the last append
	// streams has those that have not ended and that this process has appended to.
	streams map[string]index.Stream
}

// states keeps the states of threads that this process has appended to, so that its next
// append needs not load them. A state is right if the thread still is as it was after that append.
// Dialect.Write finds that out.
type states struct {
	mu  sync.Mutex
	all map[store.Key]*state
}

// take removes the state of a thread, and returns it if it is that at the given position. If
// it has all streams of a write, it fills the write and reports true.
func (s *states) take(w *Write, after int64) (*state, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.all[w.Key]
	delete(s.all, w.Key)
	if st == nil || st.totals.Last != after {
		return nil, false
	}
	streams := make([]index.Stream, len(w.Batch.StreamIDs()))
	for i, id := range w.Batch.StreamIDs() {
		stream, ok := st.streams[id]
		if !ok {
			return st, false
		}
		streams[i] = stream
	}
	w.Thread, w.Before, w.UpdatedBefore, w.StreamsBefore = st.thread, st.totals, st.updated, streams
	return st, true
}

// keep keeps the state of a thread after a write. before is its state before it, or nil.
func (s *states) keep(w *Write, before *state) {
	st := before
	if st == nil {
		st = &state{streams: make(map[string]index.Stream)}
	}
	st.thread, st.totals, st.updated = w.Thread, w.Batch.Thread, w.Now
	for i := range w.Batch.Streams {
		stream := &w.Batch.Streams[i]
		if stream.Ended || len(st.streams) >= maxStreams {
			delete(st.streams, stream.ID)
			continue
		}
		st.streams[stream.ID] = *stream
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || len(s.all) >= maxStates {
		s.all = make(map[store.Key]*state)
	}
	s.all[w.Key] = st
}

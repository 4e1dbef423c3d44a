// Package memory has a log that is kept in memory, for tests and for programs that do not
// need their log after they end. Its entries do not survive the process. Its size is bounded
// only by the memory.
package memory

import (
	"context"
	"sync"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/index"
	"github.com/p20export/p20export/store/internal/leases"
)

// Log is a log in memory. Use New.
type Log struct {
	mu      sync.RWMutex
	closed  bool
	threads map[store.Key]*thread
	// watches has the threads that are followed, whether they exist or not.
	watches map[store.Key]*watch
	leases  leases.Set
}

// thread is a thread that has entries or was deleted.
type thread struct {
	store.Thread
	totals  index.Thread
	streams map[string]index.Stream
	runs    []store.Run // ordered by start
	// entries has the entry with the position n at the index n-1. Elements never change,
	// so readers can use a slice of it without a lock.
	entries []entry
	chunks  []*chunk
	seals   []store.Seal // ordered by size
	blocks  []byte
	derived map[string][]store.Derived // by kind, ordered by position
}

// entry is an entry without what follows from its place.
type entry struct {
	run     int64
	stream  string
	kind    store.Kind
	typ     string
	arrived time.Time
	data    []byte // nil if the entry is packed
	chunk   *chunk // nil if it is not
	offset  int    // of the data in the chunk
	size    int
}

// New returns an empty log.
func New() *Log {
	return &Log{threads: make(map[store.Key]*thread), watches: make(map[store.Key]*watch)}
}

// now returns the time with the precision of a log.
func now() time.Time { return precise(time.Now()) }

// precise returns t with the precision of a log.
func precise(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

// check returns the error of a call. The caller holds l.mu.
func (l *Log) check(ctx context.Context) error {
	if l.closed {
		return store.ErrClosed
	}
	return ctx.Err()
}

// Append implements store.Log.
func (l *Log) Append(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
	if err := key.Check(); err != nil {
		return 0, err
	}
	b, err := index.New(entries)
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(ctx); err != nil {
		return 0, err
	}
	t := l.threads[key]
	if t == nil {
		t = &thread{Thread: store.Thread{Key: key}, streams: make(map[string]index.Stream)}
	}
	switch {
	case !t.DeletedAt.IsZero():
		return 0, store.ErrDeleted
	case t.Last != after:
		return 0, &store.ConflictError{Key: key, Expected: after, Last: t.Last}
	case len(entries) == 0:
		return after, nil
	}
	streams := make([]index.Stream, len(b.StreamIDs()))
	for i, id := range b.StreamIDs() {
		streams[i] = t.streams[id]
	}
	if err := b.Place(t.totals, streams); err != nil {
		return 0, err
	}
	t.add(entries, b)
	l.threads[key] = t
	l.notify(key)
	return t.Last, nil
}

// add adds a batch to the thread.
func (t *thread) add(entries []store.Entry, b *index.Batch) {
	block := make([]byte, 0, b.Thread.Bytes-t.Bytes)
	for i := range entries {
		e, row := &entries[i], b.Rows[i]
		start := len(block)
		block = append(block, e.Data...)
		t.entries = append(t.entries, entry{
			run: row.Run, stream: e.Stream, kind: e.Kind, typ: row.Type, arrived: precise(e.Arrived),
			data: block[start:len(block):len(block)], size: len(e.Data),
		})
	}
	for i, id := range b.StreamIDs() {
		t.streams[id] = b.Streams[i]
	}
	for i := range b.Runs {
		t.setRun(b.Runs[i].Run)
	}
	t.totals = b.Thread
	t.Last, t.Runs, t.Bytes = b.Thread.Last, b.Thread.Runs, b.Thread.Bytes
	t.UpdatedAt = now()
	if t.CreatedAt.IsZero() {
		t.CreatedAt = t.UpdatedAt
	}
}

// Thread implements store.Log.
func (l *Log) Thread(ctx context.Context, key store.Key) (store.Thread, error) {
	if err := key.Check(); err != nil {
		return store.Thread{}, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.check(ctx); err != nil {
		return store.Thread{}, err
	}
	t := l.threads[key]
	if t == nil {
		return store.Thread{}, store.ErrNoThread
	}
	return t.Thread, nil
}

// Stream implements store.Log.
func (l *Log) Stream(ctx context.Context, key store.Key, id string) (store.Stream, error) {
	if err := key.Check(); err != nil {
		return store.Stream{}, err
	}
	if err := store.CheckID(id); err != nil {
		return store.Stream{}, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.check(ctx); err != nil {
		return store.Stream{}, err
	}
	if t := l.threads[key]; t != nil {
		return t.stream(id), nil
	}
	return store.Stream{}, nil
}

// stream returns what is known of a stream. It is zero if the thread has none of that id.
func (t *thread) stream(id string) store.Stream {
	s, ok := t.streams[id]
	if !ok {
		return store.Stream{}
	}
	s.Key = t.Key
	return s.Stream
}

// Leases implements store.Leaser. A log can have several holders. No lease is ever lost.
func (l *Log) Leases(ctx context.Context, _ func(name string)) (store.Leases, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.check(ctx); err != nil {
		return nil, err
	}
	return l.leases.Holder(nil), nil
}

// Close implements store.Log. It frees the memory.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed, l.threads = true, nil
	for key := range l.watches {
		l.notify(key)
	}
	return nil
}

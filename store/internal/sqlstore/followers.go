package sqlstore

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/store"
)

// followers are the calls of Follow of a log. Dialect.Watch runs while there are any. Each is
// woken for its own thread only, so that those of idle threads cost nothing.
type followers struct {
	watch func(ctx context.Context, wake func(store.Key)) error
	look  func(ctx context.Context) error // wakes those whose threads have changed

	mu     sync.Mutex
	closed bool
	all    map[store.Key]map[*follower]bool // nil if there are none
	stop   context.CancelFunc               // stops the watch
}

// follower is one call of Follow.
type follower struct {
	key    store.Key
	seen   found // the thread as it was found last; zero if there was none
	failed bool  // it was not found because of an error, or not yet
	look   bool  // the database may have something that is not in batches
	// batches are what this process has appended since then: the first follows what was seen,
	// and each other one the one before it.
	batches []*batch
	bytes   int64         // of batches
	woken   chan struct{} // has a value if there may be new entries
	ended   chan struct{} // closed when the watch has ended
	err     error         // why it has
}

// add adds a follower of a thread.
func (s *followers) add(key store.Key) *follower {
	f := &follower{key: key, failed: true, look: true, woken: make(chan struct{}, 1), ended: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		f.err = store.ErrClosed
		close(f.ended)
		return f
	}
	if len(s.all) == 0 {
		s.all = make(map[store.Key]map[*follower]bool)
		ctx, stop := context.WithCancel(context.Background())
		s.stop = stop
		go func(all map[store.Key]map[*follower]bool) {
			err := s.watch(ctx, func(key store.Key) {
				if key != (store.Key{}) {
					s.wake(key)
				} else if s.look(ctx) != nil {
					s.wakeAll() // who read the log find out what is wrong
				}
			})
			stop()
			s.end(all, err)
		}(s.all)
	}
	if s.all[key] == nil {
		s.all[key] = make(map[*follower]bool)
	}
	s.all[key][f] = true
	return f
}

// saw notes what a follower found. It drops the batches that the follower will read with that.
func (s *followers) saw(f *follower, t found, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.seen, f.failed = t, err != nil && !errors.Is(err, store.ErrNoThread)
	for len(f.batches) > 0 && (f.failed || f.batches[0].before != t) {
		f.bytes -= f.batches[0].size()
		f.batches = f.batches[1:]
	}
}

// take removes and returns what a follower of a thread gets without reading the database, and
// reports whether it has to look there afterwards. The follower has seen the batches then.
func (s *followers) take(f *follower) (batches []*batch, look bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batches, look = f.batches, f.look
	if n := len(batches); n > 0 {
		f.seen = batches[n-1].after
	}
	f.batches, f.bytes, f.look = nil, 0, false
	return batches, look
}

// appended gives what this process has appended to the followers of the thread that have
// everything before it. The others look at the database. id is that of the thread before, or 0 if
// it did not exist.
func (s *followers) appended(w *Write, id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := found{id, w.Before.Last, w.Before.Bytes, w.UpdatedBefore}
	var b *batch
	for f := range s.all[w.Key] {
		if f.follows(before, w.size()) {
			if b == nil {
				b = newBatch(before, w)
			}
			f.batches, f.bytes = append(f.batches, b), f.bytes+w.size()
		} else {
			f.look = true
		}
		f.wake()
	}
}

// follows reports whether an append to the thread follows what the follower has, and whether there
// is room for it.
func (f *follower) follows(before found, bytes int64) bool {
	has := f.seen
	if n := len(f.batches); n > 0 {
		has = f.batches[n-1].after
	}
	return !f.failed && has == before && f.bytes+bytes <= batchBytes
}

// remove removes a follower. The last one stops the watch.
func (s *followers) remove(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.all[f.key]
	if !of[f] {
		return
	}
	if delete(of, f); len(of) == 0 {
		delete(s.all, f.key)
	}
	if len(s.all) == 0 {
		s.stop()
		s.all = nil
	}
}

// wake makes the followers of a thread look at the database.
func (s *followers) wake(key store.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.all[key] {
		f.look = true
		f.wake()
	}
}

// wakeAll makes all followers look at the database.
func (s *followers) wakeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.all {
		for f := range of {
			f.look = true
			f.wake()
		}
	}
}

// wakeChanged makes the followers look of threads that are no longer as they found them. Threads
// that do not exist are zero in now, and deleted ones are in gone.
func (s *followers) wakeChanged(keys []store.Key, now map[store.Key]found, gone map[store.Key]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		for f := range s.all[key] {
			if f.failed || gone[key] || f.seen != now[key] {
				f.look = true
				f.wake()
			}
		}
	}
}

// wake wakes a follower that waits. The caller holds the lock of all followers.
func (f *follower) wake() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// keys returns the threads that have followers.
func (s *followers) keys() []store.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make([]store.Key, 0, len(s.all))
	for key := range s.all {
		keys = append(keys, key)
	}
	return keys
}

// end ends the followers of a watch that has ended.
func (s *followers) end(all map[store.Key]map[*follower]bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range all {
		for f := range of {
			f.err = err
			close(f.ended)
		}
	}
	clear(all)
}

// reason returns why a follower ended.
func (s *followers) reason(f *follower) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.err
}

// close ends all followers, because the log is closed.
func (s *followers) close() {
	s.mu.Lock()
	s.closed = true
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// lookKeys is the number of threads that one query looks at.
const lookKeys = 500

// look looks at all threads that have followers, and wakes the followers of those that have
// changed. It returns no error while the database is away: a later call looks again.
func (l *Log) look(ctx context.Context) error {
	for keys := range slices.Chunk(l.followers.keys(), lookKeys) {
		list := make([][2]string, len(keys))
		for i, key := range keys {
			list[i] = [2]string{key.Tenant, key.Thread}
		}
		text, err := json.Marshal(list)
		if err != nil {
			return err
		}
		now, gone := make(map[store.Key]found), make(map[store.Key]bool)
		_, err = load(l, ctx, `SELECT t.tenant, t.thread, t.id, t.last, t.bytes, t.updated_at, t.deleted_at IS NOT NULL
			FROM `+l.dialect.Elements+` JOIN threads t ON t.tenant = k.value->>0 AND t.thread = k.value->>1`, []any{string(text)},
			func(scan func(...any) error) (struct{}, error) {
				var key store.Key
				var t found
				var deleted bool
				err := scan(&key.Tenant, &key.Thread, &t.id, &t.last, &t.bytes, &t.updated, &deleted)
				now[key], gone[key] = t, deleted
				return struct{}{}, err
			})
		switch {
		case err != nil && l.gone(ctx, err):
			return nil
		case err != nil:
			return err
		}
		l.followers.wakeChanged(keys, now, gone)
	}
	return nil
}

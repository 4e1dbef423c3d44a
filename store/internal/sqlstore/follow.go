package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"sync"

	"github.com/p20export/p20export/store"
)

// Follow implements store.Log.
func (l *Log) Follow(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		if err := l.follow(ctx, key, after, func(e *store.Entry) bool { return yield(e, nil) }); err != nil {
			yield(nil, fmt.Errorf("follow thread %q: %w", key.Thread, err))
		}
	}
}

func (l *Log) follow(ctx context.Context, key store.Key, after int64, yield func(*store.Entry) bool) error {
	if err := l.ready(key); err != nil {
		return err
	}
	f := l.followers.add()
	defer l.followers.remove(f)
	r := reader{log: l}
	defer r.close()
	var seen found // the thread when it was read last
	var last mark  // that of the entry at after, or 0 if it is not known
	for {
		t, err := l.find(ctx, key)
		if rewound(seen, t, err) {
			return store.ErrRewound
		}
		if err == nil && t != seen {
			l.followers.setThread(f, t.id)
			r.thread = t.id
			other, more := false, false
			// The entry at after is read again, to see that it is still the same.
			more, err = r.read(ctx, after-1, t.last, func(e *store.Entry) bool {
				m := markOf(e)
				if e.Position == after {
					other = last != 0 && m != last
					last = m
					return !other
				}
				after, last = e.Position, m
				return yield(e)
			})
			switch {
			case other:
				return store.ErrRewound
			case err == nil && !more:
				return nil
			case err == nil:
				seen = t
			}
		}
		if err != nil && !errors.Is(err, store.ErrNoThread) && !l.gone(ctx, err) {
			return err
		}
		select {
		case <-f.woken:
		case <-ctx.Done():
			return ctx.Err()
		case <-f.ended:
			return l.explain(l.followers.reason(f))
		}
	}
}

// rewound reports whether the database no longer has what it had of a thread. err is that of
// find.
func rewound(had, has found, err error) bool {
	switch {
	case had.id == 0:
		return false
	case err != nil:
		return errors.Is(err, store.ErrNoThread)
	}
	return has.id != had.id || has.last < had.last || has.last == had.last && has != had
}

// mark identifies an entry in the memory of this process. It is not 0.
type mark uint64

// seed returns the seed of all marks.
var seed = sync.OnceValue(maphash.MakeSeed)

func markOf(e *store.Entry) mark {
	var h maphash.Hash
	h.SetSeed(seed())
	maphash.WriteComparable(&h, e.Position)
	maphash.WriteComparable(&h, e.Arrived.UnixMicro())
	maphash.WriteComparable(&h, len(e.Stream))
	h.WriteString(e.Stream)
	h.WriteString(string(e.Kind))
	h.Write(e.Data)
	return mark(h.Sum64() | 1)
}

// gone reports that an error means that the database is away for now.
func (l *Log) gone(ctx context.Context, err error) bool {
	return l.dialect.Gone != nil && ctx.Err() == nil && !l.closed.Load() && l.dialect.Gone(err)
}

// followers are the calls of Follow of a log. Dialect.Watch runs while there are any.
type followers struct {
	watch func(ctx context.Context, wake func(thread int64)) error

	mu     sync.Mutex
	closed bool
	all    map[*follower]bool
	stop   context.CancelFunc // stops the watch
}

// follower is one call of Follow.
type follower struct {
	thread int64         // 0 if it is not known yet
	woken  chan struct{} // has a value if there may be new entries
	ended  chan struct{} // closed when the watch has ended
	err    error         // why it has
}

// add adds a follower, which is woken for every thread at first.
func (s *followers) add() *follower {
	f := &follower{woken: make(chan struct{}, 1), ended: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		f.err = store.ErrClosed
		close(f.ended)
		return f
	}
	if len(s.all) == 0 {
		s.all = make(map[*follower]bool)
		ctx, stop := context.WithCancel(context.Background())
		s.stop = stop
		go func(all map[*follower]bool) {
			err := s.watch(ctx, s.wake)
			stop()
			s.end(all, err)
		}(s.all)
	}
	s.all[f] = true
	return f
}

// setThread limits a follower to a thread.
func (s *followers) setThread(f *follower, thread int64) {
	s.mu.Lock()
	f.thread = thread
	s.mu.Unlock()
}

// remove removes a follower. The last one stops the watch.
func (s *followers) remove(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[f] {
		if delete(s.all, f); len(s.all) == 0 {
			s.stop()
			s.all = nil
		}
	}
}

// wake wakes the followers of a thread, or all if thread is 0.
func (s *followers) wake(thread int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.all {
		if thread == 0 || f.thread == 0 || f.thread == thread {
			select {
			case f.woken <- struct{}{}:
			default:
			}
		}
	}
}

// end ends the followers of a watch that has ended.
func (s *followers) end(all map[*follower]bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range all {
		f.err = err
		close(f.ended)
		delete(all, f)
	}
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

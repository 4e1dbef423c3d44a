package serve

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

const (
	// maxWalkers and maxWalkerBytes limit the threads whose moments are kept ready, and about how
	// much memory they take together. Those that are in use can exceed both.
	maxWalkers     = 64
	maxWalkerBytes = 256 << 20
	// checkpointBytes limits the checkpoints of one thread.
	checkpointBytes = 64 << 20
)

// walkers are the threads whose moments are read. All readers of a thread share a Walker, and
// take turns. The ones that were not used for the longest time are dropped.
type walkers struct {
	log     store.Log
	options restore.Options

	mu    sync.Mutex
	byKey map[store.Key]*walker
	order []*walker // the last one was used last
	bytes int64
}

// walker is the Walker of a thread.
type walker struct {
	*restore.Walker
	key   store.Key
	turn  chan struct{} // who has put something into it may use the Walker
	users int           // who use it, or wait for their turn
	bytes int64
}

// enter returns the Walker of a thread when it is the caller's turn, who has to call leave. It
// returns nil if that takes longer than enterTime, or ctx is done.
func (s *walkers) enter(ctx context.Context, key store.Key) *walker {
	s.mu.Lock()
	w := s.byKey[key]
	if w == nil {
		w = &walker{Walker: restore.NewWalker(s.log, key, s.options, checkpointBytes), key: key, turn: make(chan struct{}, 1)}
		s.byKey[key] = w
		s.order = append(s.order, w)
	}
	w.users++
	s.mu.Unlock()
	select {
	case w.turn <- struct{}{}:
		return w
	case <-ctx.Done():
	case <-time.After(enterTime):
	}
	s.mu.Lock()
	w.users--
	s.mu.Unlock()
	return nil
}

// leave ends the turn of a caller, and drops walkers that exceed the limits. A walker that is not
// useful, because there is no such thread, is dropped too.
func (s *walkers) leave(w *walker, useful bool) {
	bytes := w.Bytes()
	<-w.turn
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += bytes - w.bytes
	w.bytes = bytes
	w.users--
	s.order = append(slices.DeleteFunc(s.order, func(o *walker) bool { return o == w }), w)
	if !useful && w.users == 0 {
		s.drop(w)
	}
	for _, o := range slices.Clone(s.order) {
		if len(s.order) <= maxWalkers && s.bytes <= maxWalkerBytes {
			break
		}
		if o.users == 0 {
			s.drop(o)
		}
	}
}

func (s *walkers) drop(w *walker) {
	delete(s.byKey, w.key)
	s.order = slices.DeleteFunc(s.order, func(o *walker) bool { return o == w })
	s.bytes -= w.bytes
}

package serve

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// Readers of a thread take turns with one Walker. The walkers that were used last are kept, and
// those in use.
func TestWalkers(t *testing.T) {
	t.Parallel()
	log := memory.New()
	s := &walkers{log: log, byKey: map[store.Key]*walker{}}
	key := func(n int) store.Key { return store.Key{Thread: fmt.Sprint(n)} }
	inUse := s.enter(t.Context(), key(0))
	for i := range 2 * maxWalkers {
		w := s.enter(t.Context(), key(1+i))
		s.leave(w, true)
	}
	if len(s.order) != maxWalkers || len(s.byKey) != maxWalkers || s.byKey[key(0)] != inUse || s.byKey[key(2*maxWalkers)] == nil || s.byKey[key(1)] != nil {
		t.Errorf("%d walkers in order, %d by key", len(s.order), len(s.byKey))
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if w := s.enter(cancelled, key(0)); w != nil {
		t.Error("a reader whose client has left waits")
	}
	var wg sync.WaitGroup
	turns := 0
	for range 10 {
		wg.Go(func() {
			w := s.enter(t.Context(), key(0))
			turns++ // the race detector reports two at the same time
			s.leave(w, true)
		})
	}
	s.leave(inUse, true)
	wg.Wait()
	if turns != 10 || inUse.users != 0 {
		t.Errorf("%d turns, %d users", turns, inUse.users)
	}
	s.leave(s.enter(t.Context(), key(0)), false)
	if s.byKey[key(0)] != nil {
		t.Error("a walker that is not useful is kept")
	}
	for len(s.order) > 0 {
		s.drop(s.order[0])
	}
	if s.bytes != 0 {
		t.Errorf("%d bytes are left", s.bytes)
	}
}

// Walkers that take too much memory together are dropped, the oldest first.
func TestWalkersBytes(t *testing.T) {
	t.Parallel()
	log := memory.New()
	s := &walkers{log: log, byKey: map[store.Key]*walker{}}
	var list []*walker
	for i := range 4 {
		key := store.Key{Thread: fmt.Sprint(i)}
		if _, err := log.Append(t.Context(), key, 0, []store.Entry{
			{Stream: "s", Kind: store.Event, Data: []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)},
			{Stream: "s", Kind: store.Event, Data: []byte(`{"type":"STATE_SNAPSHOT","snapshot":"x"}`)},
		}); err != nil {
			t.Fatal(err)
		}
		w := s.enter(t.Context(), key)
		if _, err := w.Moment(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		list = append(list, w)
		s.leave(w, true)
	}
	if s.bytes != 4*list[0].Bytes() || s.bytes == 0 {
		t.Errorf("%d bytes, one takes %d", s.bytes, list[0].Bytes())
	}
	s.bytes += maxWalkerBytes - 2*list[0].Bytes() // as if others took so much
	s.leave(s.enter(t.Context(), list[0].key), true)
	if s.byKey[list[1].key] != nil || s.byKey[list[2].key] != nil || s.byKey[list[3].key] == nil || s.byKey[list[0].key] == nil {
		t.Errorf("%v are left", s.byKey)
	}
}

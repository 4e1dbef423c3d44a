package sqlstore

import (
	"fmt"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/index"
)

// placed returns a write of entries, one for each stream, after a position.
func placed(t *testing.T, key store.Key, after int64, kind store.Kind, streams ...string) *Write {
	t.Helper()
	entries := make([]store.Entry, len(streams))
	for i, id := range streams {
		entries[i] = store.Entry{Stream: id, Kind: kind}
	}
	b, err := index.New(entries)
	if err != nil {
		t.Fatal(err)
	}
	w := &Write{Key: key, Batch: b, Entries: entries, Before: index.Thread{Last: after}}
	if err := b.Place(w.Before, make([]index.Stream, len(b.StreamIDs()))); err != nil {
		t.Fatal(err)
	}
	w.Thread = 7
	return w
}

func TestStates(t *testing.T) {
	var s states
	key := store.Key{Thread: "t"}
	s.keep(placed(t, key, 0, store.Event, "a", "b"), nil)

	if st, known := s.take(placed(t, key, 9, store.Event, "a"), 9); known || st != nil {
		t.Error("a state was used at another position")
	}
	s.keep(placed(t, key, 0, store.Event, "a", "b"), nil)
	w := placed(t, key, 2, store.Event, "b")
	st, known := s.take(w, 2)
	if !known || w.Thread != 7 || w.Before.Last != 2 || w.StreamsBefore[0].Last != 2 {
		t.Errorf("the state is %+v, %v", w, known)
	}
	if _, known := s.take(w, 2); known {
		t.Error("a state was used twice")
	}

	// A stream that is not known or has ended must be loaded.
	s.keep(placed(t, key, 2, store.End, "b"), st)
	st, known = s.take(placed(t, key, 3, store.Event, "a", "b"), 3)
	if known || st == nil {
		t.Errorf("the state is %+v, %v", st, known)
	}
	s.keep(placed(t, key, 3, store.Event, "c"), st)
	if _, known := s.take(placed(t, key, 4, store.Event, "a", "c"), 4); !known {
		t.Error("the state of a stream was lost")
	}
}

// TestStatesLimit checks how much is kept.
func TestStatesLimit(t *testing.T) {
	var s states
	for i := range 2*maxStates + 1 {
		s.keep(placed(t, store.Key{Thread: fmt.Sprint(i)}, 0, store.Event, "a"), nil)
		if len(s.all) > maxStates {
			t.Fatalf("%d states are kept", len(s.all))
		}
	}
	key := store.Key{Thread: "t"}
	for i := range int64(2 * maxStreams) {
		st, _ := s.take(placed(t, key, i, store.Event, "new"), i)
		s.keep(placed(t, key, i, store.Event, fmt.Sprint(i)), st)
		if n := len(s.all[key].streams); n > maxStreams {
			t.Fatalf("%d streams are kept", n)
		}
	}
}

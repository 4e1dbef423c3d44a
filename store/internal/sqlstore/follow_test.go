package sqlstore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/index"
)

// TestFollowers checks which followers are woken, and that the watch runs only while there
// are any.
func TestFollowers(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	fails := make(chan error)
	s := followers{watch: func(ctx context.Context, wake func(store.Key)) error {
		began <- struct{}{}
		defer func() { ended <- struct{}{} }()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-fails:
			return err
		}
	}}
	thread := func(id string) store.Key { return store.Key{Tenant: "t", Thread: id} }
	one, two, missing := s.add(thread("1")), s.add(thread("2")), s.add(thread("3"))
	<-began
	s.saw(one, found{id: 1, last: 4}, nil)
	s.saw(two, found{id: 2, last: 5}, nil)
	s.saw(missing, found{}, store.ErrNoThread)
	woken := func() (w [3]bool) {
		for i, f := range []*follower{one, two, missing} {
			select {
			case <-f.woken:
				w[i] = true
			default:
			}
		}
		return w
	}
	for id, want := range map[string][3]bool{"1": {true, false, false}, "2": {false, true, false}, "3": {false, false, true}, "4": {}} {
		s.wake(thread(id))
		s.wake(thread(id))
		if got := woken(); got != want {
			t.Errorf("thread %s: %v, want %v", id, got, want)
		}
		if got := woken(); got != [3]bool{} {
			t.Errorf("thread %s: woken again: %v", id, got)
		}
	}
	s.wakeAll()
	if got := woken(); got != [3]bool{true, true, true} {
		t.Errorf("all: %v", got)
	}
	same := map[store.Key]found{thread("1"): {id: 1, last: 4}, thread("2"): {id: 2, last: 5}}
	for name, test := range map[string]struct {
		change func(now map[store.Key]found, gone map[store.Key]bool)
		want   [3]bool
	}{
		"nothing":   {func(map[store.Key]found, map[store.Key]bool) {}, [3]bool{}},
		"an append": {func(now map[store.Key]found, _ map[store.Key]bool) { now[thread("1")] = found{id: 1, last: 5} }, [3]bool{0: true}},
		"other bytes": {func(now map[store.Key]found, _ map[store.Key]bool) {
			now[thread("2")] = found{id: 2, last: 5, bytes: 1}
		}, [3]bool{1: true}},
		"a new thread": {func(now map[store.Key]found, _ map[store.Key]bool) { now[thread("3")] = found{id: 3} }, [3]bool{2: true}},
		"a lost one":   {func(now map[store.Key]found, _ map[store.Key]bool) { delete(now, thread("1")) }, [3]bool{0: true}},
		"a deletion":   {func(_ map[store.Key]found, gone map[store.Key]bool) { gone[thread("2")] = true }, [3]bool{1: true}},
	} {
		now, gone := maps.Clone(same), map[store.Key]bool{}
		test.change(now, gone)
		s.wakeChanged(s.keys(), now, gone)
		if got := woken(); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	s.saw(one, found{}, errors.New("the database was away"))
	s.wakeChanged(s.keys(), same, nil)
	if got := woken(); got != [3]bool{0: true} {
		t.Errorf("after an error: %v", got)
	}
	s.remove(one)
	s.remove(one)
	s.remove(two)
	s.remove(missing)
	<-ended
	// An error of the watch ends all followers, and the next follower begins another watch.
	one, two = s.add(thread("1")), s.add(thread("1"))
	<-began
	broken := errors.New("broken")
	fails <- broken
	<-ended
	for _, f := range []*follower{one, two} {
		if <-f.ended; s.reason(f) != broken {
			t.Error(s.reason(f))
		}
		s.remove(f)
	}
	one = s.add(thread("1"))
	<-began
	s.close()
	<-ended
	<-one.ended
	if two = s.add(thread("1")); s.reason(two) == nil {
		t.Error("a follower of a closed log")
	}
	<-two.ended
}

// TestBatches checks which appends of this process a follower gets without looking at the database.
func TestBatches(t *testing.T) {
	t.Parallel()
	key := store.Key{Thread: "t"}
	at := func(last int64) found { return found{id: min(last, 1), last: last, bytes: last, updated: 10 * last} }
	// appended adds one entry after a position, of a number of bytes.
	appended := func(s *followers, after int64, bytes int) {
		w := &Write{
			Key: key, Thread: 1, Before: index.Thread{Last: after, Bytes: after}, UpdatedBefore: 10 * after, Now: 10 * (after + 1),
			Entries: []store.Entry{{Stream: "s", Kind: store.Event, Data: make([]byte, bytes)}},
			Batch:   &index.Batch{Thread: index.Thread{Last: after + 1, Bytes: after + int64(bytes)}, Rows: make([]index.Row, 1)},
		}
		s.appended(w, min(after, 1))
	}
	for name, test := range map[string]struct {
		do   func(*followers, *follower)
		want []int64 // the positions of the batches
		look bool
	}{
		"a new thread":           {func(s *followers, f *follower) { appended(s, 0, 1) }, []int64{1}, false},
		"several":                {func(s *followers, f *follower) { appended(s, 0, 1); appended(s, 1, 1) }, []int64{1, 2}, false},
		"in another order":       {func(s *followers, f *follower) { appended(s, 1, 1); appended(s, 0, 1) }, []int64{1}, true},
		"a gap":                  {func(s *followers, f *follower) { appended(s, 0, 1); appended(s, 2, 1) }, []int64{1}, true},
		"of another process too": {func(s *followers, f *follower) { appended(s, 0, 1); s.wake(key) }, []int64{1}, true},
		"too large":              {func(s *followers, f *follower) { appended(s, 0, batchBytes+1) }, nil, true},
		"too much":               {func(s *followers, f *follower) { appended(s, 0, 1); appended(s, 1, batchBytes) }, []int64{1}, true},
		"seen before":            {func(s *followers, f *follower) { appended(s, 0, 1); s.saw(f, at(0), store.ErrNoThread) }, []int64{1}, false},
		"seen between":           {func(s *followers, f *follower) { appended(s, 0, 1); appended(s, 1, 1); s.saw(f, at(1), nil) }, []int64{2}, false},
		"seen after":             {func(s *followers, f *follower) { appended(s, 0, 1); s.saw(f, at(1), nil) }, nil, false},
		"seen later":             {func(s *followers, f *follower) { appended(s, 0, 1); s.saw(f, at(5), nil); appended(s, 5, 1) }, []int64{6}, false},
		"away": {func(s *followers, f *follower) {
			appended(s, 0, 1)
			s.saw(f, found{}, errors.New("away"))
			appended(s, 1, 1)
		}, nil, true},
	} {
		s := followers{watch: func(ctx context.Context, _ func(store.Key)) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		f := s.add(key)
		if batches, look := s.take(f); len(batches) > 0 || !look {
			t.Fatal("a new follower does not look at the database")
		}
		s.saw(f, found{}, store.ErrNoThread)
		test.do(&s, f)
		batches, look := s.take(f)
		var got []int64
		for _, b := range batches {
			b.each(func(e *store.Entry) bool {
				got = append(got, e.Position)
				return true
			})
		}
		if !slices.Equal(got, test.want) || look != test.look {
			t.Errorf("%s: the batches %v, looks: %t; want %v, %t", name, got, look, test.want, test.look)
		}
		if f.bytes != 0 {
			t.Errorf("%s: %d bytes are left", name, f.bytes)
		}
		s.remove(f)
	}
}

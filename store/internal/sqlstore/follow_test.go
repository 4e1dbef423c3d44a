package sqlstore

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/p20export/p20export/store"
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

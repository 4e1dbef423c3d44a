package sqlstore

import (
	"context"
	"errors"
	"testing"
)

// TestFollowers checks which followers are woken, and that the watch runs only while there
// are any.
func TestFollowers(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	fails := make(chan error)
	s := followers{watch: func(ctx context.Context, wake func(int64)) error {
		began <- struct{}{}
		defer func() { ended <- struct{}{} }()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-fails:
			return err
		}
	}}
	one, two, unknown := s.add(), s.add(), s.add()
	<-began
	s.setThread(one, 1)
	s.setThread(two, 2)
	woken := func() (w [3]bool) {
		for i, f := range []*follower{one, two, unknown} {
			select {
			case <-f.woken:
				w[i] = true
			default:
			}
		}
		return w
	}
	for _, test := range []struct {
		thread int64
		want   [3]bool
	}{{1, [3]bool{true, false, true}}, {2, [3]bool{false, true, true}}, {3, [3]bool{false, false, true}}, {0, [3]bool{true, true, true}}} {
		s.wake(test.thread)
		s.wake(test.thread)
		if got := woken(); got != test.want {
			t.Errorf("thread %d: %v, want %v", test.thread, got, test.want)
		}
		if got := woken(); got != [3]bool{} {
			t.Errorf("thread %d: woken again: %v", test.thread, got)
		}
	}
	s.remove(one)
	s.remove(one)
	s.remove(two)
	s.remove(unknown)
	<-ended
	// An error of the watch ends all followers, and the next follower begins another watch.
	one, two = s.add(), s.add()
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
	one = s.add()
	<-began
	s.close()
	<-ended
	<-one.ended
	if two = s.add(); s.reason(two) == nil {
		t.Error("a follower of a closed log")
	}
	<-two.ended
}

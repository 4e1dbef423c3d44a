package seal_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

// unreadable is a log whose entries cannot be read.
type unreadable struct {
	store.Log
	err error
}

func (l unreadable) Read(context.Context, store.Key, int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) { yield(nil, l.err) }
}

// TestUnreadable verifies a thread whose first entry cannot be read. The hashing of entries
// may not have begun when it is stopped.
func TestUnreadable(t *testing.T) {
	log, policy, broken := memory.New(), seal.Policy{Trust: trustIn(t)}, errors.New("broken")
	appendAll(t, log, thread, events("r", 2))
	for range 1000 {
		if _, err := policy.Verify(t.Context(), unreadable{log, broken}, thread); !errors.Is(err, broken) {
			t.Fatalf("Verify: %v", err)
		}
	}
}

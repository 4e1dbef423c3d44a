// Package leases has leases that a process keeps in its memory, for logs that only one process
// can hold leases of.
package leases

import (
	"context"
	"sync"

	"github.com/p20export/p20export/store"
)

// Set has the leases of a log by name. Its zero value has none.
type Set struct {
	mu      sync.Mutex
	holders map[string]*holder
}

// Holder returns a holder of leases of the set. Close of the holder calls end once, if it is
// not nil.
func (s *Set) Holder(end func() error) store.Leases { return &holder{set: s, end: end} }

type holder struct {
	set    *Set
	end    func() error
	closed bool // guarded by set.mu
}

// Take implements store.Leases.
func (h *holder) Take(ctx context.Context, name string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	h.set.mu.Lock()
	defer h.set.mu.Unlock()
	if h.closed {
		return false, store.ErrClosed
	}
	if h.set.holders[name] != nil {
		return false, nil
	}
	if h.set.holders == nil {
		h.set.holders = make(map[string]*holder)
	}
	h.set.holders[name] = h
	return true, nil
}

// Release implements store.Leases.
func (h *holder) Release(name string) {
	h.set.mu.Lock()
	defer h.set.mu.Unlock()
	if h.set.holders[name] == h {
		delete(h.set.holders, name)
	}
}

// Close implements store.Leases.
func (h *holder) Close() error {
	h.set.mu.Lock()
	closed := h.closed
	h.closed = true
	for name, other := range h.set.holders {
		if other == h {
			delete(h.set.holders, name)
		}
	}
	h.set.mu.Unlock()
	if closed || h.end == nil {
		return nil
	}
	return h.end()
}

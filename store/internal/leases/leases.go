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
	holders map[string]map[*holder]mode
}

// Holder returns a holder of leases of the set. Close of the holder calls end once, if it is
// not nil.
func (s *Set) Holder(end func() error) store.Leases { return &holder{set: s, end: end} }

// mode says how a holder has a lease.
type mode bool

const (
	exclusive mode = false
	sharing   mode = true
)

type holder struct {
	set    *Set
	end    func() error
	closed bool // guarded by set.mu
}

// Take implements store.Leases.
func (h *holder) Take(ctx context.Context, name string) (bool, error) {
	return h.have(ctx, name, exclusive)
}

// Share implements store.Leases.
func (h *holder) Share(ctx context.Context, name string) (bool, error) {
	return h.have(ctx, name, sharing)
}

func (h *holder) have(ctx context.Context, name string, how mode) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	h.set.mu.Lock()
	defer h.set.mu.Unlock()
	if h.closed {
		return false, store.ErrClosed
	}
	for other, has := range h.set.holders[name] {
		if how == exclusive || has == exclusive || other == h {
			return false, nil
		}
	}
	if h.set.holders == nil {
		h.set.holders = make(map[string]map[*holder]mode)
	}
	if h.set.holders[name] == nil {
		h.set.holders[name] = make(map[*holder]mode)
	}
	h.set.holders[name][h] = how
	return true, nil
}

// Release implements store.Leases.
func (h *holder) Release(name string) {
	h.set.mu.Lock()
	defer h.set.mu.Unlock()
	h.set.release(name, h)
}

// release gives back what a holder has. The caller holds s.mu.
func (s *Set) release(name string, h *holder) {
	if delete(s.holders[name], h); len(s.holders[name]) == 0 {
		delete(s.holders, name)
	}
}

// Close implements store.Leases.
func (h *holder) Close() error {
	h.set.mu.Lock()
	closed := h.closed
	h.closed = true
	for name := range h.set.holders {
		h.set.release(name, h)
	}
	h.set.mu.Unlock()
	if closed || h.end == nil {
		return nil
	}
	return h.end()
}

package serve

import (
	"context"
	"sync"
)

// A counter counts, and lets one goroutine wait until it is zero. Unlike with a
// sync.WaitGroup, it may grow meanwhile.
type counter struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // nil unless somebody waits
}

func (c *counter) add(delta int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n += delta; c.n == 0 && c.zero != nil {
		close(c.zero)
		c.zero = nil
	}
}

// wait waits until the count is zero, or ctx is done.
func (c *counter) wait(ctx context.Context) {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return
	}
	zero := make(chan struct{})
	c.zero = zero
	c.mu.Unlock()
	select {
	case <-zero:
	case <-ctx.Done():
	}
}

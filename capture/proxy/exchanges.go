package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// The causes for which a Proxy or a Caller itself refuses or ends an exchange.
var (
	ErrBusy    = errors.New("too many exchanges are open")
	ErrTimeout = errors.New("the time limit of the exchange was reached")
	ErrDrained = errors.New("the exchange was ended at shutdown")
)

// exchanges are the open exchanges of a Proxy or a Caller.
type exchanges struct {
	most int

	mu       sync.Mutex
	open     map[any]context.CancelCauseFunc
	draining bool
	drained  chan struct{} // closed when draining and nothing is open
}

func newExchanges(most int) *exchanges {
	return &exchanges{most: most, open: map[any]context.CancelCauseFunc{}, drained: make(chan struct{})}
}

// add adds an exchange. It returns ErrBusy if there are too many, and ErrDrained after the
// call of drain.
func (e *exchanges) add(x any, cancel context.CancelCauseFunc) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.draining:
		return ErrDrained
	case len(e.open) >= e.most:
		return ErrBusy
	}
	e.open[x] = cancel
	return nil
}

// remove removes an exchange that is over.
func (e *exchanges) remove(x any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.open, x)
	if e.draining && len(e.open) == 0 {
		close(e.drained)
	}
}

// DrainError reports that Drain had to end exchanges, or that captures were not closed.
type DrainError struct {
	Ended  int // exchanges that were ended, and recorded as cancelled
	Unsure int // captures that were not closed in time
}

func (e *DrainError) Error() string {
	return fmt.Sprintf("%d exchanges were ended, and %d captures were not closed", e.Ended, e.Unsure)
}

// storeGrace is the time for which drain waits for captures after its context is done.
const storeGrace = 10 * time.Second

// drain implements Drain of Proxy and of Caller. The recorder may be nil.
func (e *exchanges) drain(ctx context.Context, r *Recorder) error {
	e.mu.Lock()
	if !e.draining {
		e.draining = true
		if len(e.open) == 0 {
			close(e.drained)
		}
	}
	e.mu.Unlock()
	var cut DrainError
	select {
	case <-e.drained:
	case <-ctx.Done():
		cut.Ended = e.endAll()
		select {
		case <-e.drained:
		case <-time.After(storeGrace):
		}
	}
	if r != nil {
		cut.Unsure = r.Wait(ctx, storeGrace)
	}
	if cut.Ended != 0 || cut.Unsure != 0 {
		return &cut
	}
	return nil
}

// endAll ends the open exchanges and returns their number.
func (e *exchanges) endAll() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, cancel := range e.open {
		cancel(ErrDrained)
	}
	return len(e.open)
}

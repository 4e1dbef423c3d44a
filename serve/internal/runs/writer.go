package runs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// appendError reports that the events of a run cannot be appended.
type appendError struct{ error }

func (e *appendError) Unwrap() error { return e.error }

// errStoreTimeout means that the log has failed for too long.
var errStoreTimeout = errors.New("the log failed for too long")

const (
	// appendTime limits one attempt to append.
	appendTime = 30 * time.Second
	// retryFirst and retryMost are the least and the most time between two attempts.
	retryFirst = 50 * time.Millisecond
	retryMost  = 5 * time.Second
	// largeEvent is the size of events before which everything is appended. A transfer.Stream
	// gives up if much waits for a log that fails, but an event that waits alone can have any
	// size.
	largeEvent = 1 << 20
)

// A writer appends the events of a run. While the log fails it tries again, and the agent has
// to wait: at most as much is in memory as one append takes.
type writer struct {
	ctx      context.Context // of the process, not of the exchange
	stream   *transfer.Stream
	observer Observer
	log      *slog.Logger
	most     time.Duration   // Limits.StoreTimeout
	cut      <-chan struct{} // closed when the process waits no longer for a log that fails
	waiting  int             // events that were not appended yet
	began    time.Time       // when the first of them was added
	busy     time.Time       // when the last call of event or flush returned
	rested   time.Time       // when the last pause ended
	slowest  time.Duration   // the longest call of event or flush since then
}

// While events are added without a pause of restLeast, there is one after restEvery times its
// length. Otherwise nobody else could end the run: an append fails if the thread has a later
// entry than its caller has seen. Whoever wants to end it reads and appends twice in a pause,
// which takes about as long as that many appends of the run, however slow the machine and
// the log are.
const (
	restEvery   = 20
	restAppends = 8
	restLeast   = 50 * time.Millisecond
	restMost    = 5 * time.Second
)

// event adds an event.
func (w *writer) event(data []byte, arrived time.Time) error {
	w.rest()
	began := time.Now()
	defer func() { w.was(time.Since(began)) }()
	if len(data) >= largeEvent {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.waiting++; w.waiting == 1 {
		w.began = time.Now()
	}
	ctx, cancel := context.WithTimeout(w.ctx, appendTime)
	defer cancel()
	err := w.stream.Event(ctx, data, arrived)
	if err == nil {
		return nil
	}
	if errors.Is(err, transfer.ErrWaiting) {
		return &appendError{err}
	}
	return w.flush() // the event was added
}

// completed appends an event that the agent did not complete.
func (w *writer) completed(data []byte, arrived time.Time) error {
	if err := w.flush(); err != nil {
		return err
	}
	w.waiting, w.began = 1, time.Now()
	ctx, cancel := context.WithTimeout(w.ctx, appendTime)
	defer cancel()
	if err := w.stream.Closing(ctx, data, arrived); errors.Is(err, transfer.ErrWaiting) {
		return &appendError{err}
	}
	return w.flush() // the event was added
}

// flush appends the events that wait.
func (w *writer) flush() error {
	if w.waiting == 0 {
		return nil
	}
	began := time.Now()
	defer func() { w.was(time.Since(began)) }()
	err := w.persist(w.stream.Flush)
	if err == nil {
		w.observer.Appended(w.waiting, time.Since(w.began))
		w.waiting = 0
	}
	return err
}

// was notes that a call of event or flush took some time and is about to return.
func (w *writer) was(took time.Duration) {
	w.busy = time.Now()
	w.slowest = max(w.slowest, took)
}

// rest waits if events have been added for long without a pause.
func (w *writer) rest() {
	now := time.Now()
	pause := min(max(restLeast, restAppends*w.slowest), restMost)
	switch {
	case now.Sub(w.busy) >= restLeast:
		w.rested = now
	case now.Sub(w.rested) >= restEvery*pause:
		select {
		case <-w.ctx.Done():
		case <-w.cut:
		case <-time.After(pause):
		}
		w.rested, w.slowest = time.Now(), 0
	}
}

// persist calls an operation on the log until it succeeds, until its error is one that
// remains, or until the log has failed for too long. The error is then an *appendError. After
// w.cut is closed, it tries once.
func (w *writer) persist(do func(context.Context) error) error {
	var since time.Time
	for pause := retryFirst; ; pause = min(2*pause, retryMost) {
		last := isClosed(w.cut)
		ctx, cancel := context.WithTimeout(w.ctx, appendTime)
		err := do(ctx)
		cancel()
		switch {
		case err == nil:
			if !since.IsZero() {
				w.log.Info("the log works again; the run goes on", "failed_for", time.Since(since))
			}
			return nil
		case remains(err):
			return &appendError{err}
		case w.ctx.Err() != nil:
			return &appendError{context.Cause(w.ctx)}
		}
		w.observer.AppendFailed(err)
		if since.IsZero() {
			since = time.Now()
			w.log.Warn("events cannot be appended to the log; the run waits for it", "error", err)
		}
		if last || time.Since(since) >= w.most {
			w.log.Error("the log failed for too long; the run is ended, and closed in the log when that works again", "failed_for", time.Since(since), "error", err)
			return &appendError{fmt.Errorf("%w: %w", errStoreTimeout, err)}
		}
		select {
		case <-w.ctx.Done():
		case <-w.cut:
		case <-time.After(pause):
		}
	}
}

// remains reports whether an error of the log would occur again.
func remains(err error) bool {
	for _, target := range []error{transfer.ErrEnded, transfer.ErrWaiting, store.ErrDeleted, store.ErrRewound, store.ErrEntry, store.ErrKey, store.ErrClosed} {
		if errors.Is(err, target) {
			return true
		}
	}
	var different *transfer.DifferenceError
	return errors.As(err, &different)
}

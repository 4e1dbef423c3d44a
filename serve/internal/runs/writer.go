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
	takes    time.Duration   // the mean time of the last appends
}

// While events are added without a pause that is as long as restAppends appends to the log
// take, and at least restLeast, there is one of that length after restEvery times as long, and
// at least restAfter. Otherwise nobody else could end the run: an append fails if the thread
// has a later entry than its caller has seen. Whoever wants to end it reads and appends in
// the pause, however slow the machine and the log are.
const (
	restAppends = 4
	restLeast   = 20 * time.Millisecond
	restMost    = 5 * time.Second
	restEvery   = 10
	restAfter   = time.Second
)

// A timedLog is the log of a writer, which notes how long its appends take.
type timedLog struct {
	store.Log
	writer *writer
}

// Append implements store.Log.
func (l timedLog) Append(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
	began := time.Now()
	last, err := l.Log.Append(ctx, key, after, entries)
	l.writer.takes += (time.Since(began) - l.writer.takes) / 8
	return last, err
}

func newWriter(r *Runs, log *slog.Logger, s transfer.StreamSettings) *writer {
	w := &writer{ctx: r.ctx, observer: r.settings.Observer, log: log, most: r.settings.Limits.StoreTimeout, cut: r.cut}
	w.stream = transfer.NewStream(timedLog{r.log, w}, s)
	return w
}

// event adds an event.
func (w *writer) event(data []byte, arrived time.Time) error {
	w.rest()
	defer func() { w.busy = time.Now() }()
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
	defer func() { w.busy = time.Now() }()
	err := w.persist(w.stream.Flush)
	if err == nil {
		w.observer.Appended(w.waiting, time.Since(w.began))
		w.waiting = 0
	}
	return err
}

// rest waits if events have been added for long without a pause.
func (w *writer) rest() {
	now := time.Now()
	pause := min(max(restLeast, restAppends*w.takes), restMost)
	switch {
	case now.Sub(w.busy) >= pause:
		w.rested = now
	case now.Sub(w.rested) >= max(restAfter, restEvery*pause):
		select {
		case <-w.ctx.Done():
		case <-w.cut:
		case <-time.After(pause):
		}
		w.rested = time.Now()
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

package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/p20export/p20export/store"
)

// watched is a log whose calls are limited in time. It tells its Logger whether the log can
// be used. It is not safe for concurrent use.
type watched struct {
	store.Log
	logger *Logger
	live   bool
	failed error // the last error that is the fault of the log
}

func (l *Logger) watch(live bool) *watched { return &watched{Log: l.events, logger: l, live: live} }

// errSlow reports that a call of the event log took too long.
var errSlow = errors.New("the event log does not answer in time")

// call calls the log and notes whether it can be used.
func (w *watched) call(ctx context.Context, call func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, w.logger.timeout)
	defer cancel()
	err := call(limited)
	if err != nil && (limited.Err() != nil || errors.Is(err, context.DeadlineExceeded)) { // a log may have limits of its own
		err = fmt.Errorf("%w: %w", errSlow, err)
	}
	return w.see(ctx, err)
}

// see keeps an error of a call if it is the fault of the log. The context is that of the
// caller.
func (w *watched) see(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, fault := range []error{store.ErrConflict, store.ErrDeleted, store.ErrRewound, store.ErrNoThread, store.ErrKey, store.ErrEntry} {
		if errors.Is(err, fault) {
			return err
		}
	}
	w.failed = err
	w.logger.unavailable(err)
	return err
}

// Append implements store.Log.
func (w *watched) Append(ctx context.Context, key store.Key, after int64, entries []store.Entry) (last int64, err error) {
	began := time.Now()
	err = w.call(ctx, func(ctx context.Context) (err error) {
		last, err = w.Log.Append(ctx, key, after, entries)
		return err
	})
	if err == nil {
		w.logger.has(key, last)
		w.logger.available(began)
		w.logger.observer.LogAppended(len(entries), w.live)
	}
	return last, err
}

// Thread implements store.Log.
func (w *watched) Thread(ctx context.Context, key store.Key) (t store.Thread, err error) {
	had := w.logger.had(key) // first: the log has at least as much
	err = w.call(ctx, func(ctx context.Context) (err error) {
		t, err = w.Log.Thread(ctx, key)
		return err
	})
	if t.Last < had && (err == nil || errors.Is(err, store.ErrNoThread)) {
		w.logger.rewound(key)
	}
	return t, err
}

// Stream implements store.Log.
func (w *watched) Stream(ctx context.Context, key store.Key, id string) (s store.Stream, err error) {
	err = w.call(ctx, func(ctx context.Context) (err error) {
		s, err = w.Log.Stream(ctx, key, id)
		return err
	})
	return s, err
}

// Read implements store.Log. The time is limited from one entry to the next.
func (w *watched) Read(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		limited, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(w.logger.timeout, func() { cancel(errSlow) })
		defer timer.Stop()
		for e, err := range w.Log.Read(limited, key, after) {
			timer.Reset(w.logger.timeout)
			if !yield(e, w.see(ctx, err)) {
				return
			}
		}
	}
}

// unavailable notes that the event log cannot be used. The log says so once.
func (l *Logger) unavailable(err error) {
	l.observer.LogFailed()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = time.Now()
	if !l.failing {
		l.failing = true
		l.log.Error("the event log cannot be used; captures are appended when it can be used again",
			"error", strings.Join(strings.Fields(err.Error()), " ")) // that of a connection can have several lines
	}
}

// maxKnown is the number of threads whose last position is known.
const maxKnown = 10_000

// has notes that the event log has a thread up to a position.
func (l *Logger) has(key store.Key, last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) >= maxKnown {
		clear(l.known)
	}
	l.known[key] = max(l.known[key], last)
}

// had returns a position up to which the event log had a thread, or 0.
func (l *Logger) had(key store.Key) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[key]
}

// rewound notes that a thread of the event log has lost entries. Others may have, too, so all
// captures are compared with it again.
func (l *Logger) rewound(key store.Key) {
	l.mu.Lock()
	_, had := l.known[key]
	delete(l.known, key)
	l.mu.Unlock()
	if !had {
		return // it was noticed before
	}
	l.observer.LogRewound()
	l.log.Error("the event log was rewound: it is an older copy, or its server lost the last transactions; all captures are compared with it again", "thread", key.Thread)
	l.backlog.all()
	l.awake()
}

// available notes that something was appended. If that began before the last failure, it
// does not show that the event log can be used again.
func (l *Logger) available(began time.Time) {
	l.appended.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failing && began.After(l.failed) {
		l.failing = false
		l.log.Info("the event log can be used again")
	}
}

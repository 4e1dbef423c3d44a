package service

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

// SealObserver receives what a Sealer does. Its methods are called concurrently and must not
// block.
type SealObserver interface {
	// ThreadSealed is called when a seal was added to a thread.
	ThreadSealed()
	// SealFailed is called when a thread could not be sealed. It is tried again.
	SealFailed()
	// ThreadRewritten is called when the entries of a thread are not those that were sealed.
	// The thread is not sealed again.
	ThreadRewritten()
}

// SealerSettings are the settings of a Sealer.
type SealerSettings struct {
	// Seal says how threads are sealed.
	Seal *seal.Settings
	// Events is the log. The Sealer does not close it.
	Events store.Log
	// Tenant is the tenant whose threads are sealed at the start, or nil for all.
	Tenant   *string
	Log      *slog.Logger
	Observer SealObserver
}

// Sealer seals the threads of a log in the background when runs of them end: see Watch. It
// seals one thread at a time, and a thread once for all runs that have ended meanwhile.
//
// At the start, it seals the threads that were changed lately and have entries that no seal
// covers: the process before may have been killed.
type Sealer struct {
	SealerSettings
	queue *unsealed

	wake  chan struct{} // something was added
	last  chan struct{} // closed by Finish
	ctx   context.Context
	stop  context.CancelFunc
	ended chan struct{}
	grace time.Duration // finishTime, except in tests
}

const (
	// sealDelay is the time from the end of a run until its thread is sealed. The end of the
	// stream mostly follows the end of the run by less, so both are in one seal.
	sealDelay = 250 * time.Millisecond
	// maxSealPause is the longest time between two tries to seal a thread.
	maxSealPause = time.Minute
	// sealTimeout limits the time to seal one thread: a log, a witness or a signer may hang.
	sealTimeout = 10 * time.Minute
	// maxSealRest limits the rest after a thread was sealed, which is as long as that took, so
	// that sealing leaves at least half of a processor and of the log to the traffic.
	maxSealRest = 100 * time.Millisecond
	// sealedLately is the time before the start in which the threads were changed that are
	// sealed at the start.
	sealedLately = 24 * time.Hour
)

// NewSealer returns a Sealer.
func NewSealer(s SealerSettings) *Sealer {
	v := &Sealer{
		SealerSettings: s, queue: newUnsealed(time.Now().Add(-sealedLately)), grace: finishTime,
		wake: make(chan struct{}, 1), last: make(chan struct{}), ended: make(chan struct{}),
	}
	v.ctx, v.stop = context.WithCancel(context.Background())
	return v
}

// Add adds a thread in which a run has ended. It never blocks. After Finish it may have no
// effect.
func (s *Sealer) Add(key store.Key) {
	s.queue.add(key)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Behind returns the number of threads that are known to wait for a seal, and the time for
// which the first of them has waited.
func (s *Sealer) Behind() (threads int, behind time.Duration) {
	threads, since := s.queue.size()
	if since.IsZero() {
		return 0, 0
	}
	return threads, time.Since(since)
}

// Start starts sealing in the background.
func (s *Sealer) Start() { go s.run() }

func (s *Sealer) run() {
	defer close(s.ended)
	for last := false; s.ctx.Err() == nil; {
		w, later := s.queue.next()
		rest := time.Duration(0)
		switch {
		case w != nil:
			began := time.Now()
			s.seal(w)
			rest = min(max(time.Since(began), time.Microsecond), maxSealRest)
		case s.search():
			continue
		case last:
			return
		}
		if !last && s.wait(rest, later) {
			last = true
			s.queue.finish()
		}
	}
}

// wait waits for a rest, or, if that is zero, for a time, which may be zero, or for what is
// added. It returns at once when Finish is called, which it reports.
func (s *Sealer) wait(rest time.Duration, until time.Time) (last bool) {
	wake := s.wake
	var timer <-chan time.Time
	switch {
	case rest > 0:
		timer, wake = time.After(rest), nil
	case !until.IsZero():
		timer = time.After(time.Until(until))
	}
	select {
	case <-s.ctx.Done():
	case <-timer:
	case <-wake:
	case <-s.last:
		return true
	}
	return false
}

// Finish seals what waits, until ctx is done and a moment longer, because runs may have been
// ended just then. It must be called once, after Start, when nothing is appended any more.
func (s *Sealer) Finish(ctx context.Context) {
	close(s.last)
	if !within(ctx, s.ended, s.grace) {
		s.stop()
		if !within(s.ctx, s.ended, s.grace) {
			s.Log.Error("sealing hangs; it was not ended")
		}
	}
	s.stop()
	if s.queue.incomplete() {
		s.Log.Warn("some threads may not be sealed; the next start seals them")
	}
}

// within waits for a channel until ctx is done and a time longer, and reports whether the
// channel was closed.
func within(ctx context.Context, done <-chan struct{}, longer time.Duration) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	t := time.NewTimer(longer)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// logger returns the logger with what identifies a thread.
func (s *Sealer) logger(key store.Key) *slog.Logger {
	l := s.Log.With("thread", key.Thread)
	if key.Tenant != "" {
		l = l.With("tenant", key.Tenant)
	}
	return l
}

// seal seals a thread. If that fails, the thread waits again.
func (s *Sealer) seal(w *waiting) {
	ctx, cancel := context.WithTimeoutCause(s.ctx, sealTimeout, errSealSlow)
	defer cancel()
	sealed, err := s.Seal.Seal(ctx, s.Events, w.key)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	found, _ := errors.AsType[finding.Finding](err)
	switch {
	case err == nil:
		s.queue.done()
		if sealed.New {
			s.Observer.ThreadSealed()
			s.logger(w.key).Info("thread sealed", "entries", sealed.Seal.Size)
		}
	case s.ctx.Err() != nil:
		s.queue.again()
	case errors.Is(err, store.ErrDeleted), errors.Is(err, store.ErrNoThread):
		s.queue.done()
	case found.Code == finding.ThreadRewritten, found.Code == finding.ThreadCutOff, found.Code == finding.ThreadDamaged:
		s.queue.refuse()
		s.Observer.ThreadRewritten()
		s.logger(w.key).Error("THE THREAD WAS REWRITTEN: its entries are not those that were sealed; this process does not seal it any more", "code", string(found.Code), "reason", found.Message)
	default:
		s.Observer.SealFailed()
		if w.tries == 0 {
			s.logger(w.key).Error("thread not sealed; this is tried again", "reason", reasonOf(err))
		}
		s.queue.again()
	}
}

// errSealSlow reports that sealing took too long.
var errSealSlow = errors.New("sealing took too long")

// reasonOf returns the text of an error in one line: that of a connection can have several.
func reasonOf(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// search continues the search for threads that have entries that no seal covers, as far as
// there is room. It reports whether there was a search.
func (s *Sealer) search() bool {
	search, room := s.queue.searching()
	if search == nil {
		return false
	}
	ctx, cancel := context.WithTimeoutCause(s.ctx, sealTimeout, errSealSlow)
	defer cancel()
	for t, err := range s.Events.Threads(ctx, store.ThreadQuery{Tenant: s.Tenant, From: search.from, After: search.after}) {
		if err != nil {
			if s.ctx.Err() == nil {
				s.Observer.SealFailed()
				s.Log.Error("threads without a seal cannot be searched for; this is tried again", "reason", reasonOf(err))
			}
			s.queue.searched(true)
			return true
		}
		if t.Sealed == t.Last {
			continue
		}
		s.queue.found(t.Key, t.UpdatedAt)
		if room--; room == 0 {
			return true
		}
	}
	s.queue.searched(false)
	return true
}

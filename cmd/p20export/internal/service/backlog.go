package service

import (
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// pending is a closed capture that an event log may lack.
type pending struct {
	name  string
	since time.Time
	after time.Time // of the next try
	tries int       // that failed for a reason of its own
	// failed reports that the event log failed in the last try, and appended is the number
	// of appends that had succeeded then.
	failed   bool
	appended int64
}

// backlog has the captures that an event log may lack. It keeps up to maxWaiting of them.
// The others are found in the store later.
type backlog struct {
	store *Store
	log   *slog.Logger

	mu      sync.Mutex
	waiting []pending
	current *pending // what next returned last, or nil
	// A search begins at the smallest name that had no room. Names begin with the time of
	// the exchange, so those before it need not be looked at.
	missed bool
	from   string
	since  time.Time
	search *search // nil if there is none
}

// search is a search for the captures in a store.
type search struct {
	next  func() (string, error, bool)
	stop  func()
	since time.Time
}

// newBacklog returns a backlog with all closed captures of a store.
func newBacklog(store *Store, log *slog.Logger) *backlog {
	return &backlog{store: store, log: log, missed: true, since: time.Now()}
}

// add adds a capture that was closed now.
func (b *backlog) add(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(b.waiting) < maxWaiting:
		b.waiting = append(b.waiting, pending{name: name, since: time.Now()})
	case !b.missed:
		b.missed, b.from, b.since = true, name, time.Now()
	default:
		b.from = min(b.from, name)
	}
}

// all adds all closed captures of the store.
func (b *backlog) all() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.missed {
		b.since = time.Now()
	}
	b.missed, b.from = true, ""
}

// again adds a capture that next returned. It is to be tried again after a time.
func (b *backlog) again(p *pending, pause time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.after = time.Now().Add(pause)
	b.waiting = append(b.waiting, *p)
	b.current = nil
}

// done ends the work on the capture that next returned.
func (b *backlog) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current = nil
}

// next returns the next capture to try. If there is none now, it returns nil and the time
// after which there is one, which is zero if the backlog is empty.
func (b *backlog) next() (p *pending, later time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for i := range b.waiting {
		if after := b.waiting[i].after; !after.After(now) {
			p := b.waiting[i]
			b.waiting = slices.Delete(b.waiting, i, i+1)
			b.current = &p
			return b.current, time.Time{}
		} else if later.IsZero() || after.Before(later) {
			later = after
		}
	}
	if len(b.waiting) < maxWaiting {
		b.current = b.find()
	}
	return b.current, later
}

// find returns the next capture of the search, or nil if there is none.
func (b *backlog) find() *pending {
	for {
		if b.search == nil {
			if !b.missed {
				return nil
			}
			next, stop := iter.Pull2(b.store.closed(b.from))
			b.search = &search{next, stop, b.since}
			b.missed, b.from = false, ""
		}
		name, err, more := b.search.next()
		if more && err == nil {
			return &pending{name: name, since: b.search.since}
		}
		if err != nil {
			b.log.Error("cannot list the captures for the event log", "error", err)
		}
		b.search.stop()
		b.search = nil
	}
}

// close ends the search.
func (b *backlog) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.search != nil {
		b.search.stop()
		b.search, b.missed = nil, true
	}
}

// size returns the number of captures that are known to wait, and since when the first of
// all has waited. The time is zero if the backlog is empty.
func (b *backlog) size() (captures int, since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := func(t time.Time) {
		if since.IsZero() || t.Before(since) {
			since = t
		}
	}
	for _, p := range b.waiting {
		first(p.since)
	}
	if b.current != nil {
		first(b.current.since)
		captures++
	}
	if b.missed {
		first(b.since)
	}
	if b.search != nil {
		first(b.search.since)
	}
	return captures + len(b.waiting), since
}

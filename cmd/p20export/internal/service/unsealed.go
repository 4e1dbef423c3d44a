package service

import (
	"sync"
	"time"

	"github.com/p20export/p20export/store"
)

// waiting is a thread that waits for a seal.
type waiting struct {
	key   store.Key
	since time.Time
	after time.Time // of the next try
	tries int       // that failed
}

// unsealed has the threads that wait for a seal, up to maxWaiting. Others are searched for in
// the log later.
type unsealed struct {
	mu      sync.Mutex
	threads map[store.Key]*waiting
	current *waiting // what next returned last, or nil
	// rewritten has the threads that are not sealed again, up to maxRewritten.
	rewritten map[store.Key]bool

	// A search begins with the threads that were changed at from, if that is not zero, and
	// not before due. lost is the time since when the first thread has waited that had no
	// room, or zero.
	from, due, lost time.Time
	search          *unsealedSearch // nil if there is none

	final bool // each thread is tried once more
	left  int  // the threads for which that failed
}

// unsealedSearch is a search in the log.
type unsealedSearch struct {
	from, lost time.Time
	after      store.Key
}

const (
	// maxRewritten limits the memory for the threads that are not sealed again. If there are
	// more, they are found to be rewritten again.
	maxRewritten = 10_000
	// searchMargin is subtracted from the time of a thread that had no room.
	searchMargin = time.Minute
)

// newUnsealed returns an unsealed that first searches for the threads that were changed since
// a time.
func newUnsealed(from time.Time) *unsealed {
	return &unsealed{threads: make(map[store.Key]*waiting), rewritten: make(map[store.Key]bool), from: from, due: time.Now()}
}

// add adds a thread in which a run has ended now.
func (u *unsealed) add(key store.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	next := now.Add(sealDelay)
	switch w := u.threads[key]; {
	case u.rewritten[key]:
	case w != nil && next.Before(w.after):
		w.after = next
	case w != nil:
	case len(u.threads) >= maxWaiting && !u.evict():
		u.lose(now)
	default:
		u.threads[key] = &waiting{key: key, since: now, after: next}
	}
}

// evict makes room by removing a thread that could not be sealed. A search finds it again. It
// reports whether there was one. The caller holds u.mu.
func (u *unsealed) evict() bool {
	for key, w := range u.threads {
		if w.tries > 0 {
			delete(u.threads, key)
			u.lose(w.since)
			return true
		}
	}
	return false
}

// lose notes that a thread that has waited since a time has to be searched for. The caller
// holds u.mu.
func (u *unsealed) lose(since time.Time) {
	if u.lost.IsZero() || since.Before(u.lost) {
		u.lost = since
	}
	from := since.Add(-searchMargin)
	if u.from.IsZero() {
		u.from, u.due = from, time.Now().Add(maxSealPause)
	} else if from.Before(u.from) {
		u.from = from
	}
}

// finish begins the last phase, in which each thread is tried once, without waiting.
func (u *unsealed) finish() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.final, u.due = true, time.Time{}
}

// next returns the next thread to seal. If there is none now, it returns nil and the time of
// the next one or of the next search, which is zero if there is none.
func (u *unsealed) next() (next *waiting, later time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, w := range u.threads {
		if next == nil || w.after.Before(next.after) {
			next = w
		}
	}
	if next != nil {
		if u.final || !next.after.After(time.Now()) {
			delete(u.threads, next.key)
			u.current = next
			return next, time.Time{}
		}
		later = next.after
	}
	if !u.from.IsZero() && len(u.threads) < maxWaiting && (later.IsZero() || u.due.Before(later)) {
		later = u.due
	}
	return nil, later
}

// done ends the work on the thread that next returned.
func (u *unsealed) done() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.current = nil
}

// refuse ends the work on the thread that next returned, for good.
func (u *unsealed) refuse() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.rewritten) >= maxRewritten {
		clear(u.rewritten)
	}
	u.rewritten[u.current.key] = true
	delete(u.threads, u.current.key) // it may have been added meanwhile
	u.current = nil
}

// again lets the thread that next returned wait for another try.
func (u *unsealed) again() {
	u.mu.Lock()
	defer u.mu.Unlock()
	w := u.current
	u.current = nil
	if u.final {
		u.left++
		return
	}
	w.after = time.Now().Add(min(firstPause<<min(w.tries, 10), maxSealPause))
	w.tries++
	if added := u.threads[w.key]; added != nil { // meanwhile
		w.after = added.after
	} else if len(u.threads) >= maxWaiting {
		u.lose(w.since)
		return
	}
	u.threads[w.key] = w
}

// searching returns the search that is to be continued now, and how many threads it can find.
// It returns nil if there is none.
func (u *unsealed) searching() (s *unsealedSearch, room int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.search == nil && !u.from.IsZero() && !u.due.After(time.Now()) {
		u.search = &unsealedSearch{from: u.from, lost: u.lost}
		u.from, u.lost = time.Time{}, time.Time{}
	}
	if room = maxWaiting - len(u.threads); room <= 0 {
		return nil, 0
	}
	return u.search, room
}

// found adds a thread that the search has found.
func (u *unsealed) found(key store.Key, changed time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.search.after = key
	if u.threads[key] == nil && !u.rewritten[key] {
		u.threads[key] = &waiting{key: key, since: changed}
	}
}

// searched ends the search. If it has failed, another one begins later.
func (u *unsealed) searched(failed bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.search
	u.search = nil
	switch {
	case failed && u.final:
		u.left++
	case failed:
		if u.from.IsZero() || s.from.Before(u.from) {
			u.from = s.from
		}
		if u.lost.IsZero() || !s.lost.IsZero() && s.lost.Before(u.lost) {
			u.lost = s.lost
		}
		u.due = time.Now().Add(maxSealPause)
	}
}

// incomplete reports whether threads wait, or were left in the last phase.
func (u *unsealed) incomplete() bool {
	_, since := u.size()
	u.mu.Lock()
	defer u.mu.Unlock()
	return !since.IsZero() || u.left > 0
}

// size returns the number of threads that are known to wait, and since when the first of all
// has waited. The time is zero if none waits.
func (u *unsealed) size() (threads int, since time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	first := func(t time.Time) {
		if !t.IsZero() && (since.IsZero() || t.Before(since)) {
			since = t
		}
	}
	for _, w := range u.threads {
		first(w.since)
	}
	threads = len(u.threads)
	if u.current != nil {
		first(u.current.since)
		threads++
	}
	first(u.lost)
	if u.search != nil {
		first(u.search.lost)
	}
	return threads, since
}

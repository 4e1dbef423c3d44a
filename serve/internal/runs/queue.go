package runs

import (
	"context"
	"slices"

	"github.com/p20export/p20export/store"
)

// A line has the requests that wait for a thread, in the order in which they came.
type line struct {
	waiting []*waiter
	changed chan struct{} // closed and replaced when a run starts, ends or is cancelled
}

// A waiter is a request that waits for its thread.
type waiter struct {
	runID     string
	bytes     int64
	cancelled bool          // Cancel was called for the run
	obeyed    bool          // the request knows, and does not start
	left      chan struct{} // closed when the request waits no longer
}

// enter puts a request at the end of the line of its thread.
func (r *Runs) enter(q Request) (*waiter, error) {
	w := &waiter{runID: q.RunID, bytes: int64(len(q.Body)), left: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lines[q.Key]
	limits := r.settings.Limits
	if r.queued >= limits.Queued || r.waiting+w.bytes > limits.QueuedBytes || l != nil && len(l.waiting) >= maxThreadQueue {
		return nil, ErrQueue
	}
	if l == nil {
		l = &line{changed: make(chan struct{})}
		r.lines[q.Key] = l
	}
	l.waiting = append(l.waiting, w)
	r.queued++
	r.waiting += w.bytes
	r.settings.Observer.RunsQueued(1)
	return w, nil
}

// leave removes a request from the line, if it is in it. The next one is first then.
func (r *Runs) leave(key store.Key, w *waiter) {
	if w == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lines[key]
	l.waiting = slices.DeleteFunc(l.waiting, func(o *waiter) bool { return o == w })
	if len(l.waiting) == 0 {
		delete(r.lines, key)
	}
	l.wake()
	r.queued--
	r.waiting -= w.bytes
	r.settings.Observer.RunsQueued(-1)
	close(w.left)
}

// cancelWaiting ends the requests of a run that wait, and reports whether there were any.
// When it returns, each has either left or started the run.
func (r *Runs) cancelWaiting(ctx context.Context, key store.Key, runID string) (ended bool, err error) {
	var waiting []*waiter
	r.mu.Lock()
	if l := r.lines[key]; l != nil {
		for _, w := range l.waiting {
			if w.runID == runID {
				w.cancelled = true
				waiting = append(waiting, w)
			}
		}
		l.wake()
	}
	r.mu.Unlock()
	for _, w := range waiting {
		select {
		case <-w.left:
			ended = ended || w.obeyed
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return ended, nil
}

// turn reports whether a request may try to start: it is the first of the line, or there is
// none.
func (r *Runs) turn(key store.Key, w *waiter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lines[key]
	return l == nil || l.waiting[0] == w
}

// changed returns a channel that is closed when a run of the thread starts or ends. It is
// nil for a request that is not in the line. The error is ErrCancelled for one that must not
// start.
func (r *Runs) changed(key store.Key, w *waiter) (<-chan struct{}, error) {
	if w == nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.cancelled {
		w.obeyed = true
		return nil, ErrCancelled
	}
	return r.lines[key].changed, nil
}

// wake makes the requests that wait for a thread look at it again.
func (r *Runs) wake(key store.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.lines[key]; l != nil {
		l.wake()
	}
}

func (l *line) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

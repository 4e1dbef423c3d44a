package runs

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// A Request asks for a run.
type Request struct {
	Key   store.Key
	RunID string
	// Body is the RunAgentInput, whose threadId and runId are those of Key and RunID.
	Body []byte
	// Agent is the name of the agent, for messages and for the log.
	Agent    string
	Upstream *url.URL
	Header   http.Header
}

// An Attachment is a stream that answers a request.
type Attachment struct {
	Stream string
	// First is the position of the request.
	First int64
	// Known reports that Head knows whether the agent answers with events. Otherwise another
	// process runs the agent, and the first event shows it.
	Known bool
	// Started reports that the request started the run, which uses its body.
	Started bool
	// Superseded is the run id of the request whose run was cancelled to start this one, or
	// empty.
	Superseded string
	run        *run   // nil if this process does not run it
	leave      func() // nil if the stream has ended
}

// Leave says that the client of the request is not connected any more. It must be called once.
func (a *Attachment) Leave() {
	if a.leave != nil {
		a.leave()
	}
}

// Head waits until it is known whether the agent answers with events. The error is that of
// the agent, or that of ctx. If another process runs the agent, Head does not wait.
func (a *Attachment) Head(ctx context.Context) error {
	if a.run == nil {
		return nil
	}
	select {
	case <-a.run.head:
		return a.run.refusal
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Header returns the header of the agent's response after Head has returned nil. It is nil if
// the request did not start the run.
func (a *Attachment) Header() http.Header {
	if !a.Started {
		return nil
	}
	return a.run.header
}

const (
	// finishTime is the time that Begin gives a run whose last event is in the log to end
	// its stream and to release the lease. A client may know that event and send the next
	// request.
	finishTime = 2 * time.Second
	// leaveTime is the time that Begin gives the client of the active run to leave. A client
	// that ends a run and sends the next request at once closes one connection and opens
	// another, and the server may see the second first.
	leaveTime = time.Second
	// pollTime is the time between looks at a thread that another process uses.
	pollTime = 50 * time.Millisecond
	// queuePollTime is that of requests that wait for their thread.
	queuePollTime = 500 * time.Millisecond
)

// Begin starts a run, or finds the one that the same request has started before. A request
// that did not lead to a run can be sent again.
//
// The error is ErrDifferent if the run was started with another request, a *BusyError if
// another run of the thread is active, ErrCancelled if the request waited for that and was
// cancelled, ErrDraining, ErrRuns, ErrQueue, ErrThreads, that of ctx, or that of the log.
func (r *Runs) Begin(ctx context.Context, q Request) (*Attachment, error) {
	var w *waiter
	defer func() { r.leave(q.Key, w) }()
	since, superseded := time.Now(), ""
	for {
		changed, err := r.changed(q.Key, w)
		if err != nil {
			return nil, err
		}
		a, err := r.attached(ctx, q)
		if a != nil || err != nil {
			return a, err
		}
		if r.turn(q.Key, w) {
			if a, err := r.start(ctx, q); a != nil || err != nil {
				if a != nil && a.Started {
					a.Superseded = superseded
				}
				return a, err
			}
		}
		poll := queuePollTime
		switch {
		case w != nil:
		case r.settings.Policy == Queue:
			if w, err = r.enter(q); err != nil {
				return nil, err
			}
			continue
		default:
			h, err := r.holder(ctx, q.Key)
			if err != nil {
				return nil, err
			}
			if h.runID == q.RunID {
				continue // the same request came a moment earlier, and its run has begun since
			}
			wait := finishTime
			switch {
			case h.ending:
			case r.settings.Policy == Refuse:
				return nil, &BusyError{h.runID}
			default:
				done, err := r.supersede(ctx, q.Key, h.stream)
				if err != nil {
					return nil, err
				}
				if done {
					superseded, since = h.runID, time.Now()
					continue
				}
				wait = leaveTime
			}
			if time.Since(since) > wait {
				return nil, &BusyError{h.runID}
			}
			poll = pollTime
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-r.draining:
			return nil, ErrDraining
		case <-changed:
		case <-time.After(poll):
		}
	}
}

// attached returns the attachment to the run of an earlier equal request, or nil if the
// request has to be sent.
func (r *Runs) attached(ctx context.Context, q Request) (*Attachment, error) {
	last, err := find(ctx, r.log, q.Key, q.RunID, q.Body)
	switch {
	case err != nil || last.over():
		return nil, err
	case !last.same:
		return nil, ErrDifferent
	}
	return r.attachment(ctx, q.Key, &last)
}

// attachment returns the attachment to an attempt.
func (r *Runs) attachment(ctx context.Context, key store.Key, last *attempt) (_ *Attachment, err error) {
	a := &Attachment{Stream: last.ID, First: last.First, Known: last.started || last.cancelled}
	if x := r.current(key); x != nil && x.stream == last.ID {
		a.run, a.Known = x, true
	}
	if !last.Ended {
		if a.leave, err = r.arrive(ctx, key, last.ID); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// A holder is what a thread is busy with.
type holder struct {
	stream string
	runID  string // of the request
	// ending means that nothing is left but the end: either the runs of the stream have
	// ended, or the stream has, and only the lease is left.
	ending bool
}

// holder returns what a thread is busy with.
func (r *Runs) holder(ctx context.Context, key store.Key) (holder, error) {
	open, err := openStreams(ctx, r.log, key)
	if err != nil || len(open) == 0 {
		return holder{ending: true}, err
	}
	s := open[0]
	h := holder{stream: s.ID}
	for e, err := range r.log.Select(ctx, key, store.At(s.First)) {
		if err != nil {
			return h, err
		}
		h.runID = runIDOf(e.Data)
	}
	_, running, err := openRun(ctx, r.log, key, s.ID)
	h.ending = s.Entries > 1 && !running
	return h, err
}

// start starts a run if the lease of its thread is free. It returns nil if it is not.
func (r *Runs) start(ctx context.Context, q Request) (_ *Attachment, err error) {
	if err := r.reserve(q.Key.Tenant); err != nil {
		return nil, err
	}
	x := r.newRun(q)
	var taken, free bool
	var leave func()
	defer func() {
		if x.began {
			return // the run gives back what it has
		}
		if leave != nil {
			leave()
		}
		x.cancel(nil)
		r.remove(x)
		x.answered(err) // to who has found it meanwhile
		if taken {
			r.leases.Release(x.lease)
			if free { // otherwise who waits would only look again
				r.wake(q.Key)
			}
		}
		r.unreserve(q.Key.Tenant)
	}()
	if taken, err = r.leases.Take(ctx, x.lease); err != nil || !taken {
		return nil, err
	}
	// Another process may have run the request, or may have left a run.
	if free, err = r.free(ctx, q.Key); err != nil || !free {
		return nil, err
	}
	last, err := find(ctx, r.log, q.Key, q.RunID, q.Body)
	switch {
	case err != nil:
		return nil, err
	case !last.over() && !last.same:
		return nil, ErrDifferent
	case !last.over():
		return r.attachment(ctx, q.Key, &last)
	}
	if err := r.threads.admit(ctx, r.log, q.Key); err != nil {
		return nil, err
	}
	x.stream = streamID(q.RunID, last.number+1, q.Agent)
	log := r.logger(q.Key).With("agent", q.Agent, "run", q.RunID, "stream", x.stream)
	x.writer = newWriter(r, log, transfer.StreamSettings{Tenant: q.Key.Tenant, ID: x.stream, Thread: q.Key.Thread, Pinned: true})
	stream := x.writer.stream
	// First, so that who finds the stream finds the client and the run.
	if leave, err = r.arrive(ctx, q.Key, x.stream); err != nil {
		return nil, err
	}
	r.add(x)
	began := time.Now()
	if err = stream.Input(ctx, q.Body, began); err == nil {
		err = stream.Flush(ctx)
	}
	if err != nil {
		return nil, r.abandon(ctx, x, err)
	}
	r.settings.Observer.Appended(1, time.Since(began))
	x.first = stream.Parts()[0].Last
	x.began = true
	r.wake(q.Key)
	go x.work(q)
	return &Attachment{Stream: x.stream, First: x.first, Known: true, Started: true, run: x, leave: leave}, nil
}

// abandonTime limits the time to close a request that may be in the log.
const abandonTime = 5 * time.Second

// abandon ends the stream of a request whose append failed, because it may have succeeded
// nevertheless. If that fails too, the stream is later closed as an orphan.
func (r *Runs) abandon(ctx context.Context, x *run, err error) error {
	if deleted(err) {
		return err
	}
	if ctx.Err() == nil {
		r.settings.Observer.AppendFailed(err)
	}
	ctx, cancel := context.WithTimeout(r.ctx, abandonTime)
	defer cancel()
	_, _, _ = finish(ctx, r.log, x.key, x.stream, ownerLost, false, capture.EndError)
	return err
}

package runs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// Causes for which a run is ended before its agent ends it.
var (
	errShutDown = errors.New("the server was stopped")
	errLost     = errors.New("another process has taken over the thread")
	errLingers  = errors.New("the agent kept its response open after its runs had ended")
)

// A run is an active run of this process: a request that is being answered.
type run struct {
	runs   *Runs
	key    store.Key
	lease  string
	stream string
	first  int64 // the position of the request
	began  bool
	since  time.Time
	writer *writer
	linger *time.Timer // ends the exchange some time after the last run has ended, or nil

	// ctx is that of the exchange with the agent, and cancel ends it with a cause.
	ctx    context.Context
	cancel context.CancelCauseFunc

	// head is closed when it is known whether the agent answers with events. If it does
	// not, refusal is the reason.
	head     chan struct{}
	headOnce sync.Once
	refusal  error
	header   http.Header // of the agent's response, if it answers with events
}

func (r *Runs) newRun(q Request) *run {
	x := &run{runs: r, key: q.Key, lease: leaseName(q.Key), head: make(chan struct{}), since: time.Now()}
	x.ctx, x.cancel = context.WithCancelCause(r.ctx)
	return x
}

// answered makes the head known.
func (x *run) answered(refusal error) {
	x.headOnce.Do(func() {
		x.refusal = refusal
		close(x.head)
	})
}

// work lets the agent answer the request, and ends the stream.
func (x *run) work(q Request) {
	r := x.runs
	log := x.writer.log
	log.Info("run began")
	watching, unwatch := context.WithCancel(r.ctx)
	var watched sync.WaitGroup
	watched.Go(func() { x.watch(watching) })
	end, err := r.settings.Caller.Do(x.ctx, proxy.Call{
		Upstream: q.Upstream, Header: q.Header, Body: q.Body, Labels: x.labels(),
	}, x)
	unwatch()
	if x.linger != nil {
		x.linger.Stop()
	}
	outcome, reason := x.end(end, err)
	x.answered(reason)
	watched.Wait()
	x.cancel(nil)

	r.remove(x)
	r.leases.Release(x.lease)
	r.wake(x.key)
	took := time.Since(x.since)
	r.settings.Observer.RunEnded(outcome, took)
	about := []any{"outcome", string(outcome), "end", string(end), "duration", took}
	if err != nil {
		about = append(about, "reason", err.Error())
	}
	log.Info("run ended", about...)
	r.unreserve(x.key.Tenant)
}

// labels returns the labels of the capture of the run.
func (x *run) labels() map[string]string {
	labels := map[string]string{capture.StreamLabel: x.stream, capture.ThreadLabel: x.key.Thread}
	if x.key.Tenant != "" {
		labels[capture.TenantLabel] = x.key.Tenant
	}
	return labels
}

// end ends the stream of the run after the exchange returned an error, or nil. It returns
// the outcome, and the reason if the agent did not begin to answer with events and the log
// does not say why.
func (x *run) end(end capture.End, err error) (Outcome, error) {
	c, silent, outcome := upstreamEnded, true, Finished
	var upstream *proxy.UpstreamError
	var store *appendError
	var reason error
	switch {
	case err == nil:
	case errors.Is(err, errLost):
		return Lost, nil
	case errors.Is(err, transfer.ErrEnded):
		return x.fenced(), nil
	case errors.As(err, &store):
		return NotStored, err
	case errors.Is(err, ErrCancelled):
		c, outcome = cancelled, Cancelled
	case errors.Is(err, errShutDown), errors.Is(err, proxy.ErrDrained):
		c, outcome = shutDown, ShutDown
	case errors.Is(err, proxy.ErrTimeout):
		c, outcome = timedOut, TimedOut
		if !x.accepted() {
			silent, reason = false, err
		}
	case errors.Is(err, errLingers): // no run is open
	case errors.As(err, &upstream) && x.accepted():
		c = c.because(upstream.Reason)
	default: // *proxy.Refused and *proxy.UpstreamError among others
		silent, outcome, reason = false, Refused, err
		if end == capture.EndCancelled { // the body was not read, but nobody cancelled the run
			end = capture.EndError
		}
	}
	if lost := x.writer.flush(); lost != nil { // what came with the event that ended the exchange
		if errors.Is(lost, transfer.ErrEnded) {
			return x.fenced(), nil
		}
		return NotStored, cmp.Or(reason, lost)
	}
	var closed bool
	if lost := x.writer.persist(func(ctx context.Context) (err error) {
		_, closed, err = finish(ctx, x.runs.log, x.key, x.stream, c, silent, end)
		return err
	}); lost != nil {
		return NotStored, cmp.Or(reason, lost)
	}
	if outcome == Finished && closed {
		outcome = UpstreamEnded
	}
	return outcome, reason
}

// fenced returns the outcome of a run that another process has ended.
func (x *run) fenced() Outcome {
	if errors.Is(context.Cause(x.ctx), errLost) {
		return Lost
	}
	return Cancelled
}

// accepted reports whether the agent answered with events.
func (x *run) accepted() bool {
	select {
	case <-x.head:
		return x.refusal == nil
	default:
		return false
	}
}

// watch ends the exchange when anybody ends the stream. An agent that sends nothing would
// otherwise not be noticed.
func (x *run) watch(ctx context.Context) {
	after := x.first
	for ctx.Err() == nil {
		var failed error
		for _, err := range x.runs.settings.Hub.Stream(ctx, x.key, x.stream, after) {
			failed = err
		}
		switch {
		case failed == nil && ctx.Err() == nil:
			x.cancel(transfer.ErrEnded)
			return
		case errors.Is(failed, store.ErrDeleted), errors.Is(failed, store.ErrRewound):
			x.cancel(&appendError{failed})
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryMost):
		}
	}
}

// Accepted implements proxy.Receiver.
func (x *run) Accepted(_ int, header http.Header) error {
	x.header = header // before others can see it
	x.answered(nil)
	return nil
}

// Event implements proxy.Receiver.
func (x *run) Event(data []byte, arrived time.Time) error {
	if bytes.IndexByte(data, '\r') >= 0 { // readers would get LF (WHATWG HTML §9.2.6)
		return &proxy.UpstreamError{Reason: "an event has a carriage return outside its strings, which server-sent events cannot carry"}
	}
	err := x.writer.event(data, arrived)
	switch typeOfRun(data) {
	case envelope.RunStarted:
		if x.linger != nil {
			x.linger.Stop()
		}
	case envelope.RunFinished, envelope.RunError:
		if x.linger != nil {
			x.linger.Stop()
		}
		x.linger = time.AfterFunc(x.runs.settings.Limits.EndTimeout, func() { x.cancel(errLingers) })
	}
	return err
}

// Unfinished implements proxy.Completer. A well-formed event is completed in the place of the
// agent. No capture has it, so it is appended like a closing event.
func (x *run) Unfinished(data []byte, arrived time.Time) error {
	if e, err := envelope.ReadEvent(data); err != nil || e.Type == "" || bytes.IndexByte(data, '\r') >= 0 {
		return nil
	}
	return x.writer.completed(data, arrived)
}

// typeOfRun returns the type of an event that begins or ends a run, and "" for all others.
func typeOfRun(data []byte) string {
	// Nearly all events are other ones, and need not be read.
	if !bytes.Contains(data, []byte("RUN_")) && !bytes.Contains(data, []byte(`\u`)) {
		return ""
	}
	if e, err := envelope.ReadEvent(data); err == nil {
		return e.Type
	}
	return ""
}

// Flush implements proxy.Receiver.
func (x *run) Flush() error { return x.writer.flush() }

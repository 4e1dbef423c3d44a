package proxy

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/p20export/p20export/capture"
)

// Caller posts requests to upstreams on behalf of clients that may leave: it passes the
// events of a response to a Receiver, and records the exchange as Proxy does. It is safe for
// concurrent use.
type Caller struct {
	settings *Settings
	recorder *Recorder // nil if nothing is recorded
	events   *memory
	upstream *http.Transport
	open     *exchanges
	patience time.Duration // refusedTimeout, except in tests
}

// Call is a request to an upstream.
type Call struct {
	// Upstream is the URL that the request is posted to. CheckUpstream must accept it.
	Upstream *url.URL
	// Header has headers for the upstream. Those about the connection, the length and the
	// coding are not sent, and Accept asks for an event stream.
	Header http.Header
	Body   []byte
	// Labels are labels of this capture in addition to those of the settings.
	Labels map[string]string
}

// Receiver receives the events of a response. Its methods are called by the goroutine that
// called Do. They may block; what the upstream sends meanwhile is read later. If one returns
// an error, the exchange ends, and Do returns that error.
type Receiver interface {
	// Accepted is called first, if the upstream answers with a status of 2xx and a stream
	// of events.
	Accepted(status int, header http.Header) error
	// Event is called with each event and the time of arrival that the capture has for it.
	// The data is valid during the call.
	Event(data []byte, arrived time.Time) error
	// Flush is called after events, when no further event is known yet.
	Flush() error
}

// A Completer is a Receiver that also receives the data of an SSE event which no blank line
// ends, because the response ended. The standard discards it (WHATWG HTML §9.2.6), AG-UI
// clients deliver it, and the capture has its bytes but no such event. The data can be the
// beginning of an event. Unfinished is called at most once, after all events, and only if the
// response ended as it should.
type Completer interface {
	Unfinished(data []byte, arrived time.Time) error
}

// Refused reports that the upstream answered, but not with a stream of events that a
// Receiver can receive.
type Refused struct {
	Status int
	Header http.Header
	Body   []byte // at most RefusedBytes
	Reason string // for the client
}

func (e *Refused) Error() string { return e.Reason }

// UpstreamError reports that the upstream did not answer, or that its response broke off.
type UpstreamError struct {
	Reason string // for the client; it has nothing of what the upstream sent
	Err    error
}

func (e *UpstreamError) Error() string { return e.Reason }
func (e *UpstreamError) Unwrap() error { return e.Err }

// RefusedBytes limits the body of Refused.
const RefusedBytes = 64 << 10

// refusedTimeout limits the time to read the body of Refused.
const refusedTimeout = 10 * time.Second

// NewCaller returns a Caller. It does not use the settings about clients and Upstream. If
// Captures is nil, nothing is recorded.
func NewCaller(s Settings) (*Caller, error) {
	c := &Caller{upstream: newTransport(), patience: refusedTimeout}
	if s.Captures != nil {
		recorder, err := NewRecorder(s)
		if err != nil {
			return nil, err
		}
		c.recorder, c.settings = recorder, recorder.settings
	} else {
		if err := s.normalize(); err != nil {
			return nil, err
		}
		c.settings = &s
	}
	c.events = &memory{most: c.settings.EventBytes} // not that of recordings, which must not end exchanges
	c.open = newExchanges(c.settings.MaxExchanges)
	return c, nil
}

// Do posts the request and passes the events of the response to r, until the response ends.
// It returns how the response ended. The error is nil if the response was a stream of events
// that ended as it should. Otherwise, it is
//
//   - a *Refused if the response is not a stream of events with a status of 2xx,
//   - an *UpstreamError if there is no response or it broke off,
//   - ErrTimeout, ErrBusy or ErrDrained,
//   - ErrStorage if the capture cannot be written and Settings.FailOnStore is set,
//   - the cause of ctx if ctx is done, or
//   - an error of r.
func (c *Caller) Do(ctx context.Context, call Call, r Receiver) (capture.End, error) {
	if err := CheckUpstream(call.Upstream); err != nil {
		return capture.EndError, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &calling{caller: c, call: call, receiver: r, ctx: ctx, cancel: cancel, began: time.Now(), held: share{of: c.events}}
	if err := c.open.add(x, cancel); err != nil {
		return capture.EndCancelled, err
	}
	defer c.open.remove(x)
	c.settings.Observer.Begun()
	if d := c.settings.Timeout; d > 0 {
		timer := time.AfterFunc(d, func() { cancel(ErrTimeout) })
		defer timer.Stop()
	}
	defer x.finish()
	err := x.run()
	if x.end == "" {
		x.end = endOf(err)
	}
	return x.end, err
}

// Drain refuses new calls and waits for the open ones and their captures, as Proxy.Drain
// does.
func (c *Caller) Drain(ctx context.Context) error {
	defer c.upstream.CloseIdleConnections()
	return c.open.drain(ctx, c.recorder)
}

package proxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/internal/exchange"
	"github.com/p20export/p20export/finding"
)

// calling is an exchange of a Caller.
type calling struct {
	caller   *Caller
	call     Call
	receiver Receiver
	ctx      context.Context
	cancel   context.CancelCauseFunc
	began    time.Time

	request   *RequestBody // nil if nothing is recorded
	recording *Recording   // nil if the exchange is not recorded
	response  *http.Response
	bytes     int64       // of the body of the response
	last      int         // bytes of the previous read
	read      time.Time   // of the previous read
	micros    int64       // of the last arrival, since began
	broke     error       // of reading the body, other than io.EOF
	end       capture.End // "" until it is known

	events   *capture.Counter
	held     share // of an event that is not complete
	received int   // events since the last Flush
	failed   error // why no more events are passed on
}

// The reasons for which a response is not read to its end.
var (
	errStatus     = errors.New("the status is not that of a response")
	errEventBytes = fmt.Errorf("an event has more than %d bytes", capture.MaxEventBytes)
	errManyBytes  = errors.New("there is no room for an unfinished event")
	errCoding     = errors.New("the coding of the response is not gzip")
	errSlowBody   = errors.New("the body did not arrive in time")
)

// run posts the request and passes the response on.
func (x *calling) run() error {
	if x.caller.recorder != nil {
		x.request = x.caller.recorder.NewRequestBody()
		_ = x.request.Add(x.call.Body) // if there is no room, the recording reports it
		x.request.Complete()
	}
	var err error
	if x.response, err = x.caller.upstream.RoundTrip(x.newRequest()); err != nil {
		return x.broken(failure(err), err)
	}
	defer x.response.Body.Close()
	x.call.Body, x.response.Request = nil, nil // the response can take long
	status := x.response.StatusCode
	if status < 200 || status > 999 { // the body of 101 would not end with ctx
		return x.broken("the upstream answered with an invalid status", errStatus)
	}
	source := exchange.Source(capture.KindProxy, exchange.PublicURL(x.call.Upstream), "", x.response)
	mediaType := exchange.MediaType(x.response.Header)
	framing := exchange.Framing(mediaType)
	decoded, undecodable := x.decode((&capture.Manifest{Source: source}).Coding())
	if undecodable == nil {
		defer decoded.Close()
	}
	switch {
	case status < 300 && framing != capture.SSE && framing != capture.NDJSON:
		return x.refused(nil, fmt.Sprintf("the upstream answered with media type %s; a stream of events has %s or application/x-ndjson", finding.Quote(mediaType), exchange.EventStream))
	case status < 300 && undecodable != nil:
		return x.refused(nil, "the upstream compressed its response although it was not asked to, and not with gzip")
	case status < 300:
		x.record(source, framing)
		return x.pass(decoded, framing)
	case status >= 400:
		x.record(source, cmp.Or(framing, capture.Opaque))
	}
	return x.refused(decoded, fmt.Sprintf("the upstream answered with status %d", status))
}

// decode returns a reader that undoes the coding of the response. A few bytes of zstd can take
// 8 MiB of memory in each exchange, so that is not decoded.
func (x *calling) decode(coding string) (io.ReadCloser, error) {
	if coding != "" && coding != "gzip" {
		return nil, errCoding
	}
	return capture.Decode(x, coding)
}

// newRequest returns the request to the upstream.
func (x *calling) newRequest() *http.Request {
	h := http.Header{}
	for name, values := range x.call.Header {
		if name = http.CanonicalHeaderKey(name); !ours(name) && !nominated(x.call.Header, name) {
			h[name] = values
		}
	}
	h.Set("Accept", exchange.EventStream)
	h.Set("Accept-Encoding", "identity")
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json")
	}
	if h.Get("User-Agent") == "" {
		tool := x.caller.settings.Tool
		h.Set("User-Agent", tool.Name+"/"+tool.Version)
	}
	body := x.call.Body
	request := &http.Request{
		Method: http.MethodPost, URL: x.call.Upstream, Header: h, ContentLength: int64(len(body)),
		Body:    io.NopCloser(bytes.NewReader(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}
	return request.WithContext(x.ctx)
}

// ours reports whether a header is about the connection to the client, or is set by the
// Caller.
func ours(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
		"Proxy-Authenticate", "Proxy-Authorization", "Host", "Content-Length", "Accept", "Accept-Encoding":
		return true
	}
	return strings.HasPrefix(name, ":")
}

// record begins to record the exchange.
func (x *calling) record(source capture.Source, framing capture.Framing) {
	if x.caller.recorder == nil {
		return
	}
	x.recording = x.caller.recorder.Begin(capture.Settings{
		Source: source, Framing: framing, StartedAt: x.began, Labels: x.call.Labels,
	}, x.request, func(error) {
		if x.caller.settings.FailOnStore {
			x.cancel(ErrStorage)
		}
	})
}

// pass passes the events of a response to the receiver.
func (x *calling) pass(decoded io.Reader, framing capture.Framing) error {
	if err := x.receiver.Accepted(x.response.StatusCode, x.response.Header); err != nil {
		return err
	}
	x.events = capture.NewCounter(framing)
	x.events.Frame = x.event
	buf := make([]byte, copyBytes)
	for {
		n, err := decoded.Read(buf)
		x.events.Feed(buf[:n])
		if err == io.EOF && x.ctx.Err() == nil {
			x.complete(framing)
			x.events.Finish()
		}
		x.flush()
		x.hold()
		switch cause := context.Cause(x.ctx); {
		case x.failed != nil:
			return x.failed
		case cause != nil: // the upstream may have ended because we left
			return cause
		case err == io.EOF:
			x.end = capture.EndEOF
			return nil
		case x.broke != nil:
			return x.broken("the response of the upstream broke off", x.broke)
		case err != nil:
			return x.broken("the response of the upstream cannot be decompressed", err)
		}
	}
}

// complete passes on the event in which a response has ended, if the receiver wants it.
func (x *calling) complete(framing capture.Framing) {
	if to, ok := x.receiver.(Completer); ok && framing == capture.SSE && x.failed == nil {
		x.events.Frame = func(f *capture.Frame) {
			if f.Problem == nil && x.failed == nil {
				x.received++
				x.failed = to.Unfinished(f.Data, x.arrived())
			}
		}
		x.events.Feed([]byte("\n\n"))
	}
}

// arrived returns the time of arrival of what was read last.
func (x *calling) arrived() time.Time {
	return x.began.UTC().Truncate(time.Microsecond).Add(time.Duration(x.micros) * time.Microsecond)
}

// event passes an event on.
func (x *calling) event(f *capture.Frame) {
	switch {
	case x.failed != nil:
	case f.Problem != nil:
		x.failed = x.broken(errEventBytes.Error(), errEventBytes)
	default:
		x.received++
		x.failed = x.receiver.Event(f.Data, x.arrived())
	}
}

// flush tells the receiver that no further event is known.
func (x *calling) flush() {
	if x.failed == nil && x.received > 0 {
		x.received = 0
		x.failed = x.receiver.Flush()
	}
}

// hold accounts for the memory of an event that is not complete.
func (x *calling) hold() {
	if x.failed == nil && !x.held.set(x.events.Held()) {
		x.failed = x.broken(fmt.Sprintf("an event is not finished, and the unfinished events of all responses would take more than %d bytes", x.held.of.most), errManyBytes)
	}
}

// Read reads from the upstream, and copies what it reads to the recording.
func (x *calling) Read(p []byte) (int, error) {
	x.passed()
	n, err := x.response.Body.Read(p)
	at := time.Now()
	x.last, x.read = n, at
	x.bytes += int64(n)
	if n > 0 {
		x.micros = max(x.micros, at.Sub(x.began).Microseconds()) // as capture.Writer stores it
	}
	if x.recording != nil && n > 0 {
		if failed := x.recording.Write(p[:n], at); failed != nil && x.caller.settings.FailOnStore {
			x.cancel(failed)
		}
		x.recording.Wake()
	}
	if err != nil && err != io.EOF {
		x.broke = err
	}
	return n, err
}

// passed is called when what the previous Read returned was passed on.
func (x *calling) passed() {
	if x.last > 0 {
		x.caller.settings.Observer.Passed(x.last, time.Since(x.read))
		x.last = 0
	}
}

// refused returns a *Refused with the first bytes of the body. The body is left out if decoded
// is nil.
func (x *calling) refused(decoded io.Reader, reason string) error {
	e := &Refused{Status: x.response.StatusCode, Header: x.response.Header.Clone(), Reason: reason}
	if decoded == nil && x.recording == nil {
		return e
	}
	from := decoded
	if from == nil {
		from = x
	}
	timer := time.AfterFunc(x.caller.patience, func() { x.cancel(errSlowBody) })
	defer timer.Stop()
	body, err := io.ReadAll(io.LimitReader(from, RefusedBytes+1))
	switch cause := context.Cause(x.ctx); {
	case len(body) > RefusedBytes || errors.Is(cause, errSlowBody):
		x.end = capture.EndLimit
	case cause != nil:
		x.end = endOf(cause)
	case err != nil:
		x.end = capture.EndError
	default:
		x.end = capture.EndEOF
	}
	if decoded != nil {
		e.Header.Del("Content-Encoding")
		e.Body = body[:min(len(body), RefusedBytes)]
	}
	return e
}

// broken returns the error for a response that ended too early.
func (x *calling) broken(reason string, err error) error {
	if cause := context.Cause(x.ctx); cause != nil {
		return cause
	}
	return &UpstreamError{reason, err}
}

// endOf returns how an exchange ended for which run returned the given error.
func endOf(err error) capture.End {
	var upstream *UpstreamError
	switch {
	case errors.Is(err, ErrTimeout):
		return capture.EndLimit
	case errors.Is(err, ErrStorage):
		return capture.EndStorage
	case errors.As(err, &upstream):
		return capture.EndError
	}
	return capture.EndCancelled
}

// finish ends the exchange, also after a panic of the receiver.
func (x *calling) finish() {
	x.passed()
	x.held.set(0)
	x.end = cmp.Or(x.end, capture.EndCancelled)
	ended := Exchange{End: x.end, Bytes: x.bytes, Events: -1, Duration: time.Since(x.began)}
	if x.response != nil {
		ended.Status = x.response.StatusCode
	}
	if x.recording != nil {
		x.recording.End(x.end)
		x.recording.Finish(ended)
		return
	}
	x.request.release()
	x.caller.settings.Log.Debug("exchange passed", "end", x.end, "status", ended.Status, "bytes", x.bytes, "duration", ended.Duration)
	x.caller.settings.Observer.Ended(ended)
}

package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/internal/exchange"
)

// passing is an exchange that is being passed on.
type passing struct {
	proxy    *Proxy
	began    time.Time
	w        http.ResponseWriter
	original *http.Request // of the server, which adds the trailers to it
	trailer  http.Header   // of the request to the upstream
	ctx      context.Context
	cancel   context.CancelCauseFunc

	body      *body        // nil if the request has none
	request   *RequestBody // nil if it is not kept
	recording *Recording   // nil if the exchange is not recorded
	status    int
	length    int64 // of the response, or -1 if it is not known
	bytes     int64
	end       capture.End // "" until it is known

	mu      sync.Mutex
	read    bool  // the request body was read to its end
	refused error // why reading the request body failed
	over    bool  // the deadlines of the connection must not be changed
	late    bool  // the client has a deadline for the rest of the response
}

type passingKey struct{}

// linger is the time for which the client may send the rest of its request after the
// response. If the server closed the connection at once, a client that is still sending
// could lose the response.
const linger = 500 * time.Millisecond

// newPassing returns an exchange that has not begun.
func (p *Proxy) newPassing(w http.ResponseWriter, r *http.Request) *passing {
	x := &passing{proxy: p, began: time.Now(), w: w, original: r, length: -1}
	ctx, cancel := context.WithCancelCause(r.Context())
	x.ctx, x.cancel = context.WithValue(ctx, passingKey{}, x), cancel
	return x
}

// serve passes the exchange on.
func (x *passing) serve() {
	w, r := x.w, x.original
	if d := x.proxy.settings.Timeout; d > 0 {
		timer := time.AfterFunc(d, func() { x.cancel(ErrTimeout) })
		defer timer.Stop()
	}
	// The body of the server's own request must stay as it is.
	out := r.WithContext(x.ctx)
	if r.ContentLength != 0 {
		if r.Method == http.MethodPost {
			x.request = x.proxy.recorder.NewRequestBody()
		}
		x.body = &body{ReadCloser: r.Body, x: x}
		out.Body = x.body
	}
	stop := context.AfterFunc(x.ctx, x.hurry)
	defer stop()
	x.proxy.reverse.ServeHTTP(&writer{w, !r.ProtoAtLeast(1, 1)}, out)
}

// hurry limits the time for which the client may keep the exchange open that was ended.
func (x *passing) hurry() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.late = true
		http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(time.Second))
	}
}

// finish ends the exchange. It runs last in ServeHTTP, even after a panic.
func (x *passing) finish() {
	x.release()
	if x.end == "" {
		x.end = x.ended(nil)
	}
	x.cancel(nil)
	ended := Exchange{End: x.end, Status: x.status, Bytes: x.bytes, Events: -1, Duration: time.Since(x.began)}
	if x.recording != nil {
		x.recording.End(x.end)
		x.recording.Finish(ended)
	} else {
		x.request.release()
		x.proxy.settings.Log.Debug("exchange passed", "end", x.end, "status", x.status, "bytes", x.bytes, "duration", ended.Duration)
		x.proxy.settings.Observer.Ended(ended)
	}
	x.proxy.open.remove(x)
}

// release returns the connection to the server: no deadline of the exchange remains, and
// nobody reads the body of the request.
func (x *passing) release() {
	c := http.NewResponseController(x.w)
	x.mu.Lock()
	x.over = true
	if x.late && x.end == capture.EndEOF { // otherwise the connection ends
		c.SetWriteDeadline(time.Time{})
	}
	stop := x.body != nil && !x.read
	if stop {
		c.SetReadDeadline(time.Unix(1, 0))
	}
	x.mu.Unlock()
	if stop {
		x.body.stop()
		// The server reads the rest of the body, although a client that still waits for
		// 100 Continue never sends it.
		c.SetReadDeadline(time.Now().Add(linger))
	}
}

// ended returns how the response ended. The error is that of a read, or nil if the client
// stopped reading.
func (x *passing) ended(err error) capture.End {
	complete := x.length >= 0 && x.bytes == x.length
	if complete || err == io.EOF && x.ctx.Err() == nil { // the upstream may have ended because we left
		return capture.EndEOF
	}
	return x.classify(err)
}

// classify returns how the response ended that was not read to its end. The error is that
// of a read, or nil if the client stopped reading.
func (x *passing) classify(err error) capture.End {
	switch cause := context.Cause(x.ctx); {
	case errors.Is(cause, ErrTimeout):
		return capture.EndLimit
	case errors.Is(cause, ErrStorage):
		return capture.EndStorage
	case cause != nil:
		return capture.EndCancelled
	case err == nil && x.status != 0:
		return capture.EndCancelled
	}
	return capture.EndError
}

// respond is called with the response of the upstream before it is passed on.
func respond(response *http.Response) error {
	x := response.Request.Context().Value(passingKey{}).(*passing)
	switch code := response.StatusCode; {
	case code == http.StatusSwitchingProtocols:
		return responseError("the upstream switched the protocol")
	case code < 100 || code > 999: // package http could not pass it on
		return responseError("the upstream answered with an invalid status")
	}
	x.status, x.length = response.StatusCode, response.ContentLength
	// The server would add these.
	for _, name := range []string{"Date", "Content-Type"} {
		if _, ok := response.Header[name]; !ok {
			x.w.Header()[name] = nil
		}
	}
	t := exchange.MediaType(response.Header)
	if x.original.Method == http.MethodPost && (x.status >= 400 || exchange.Streams(t)) {
		x.record(response, t)
	} else {
		x.request.release()
	}
	response.Body = &tap{ReadCloser: response.Body, x: x}
	return nil
}

// record begins to record the exchange.
func (x *passing) record(response *http.Response, mediaType string) {
	target := *x.original.URL
	target.Scheme, target.Host = x.proxy.settings.Upstream.Scheme, x.proxy.settings.Upstream.Host
	target.Path, target.RawPath = response.Request.URL.Path, response.Request.URL.RawPath
	framing := exchange.Framing(mediaType)
	if framing == "" {
		framing = capture.Opaque
	}
	x.recording = x.proxy.recorder.Begin(capture.Settings{
		Source:    exchange.Source(capture.KindProxy, exchange.PublicURL(&target), "", response),
		Framing:   framing,
		StartedAt: x.began,
	}, x.request, func(error) {
		if x.proxy.settings.FailOnStore {
			x.cancel(ErrStorage)
		}
	})
}

// tap is the body of a response. It copies what is read to the recording.
type tap struct {
	io.ReadCloser
	x    *passing
	n    int           // of the previous read
	read time.Duration // from the begin of the exchange to the end of the previous read
}

// Read reads from the upstream. ReverseProxy calls it again when it has passed on what the
// previous call returned.
func (t *tap) Read(p []byte) (int, error) {
	x := t.x
	t.passed()
	n, err := t.ReadCloser.Read(p)
	t.n, t.read = n, time.Since(x.began) // which reads one clock; time.Now reads two
	x.bytes += int64(n)
	if x.recording != nil && n > 0 {
		if failed := x.recording.Write(p[:n], x.began.Add(t.read)); failed != nil && x.proxy.settings.FailOnStore {
			x.cancel(failed)
			x.end = capture.EndStorage
			return 0, failed
		}
	}
	if err != nil {
		x.end = x.ended(err)
		if x.recording != nil {
			x.recording.End(x.end)
		}
	}
	return n, err
}

// passed is called when what the previous Read returned was passed on.
func (t *tap) passed() {
	if t.n > 0 {
		t.x.proxy.settings.Observer.Passed(t.n, time.Since(t.x.began)-t.read)
		t.n = 0
		if t.x.recording != nil {
			t.x.recording.Wake()
		}
	}
}

// Close closes the body. After the last bytes, ReverseProxy calls it in place of Read.
func (t *tap) Close() error {
	if t.x.end == capture.EndEOF {
		t.passed()
	}
	return t.ReadCloser.Close()
}

// writer sends the headers of a response at once. It leaves 100 Continue to the server,
// which sends it when the transport reads the body of the request, because the upstream sent
// it or did not answer in time. Clients of HTTP/1.0 get no 1xx responses (RFC 9110 §15.2).
type writer struct {
	http.ResponseWriter
	old bool // HTTP/1.0
}

func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	if status == http.StatusContinue || status < 200 && w.old {
		return
	}
	w.ResponseWriter.WriteHeader(status)
	if status >= 200 {
		http.NewResponseController(w.ResponseWriter).Flush()
	}
}

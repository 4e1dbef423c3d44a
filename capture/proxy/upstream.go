package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/internal/exchange"
)

// newTransport returns the transport to the upstream. Each exchange of HTTP/1.1 has a
// connection of its own, so bytes of one response can never become those of another, and no
// request is lost on a connection that the upstream is closing.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:            exchange.Dial,
		TLSClientConfig:        &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(0)},
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second, // of HTTP/2
		DisableCompression:     true,
		MaxIdleConnsPerHost:    -1,
		ReadBufferSize:         readBytes,
		MaxResponseHeaderBytes: exchange.HeaderBytes,
	}
}

// copyBytes is the size of the buffers of ReverseProxy. A read of a chunked body returns
// only when the buffer is full or a chunk is complete, so larger buffers would hold back
// more of a large event.
const copyBytes = 32 << 10

// readBytes is the size of the buffer of each connection to the upstream. Chunks that are larger are
// read past it.
const readBytes = 16 << 10

// buffers is a pool of buffers for ReverseProxy.
type buffers struct{ pool sync.Pool }

func newBuffers() *buffers {
	return &buffers{sync.Pool{New: func() any { return new([copyBytes]byte) }}}
}

func (b *buffers) Get() []byte  { return b.pool.Get().(*[copyBytes]byte)[:] }
func (b *buffers) Put(p []byte) { b.pool.Put((*[copyBytes]byte)(p)) }

// forwarded are the headers that ReverseProxy removes although they are end-to-end.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// rewrite makes the request to the upstream.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.settings.Upstream)
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	// The path must stay as it was spelled (RFC 9110 §7.7). Package http would take one
	// with two slashes at the start for a host.
	raw, _, _ := strings.Cut(r.In.RequestURI, "?")
	if raw = strings.TrimSuffix(p.settings.Upstream.EscapedPath(), "/") + raw; !strings.HasPrefix(raw, "//") {
		r.Out.URL.Opaque = raw
	}
	for _, name := range forwarded {
		if values, ok := r.In.Header[name]; ok && !nominated(r.In.Header, name) {
			r.Out.Header[name] = values
		}
	}
	// ReverseProxy adds them again if the client asked for an upgrade.
	r.Out.Header.Del("Connection")
	r.Out.Header.Del("Upgrade")
	// On a connection that stays open, the transport sends the body even if the upstream
	// has refused it, and the server then sends 100 Continue to the client.
	r.Out.Close = r.In.Header.Get("Expect") != ""
	if r.Out.Body != nil {
		if r.Out.Trailer == nil {
			r.Out.Trailer = http.Header{}
		}
		r.In.Context().Value(passingKey{}).(*passing).trailer = r.Out.Trailer
	}
}

// nominated reports whether the Connection header says that the header with the given name
// is not for the upstream.
func nominated(h http.Header, name string) bool {
	for _, value := range h["Connection"] {
		for option := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(option), name) {
				return true
			}
		}
	}
	return false
}

var errTooLarge = errors.New("the request body is too large")

// body is the body of a request. It keeps what is read for the recording.
type body struct {
	io.ReadCloser
	x *passing
	n int64

	mu      sync.Mutex // held by Read
	stopped bool
}

// stop waits until Read has returned, and makes it fail from then on.
func (b *body) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
}

// Read reads from the client, which must send something in time.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return 0, http.ErrBodyReadAfterClose
	}
	x := b.x
	x.readDeadline(time.Now().Add(x.proxy.patience))
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	if b.n > x.proxy.settings.MaxRequestBytes {
		n, err = 0, errTooLarge
	}
	if failed := x.request.Add(p[:n]); failed != nil && x.proxy.settings.FailOnStore {
		n, err = 0, failed
	}
	if err != nil {
		x.readDeadline(time.Time{})
		x.mu.Lock()
		defer x.mu.Unlock()
		if err != io.EOF {
			x.refused = err
			return n, err
		}
		x.read = true
		x.request.Complete()
		maps.Copy(x.trailer, x.original.Trailer)
	}
	return n, err
}

// readDeadline sets the deadline of reads from the client.
func (x *passing) readDeadline(at time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		http.NewResponseController(x.w).SetReadDeadline(at)
	}
}

// failed answers a request to which the upstream sent no response that can be passed on.
func (p *Proxy) failed(_ http.ResponseWriter, r *http.Request, err error) {
	x := r.Context().Value(passingKey{}).(*passing)
	x.mu.Lock()
	refused := x.refused
	x.mu.Unlock()
	var no refusal
	clients := false // the client is the reason, not the upstream
	switch cause := context.Cause(x.ctx); {
	case errors.Is(cause, ErrTimeout):
		no = refusal{http.StatusGatewayTimeout, "the upstream did not answer in time"}
	case errors.Is(cause, ErrDrained):
		no = refusal{http.StatusServiceUnavailable, "the proxy is shutting down"}
	case errors.Is(refused, ErrStorage):
		no = refusal{http.StatusServiceUnavailable, "the exchange cannot be recorded"}
		x.end = capture.EndStorage
	case errors.Is(refused, errTooLarge):
		no, clients = refusal{http.StatusRequestEntityTooLarge, errTooLarge.Error()}, true
	case errors.Is(refused, os.ErrDeadlineExceeded): // the server then says that the client left
		no, clients = refusal{http.StatusRequestTimeout, "the request body did not arrive in time"}, true
	case cause != nil:
		x.end = x.classify(nil)
		p.settings.Log.Info("the client left before the response")
		panic(http.ErrAbortHandler)
	case refused != nil:
		no, clients = refusal{http.StatusBadRequest, "the request body cannot be read"}, true
	default:
		no = refusal{http.StatusBadGateway, failure(err)}
	}
	x.status = no.status
	if clients {
		x.end = capture.EndCancelled
		p.refuse(x.w, x.original, no)
		return
	}
	text, _, _ := strings.Cut(err.Error(), `"`) // net/http quotes what it received
	p.settings.Log.Warn("no response to pass on", "status", no.status, "reason", no.reason, "error", text)
	if x.end == "" {
		x.end = x.classify(err)
	}
	no.write(x.w, x.original)
}

// A responseError is about a response that cannot be passed on.
type responseError string

func (e responseError) Error() string { return string(e) }

// failure says for the client why the upstream sent no response that can be passed on.
func failure(err error) string {
	var (
		response    responseError
		certificate *tls.CertificateVerificationError
		name        *net.DNSError
		network     *net.OpError
		record      tls.RecordHeaderError
		alert       tls.AlertError
	)
	switch {
	case errors.As(err, &response):
		return response.Error()
	case errors.As(err, &certificate):
		return "the certificate of the upstream is not trusted"
	case errors.As(err, &record) || errors.As(err, &alert):
		return "the upstream did not accept a TLS connection"
	case errors.As(err, &name):
		return "the name of the upstream cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the upstream refused the connection"
	case errors.As(err, &network) && network.Op == "dial":
		return "the upstream cannot be reached"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || network != nil:
		return "the upstream closed the connection without a response"
	case strings.Contains(err.Error(), "response headers exceeded"):
		return "the response of the upstream has too many bytes of headers"
	case strings.Contains(err.Error(), "malformed") || strings.Contains(err.Error(), "transport connection broken"):
		return "the response of the upstream is malformed"
	}
	return "the upstream did not answer"
}

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/internal/exchange"
	"github.com/p20export/p20export/finding"
)

// Settings are the settings of a request and of its recording.
type Settings struct {
	// URL is the http or https URL of the endpoint. User info in the URL is sent as
	// basic authentication.
	URL string
	// Body is the request body, one JSON object, which is stored as request.json. If
	// Body is nil, an empty body is sent and nothing is stored.
	Body []byte
	// Header has additional request headers, which are never stored. They replace
	// default headers, except Accept-Encoding, which is always identity.
	Header http.Header
	// Timeout limits the duration of the exchange. Zero means no limit.
	Timeout time.Duration
	// MaxBytes limits the size of the response body. Zero means no limit.
	MaxBytes int64
	// Framing is the framing of the response. If it is empty, the response must be
	// an event stream.
	Framing capture.Framing
	Labels  map[string]string
	Tool    capture.Tool
	// Progress, if not nil, is called after reads, at most ten times a second, and
	// once at the end. It is called by the goroutine that called Record.
	Progress func(Progress)
	// Head, if not nil, is called with the status and the header of the response, which it
	// must not change. The header is not stored as a whole.
	Head func(status int, header http.Header)
	// Frame, if not nil, is called with each counted frame. The frame is valid during
	// the call.
	Frame func(*capture.Frame)
}

// Progress is the progress of a recording.
type Progress struct {
	// Events is the number of complete events, or nil if it is not known. The events
	// of a response with a content coding are counted at the end.
	Events  *int
	Bytes   int64
	Elapsed time.Duration
}

// Result describes a closed capture. Its findings include those about the HTTP
// exchange.
type Result = capture.Result

// An error of Record matches ErrUnreachable if no connection could be established,
// ErrTimeLimit if there was no response within the time limit, and ErrNoTLS if the
// server of an https URL does not use TLS.
var (
	ErrUnreachable = errors.New("no connection")
	ErrTimeLimit   = errors.New("the time limit was reached")
	ErrNoTLS       = errors.New("the server answered without TLS")
)

// requestError is a finding that also matches one of the errors above.
type requestError struct {
	finding.Finding
	cause error
}

func (e requestError) Unwrap() error { return e.Finding }

// Is implements errors.Is.
func (e requestError) Is(target error) bool { return target == e.cause }

// Record sends a POST request and stores the response in the directory dir, which
// must not exist or must be empty. Record creates the directory when it has received
// the response headers. It does not follow redirects.
//
// If Record returns no error, the capture was closed. The findings then say why it is
// not a complete event stream: http_status, http_content_type, http_failed if the
// connection broke, capture_cut_short if a limit was reached (an error) or ctx was
// cancelled (a warning), and the findings about the framing.
//
// If Record returns an error, there is no closed capture. If there was no response,
// nothing is left on disk, and the error is the cause of ctx or a finding http_failed,
// which may match ErrUnreachable, ErrTimeLimit or ErrNoTLS.
//
// Record sends nothing if the body is not a JSON object, the labels cannot be stored,
// or the directory cannot be created. If the directory is not empty, the error matches
// fs.ErrExist.
func Record(ctx context.Context, dir string, s Settings) (Result, error) {
	endpoint, err := parseURL(s.URL)
	if err != nil {
		return Result{}, err
	}
	if s.Body != nil {
		if err := capture.CheckRequest(s.Body); err != nil {
			return Result{}, err
		}
	}
	target := exchange.PublicURL(endpoint)
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: endpoint})
	if err != nil {
		return Result{}, failed(target, err)
	}
	if err := checkCreate(dir, target, exchange.PublicURL(proxy), s); err != nil {
		return Result{}, err
	}
	caller := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, s.Timeout, ErrTimeLimit)
		defer stop()
	}
	client, closeIdle := newClient(proxy)
	defer closeIdle()

	request, err := newRequest(ctx, s)
	if err != nil {
		return Result{}, failed(target, err)
	}
	started := time.Now()
	response, err := client.Do(request)
	if err != nil {
		if caller.Err() != nil {
			return Result{}, fmt.Errorf("no response from %s: %w", target, context.Cause(caller))
		}
		if ctx.Err() != nil {
			return Result{}, requestError{failed(target, ErrTimeLimit), ErrTimeLimit}
		}
		if _, plain := errors.AsType[tls.RecordHeaderError](err); plain || errors.Is(err, http.ErrSchemeMismatch) {
			return Result{}, requestError{failed(target, ErrNoTLS), ErrNoTLS}
		}
		var dialed *net.OpError
		if errors.As(err, &dialed) && (dialed.Op == "dial" || dialed.Op == "proxyconnect") {
			return Result{}, requestError{failed(target, err), ErrUnreachable}
		}
		return Result{}, failed(target, err)
	}
	defer response.Body.Close()
	switch status := response.StatusCode; {
	case status < 0 || status > 999: // possible only with HTTP/2
		return Result{}, failed(target, fmt.Errorf("the response has the status %d", status))
	case status == http.StatusSwitchingProtocols:
		// The body is not HTTP (RFC 9110 §15.2.2), and reading it would not end with
		// ctx.
		response.Body = http.NoBody
	}

	r := &recording{settings: s, dir: dir, target: target, proxy: exchange.PublicURL(proxy), started: started, response: response, countLimit: countLimit}
	return r.run(ctx, caller)
}

// checkCreate returns an error unless a capture can be created for every response,
// even one with the longest headers.
func checkCreate(dir, target, proxy string, s Settings) error {
	return capture.CheckCreate(dir, capture.Settings{
		Source: capture.Source{
			Kind: capture.KindHTTP, Method: http.MethodPost, URL: target, Proxy: proxy, Status: new(999),
			ContentType: strings.Repeat("\x00", exchange.HeaderBytes), // six bytes each in JSON
		},
		Framing: s.Framing, Labels: s.Labels, Tool: s.Tool,
	})
}

// parseURL parses the URL of an endpoint.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		// The parser's message quotes the URL.
		return nil, finding.New(finding.HTTPFailed, "the URL is not valid").WithHint("give a URL such as http://127.0.0.1:8000/")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, finding.New(finding.HTTPFailed, "the URL does not begin with http:// or https:// and a host").WithHint("give a URL such as http://127.0.0.1:8000/")
	}
	return u, nil
}

// failed returns the finding for an error of the HTTP client. The text of the error
// itself would contain the whole URL.
func failed(target string, err error) finding.Finding {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return finding.New(finding.HTTPFailed, "POST %s: %s", target, reason(err))
}

// reason returns the text of an error, escaped and truncated, because it may quote
// the server.
func reason(err error) string {
	switch {
	case errors.Is(err, ErrTimeLimit):
		return ErrTimeLimit.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the connection ended too early"
	}
	const keep = 200
	text := []rune(finding.Escape(err.Error()))
	if len(text) > keep {
		return string(text[:keep]) + "…"
	}
	return string(text)
}

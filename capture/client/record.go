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
	"github.com/p20export/p20export/finding"
)

// Settings describe a request and the bounds of its recording.
type Settings struct {
	// URL is where the request goes: http or https. User info in it becomes
	// basic authentication.
	URL string
	// Body is the request body, one JSON object, stored as request.json. Nil is sent
	// as an empty body and not stored.
	Body []byte
	// Header is sent and never stored. It goes before the defaults, but for
	// Accept-Encoding, which always asks for identity.
	Header http.Header
	// Timeout bounds the whole exchange; zero means no bound.
	Timeout time.Duration
	// MaxBytes bounds the response body; zero means no bound.
	MaxBytes int64
	// Framing is that of the response; empty means that it must be an event
	// stream.
	Framing capture.Framing
	Labels  map[string]string
	Tool    capture.Tool
	// Progress, when not nil, is called after reads, at most ten times a second,
	// and once at the end, always by the goroutine that called Record.
	Progress func(Progress)
	// Frame, when not nil, is called with each frame that is counted. The frame is
	// valid during the call.
	Frame func(capture.Frame)
}

// Progress is how far a recording has come.
type Progress struct {
	// Events counts complete events. It is nil while they are not known: those of
	// a response with a content coding are counted at the end.
	Events  *int
	Bytes   int64
	Elapsed time.Duration
}

// Result is a closed capture. Its findings are about the exchange, too.
type Result = capture.Result

// ErrUnreachable is matched by the error of a request for which no connection
// came about, ErrTimeLimit by that of one without an answer within the time limit,
// and ErrNoTLS by that of one for https to a server that does not speak TLS.
var (
	ErrUnreachable = errors.New("no connection")
	ErrTimeLimit   = errors.New("the time limit was reached")
	ErrNoTLS       = errors.New("the server answered without TLS")
)

// unanswered is the finding about such a request.
type unanswered struct {
	finding.Finding
	of error
}

func (u unanswered) Unwrap() error { return u.Finding }

// Is implements errors.Is.
func (u unanswered) Is(target error) bool { return target == u.of }

// Record sends one POST request and keeps the response in the directory dir,
// which must not exist yet or be empty. The directory is made when the response
// headers are there.
//
// Redirects are not followed. When a capture was closed, the error is nil, and
// Findings hold whatever makes it less than a whole event stream: http_status,
// http_content_type, http_failed for a broken connection, capture_cut_short for a
// limit (an error) or a cancelled ctx (a warning), and what the framing shows.
//
// An error means that there is no closed capture. Without a response nothing is
// left on disk: the error is a finding http_failed (which matches ErrUnreachable when
// nothing accepted the connection, ErrTimeLimit when the time limit was reached, and
// ErrNoTLS when the server did not speak TLS), or the cause of ctx's end. A
// directory that is not vacant gives an error that matches fs.ErrExist, before
// anything is sent, as are a body that is no JSON object, labels that cannot be
// written and a directory that cannot be made.
func Record(ctx context.Context, dir string, s Settings) (Result, error) {
	asked, err := parseURL(s.URL)
	if err != nil {
		return Result{}, err
	}
	if s.Body != nil {
		if err := capture.CheckRequest(s.Body); err != nil {
			return Result{}, err
		}
	}
	target := bare(asked)
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: asked})
	if err != nil {
		return Result{}, failed(target, err)
	}
	if err := ready(dir, target, bare(proxy), s); err != nil {
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
			return Result{}, unanswered{failed(target, ErrTimeLimit), ErrTimeLimit}
		}
		if _, plain := errors.AsType[tls.RecordHeaderError](err); plain || errors.Is(err, http.ErrSchemeMismatch) {
			return Result{}, unanswered{failed(target, ErrNoTLS), ErrNoTLS}
		}
		var dialed *net.OpError
		if errors.As(err, &dialed) && (dialed.Op == "dial" || dialed.Op == "proxyconnect") {
			return Result{}, unanswered{failed(target, err), ErrUnreachable}
		}
		return Result{}, failed(target, err)
	}
	defer response.Body.Close()
	switch status := response.StatusCode; {
	case status < 0 || status > 999: // HTTP/2 alone lets it through
		return Result{}, failed(target, fmt.Errorf("the answer has the status %d", status))
	case status == http.StatusSwitchingProtocols:
		// What follows is no HTTP (RFC 9110 §15.2.2), and its reading would not
		// end with ctx.
		response.Body = http.NoBody
	}

	r := &recording{settings: s, dir: dir, target: target, proxy: bare(proxy), started: started, response: response, countLimit: countLimit}
	return r.run(ctx, caller)
}

// ready reports whether the response could be kept, whatever its headers are.
func ready(dir, target, proxy string, s Settings) error {
	return capture.CheckCreate(dir, capture.Settings{
		Source: capture.Source{
			Kind: capture.KindHTTP, Method: http.MethodPost, URL: target, Proxy: proxy, Status: new(999),
			ContentType: strings.Repeat("\x00", headerBytes), // six bytes each in JSON
		},
		Framing: s.Framing, Labels: s.Labels, Tool: s.Tool,
	})
}

// parseURL reads the URL of an endpoint.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		// The parser's message quotes the URL.
		return nil, finding.New(finding.HTTPFailed, "the URL cannot be read").WithHint("give a URL such as http://127.0.0.1:8000/")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, finding.New(finding.HTTPFailed, "the URL is not http:// or https:// and a host").WithHint("give a URL such as http://127.0.0.1:8000/")
	}
	return u, nil
}

// bare returns what may be said of a URL: neither user info nor query nor
// fragment. It returns "" for nil.
func bare(u *url.URL) string {
	if u == nil {
		return ""
	}
	v := *u
	v.User, v.RawQuery, v.ForceQuery, v.Fragment, v.RawFragment = nil, "", false, "", ""
	return v.String()
}

// failed makes a finding of an error of the HTTP client. Its own text would name
// the whole URL.
func failed(target string, err error) finding.Finding {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return finding.New(finding.HTTPFailed, "POST %s: %s", target, reason(err))
}

// reason returns the text of an error, which may quote the server, escaped and
// short.
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

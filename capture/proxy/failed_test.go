package proxy

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
)

// logged returns a setting for a log, and the log.
func logged() (*buffer, func(*Settings)) {
	var l buffer
	return &l, func(s *Settings) { s.Log = slog.New(slog.NewTextHandler(&l, nil)) }
}

// TestFailure checks that the client learns why the upstream sent no response.
func TestFailure(t *testing.T) {
	t.Parallel()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	answers := func(answer string) string {
		return "http://" + rawUpstream(t, func(conn net.Conn, r *bufio.Reader) {
			readMessage(r)
			io.WriteString(conn, answer)
		})
	}
	plain := rawUpstream(t, func(conn net.Conn, r *bufio.Reader) { io.WriteString(conn, "no TLS here, but text") })
	for upstream, want := range map[string]string{
		// The certificate is for 127.0.0.1.
		strings.Replace(untrusted.URL, "127.0.0.1", "localhost", 1): "the certificate of the upstream is not trusted",
		"https://" + plain:                                             "the upstream did not accept a TLS connection",
		answers(""):                                                    "the upstream closed the connection without a response",
		answers("HTTP/1.1 200 OK\r\nX-A: b"):                           "the upstream closed the connection without a response",
		answers("garbage\r\n\r\n"):                                     "the response of the upstream is malformed",
		answers("HTTP/1.1 200 OK\r\nX-A b\r\n\r\n"):                    "the response of the upstream is malformed",
		answers("HTTP/1.1 200 OK\r\nContent-Length: a\r\n\r\n"):        "the response of the upstream is malformed",
		answers("HTTP/1.1 101 Switching Protocols\r\n\r\n"):            "the upstream switched the protocol",
		answers("HTTP/1.1 099 Status\r\nContent-Length: 0\r\n\r\n"):    "the upstream answered with an invalid status",
		answers("HTTP/1.1 200 OK\r\nTransfer-Encoding: other\r\n\r\n"): "the response of the upstream is malformed",
	} {
		l, log := logged()
		f := start(t, upstream, log)
		response, body := f.post(t, "/", "{}")
		if x := <-f.ended; response.StatusCode != http.StatusBadGateway || body != want+"\n" || x.End != capture.EndError {
			t.Errorf("%d %q %+v, want %q", response.StatusCode, body, x, want)
		}
		if text := l.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, want) {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
}

// TestRefusedLate checks that a request that turns out to be too large is a refusal, and not
// a failure of the upstream.
func TestRefusedLate(t *testing.T) {
	t.Parallel()
	address := rawUpstream(t, func(conn net.Conn, r *bufio.Reader) { io.Copy(io.Discard, r) })
	l, log := logged()
	f := start(t, "http://"+address, func(s *Settings) { s.MaxRequestBytes = 3; log(s) })
	conn, r := f.dial(t)
	io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n")
	m, err := readMessage(r)
	if err != nil || !strings.Contains(m.line, "413") {
		t.Errorf("%+v, %v", m, err)
	}
	if x := <-f.ended; x.End != capture.EndCancelled || x.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("%+v", x)
	}
	if text := l.String(); !strings.Contains(text, `msg="request refused" status=413`) || strings.Contains(text, "WARN") {
		t.Errorf("the log is\n%s", text)
	}
}

// TestLeftEarly checks that a client that leaves before the response is logged and counted.
func TestLeftEarly(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	address := rawUpstream(t, func(conn net.Conn, r *bufio.Reader) {
		readMessage(r)
		close(asked)
		io.Copy(io.Discard, r)
	})
	l, log := logged()
	f := start(t, "http://"+address, log)
	conn, _ := f.dial(t)
	io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
	<-asked
	conn.Close()
	if x := <-f.ended; x.End != capture.EndCancelled || x.Status != 0 {
		t.Errorf("%+v", x)
	}
	if text := l.String(); strings.Count(text, "the client left before the response") != 1 {
		t.Errorf("the log is\n%s", text)
	}
}

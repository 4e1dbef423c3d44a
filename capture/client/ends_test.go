package client

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
)

// hold sends a body and keeps the response open until the test ends.
func hold(t *testing.T, body string) *httptest.Server {
	release := make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, body)
		w.(http.Flusher).Flush()
		<-release
	})
	t.Cleanup(func() { close(release) })
	return server
}

func TestRecordCancelled(t *testing.T) {
	server := hold(t, twoEvents+"data: c")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := settings(server.URL)
	s.Progress = func(p Progress) { cancel() } // called after bytes are stored
	dir, result, err := record(t, ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	check(t, dir, result, twoEvents+"data: c", capture.EndCancelled, 2, "capture_cut_short warning", "event_incomplete warning")
}

// silent accepts requests and never responds.
func silent(t *testing.T, arrived func()) *httptest.Server {
	release := make(chan struct{})
	server := serve(t, func(http.ResponseWriter, *http.Request) {
		arrived()
		<-release
	})
	t.Cleanup(func() { close(release) })
	return server
}

func TestRecordCancelledBeforeResponse(t *testing.T) {
	stopped := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	server := silent(t, func() { cancel(stopped) })
	_, _, err := record(t, ctx, settings(server.URL+"/?k=querykey"))
	if !errors.Is(err, stopped) {
		t.Errorf("error %v", err)
	}
}

func TestRecordTimeoutBeforeResponse(t *testing.T) {
	server := silent(t, func() {})
	s := settings(server.URL + "/?k=querykey")
	s.Timeout = 20 * time.Millisecond
	_, _, err := record(t, t.Context(), s)
	mustFail(t, err, server.URL+"/: the time limit was reached")
}

func mustFail(t *testing.T, err error, message string) {
	t.Helper()
	var f finding.Finding
	if !errors.As(err, &f) || f.Code != finding.HTTPFailed || !strings.Contains(f.Message, message) {
		t.Errorf("error %v, want %s with %q", err, finding.HTTPFailed, message)
	}
}

func TestRecordMaxBytes(t *testing.T) {
	server := serve(t, answer(200, "text/event-stream", twoEvents))
	for limit, events := range map[int64]int{1: 0, 9: 1, 10: 1, 17: 1} {
		s := settings(server.URL)
		s.MaxBytes = limit
		dir, result, err := record(t, t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		found := []string{"capture_cut_short error"}
		if limit > 9 {
			found = append(found, "event_incomplete warning")
		}
		if limit == 10 { // "d" is not data yet
			found = found[:1]
		}
		check(t, dir, result, twoEvents[:limit], capture.EndLimit, events, found...)
	}
	for _, limit := range []int64{int64(len(twoEvents)), int64(len(twoEvents)) + 1, 1 << 40} {
		s := settings(server.URL)
		s.MaxBytes = limit
		dir, result, err := record(t, t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		check(t, dir, result, twoEvents, capture.EndEOF, 2)
	}
}

func TestRecordBroken(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, twoEvents)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	dir, result, err := record(t, t.Context(), settings(server.URL+"/?k=querykey"))
	if err != nil {
		t.Fatal(err)
	}
	check(t, dir, result, twoEvents, capture.EndError, 2, "http_failed error")
	if f := result.Findings[0]; !strings.Contains(f.Message, "after 18 bytes") {
		t.Errorf("message %q", f.Message)
	}
}

func TestRecordNoServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	_, _, err = record(t, t.Context(), settings("http://alice:hunter2@"+address+"/run?k=querykey#fragment-part"))
	mustFail(t, err, "POST http://"+address+"/run: ")
	if !errors.Is(err, ErrUnreachable) {
		t.Errorf("%v is not ErrUnreachable", err)
	}

	// Certificates are checked.
	tls := httptest.NewUnstartedServer(answer(200, "text/event-stream", twoEvents))
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	_, _, err = record(t, t.Context(), settings(tls.URL+"/?k=querykey"))
	mustFail(t, err, "POST "+tls.URL+"/: ")
	if errors.Is(err, ErrNoTLS) {
		t.Errorf("%v is no TLS", err)
	}
	if errors.Is(err, ErrUnreachable) {
		t.Errorf("%v is ErrUnreachable", err)
	}

	// A server that does not speak HTTP.
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	go func() {
		for {
			conn, err := raw.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 1))
			io.WriteString(conn, "SSH-2.0-\x1b[31m\r\n\r\n")
			conn.Close()
		}
	}()
	_, _, err = record(t, t.Context(), settings("http://"+raw.Addr().String()))
	mustFail(t, err, "POST http://"+raw.Addr().String()+": ")
	if strings.Contains(err.Error(), "\x1b") {
		t.Errorf("the error obeys the server: %q", err)
	}
}

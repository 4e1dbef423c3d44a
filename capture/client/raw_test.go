package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
)

// raw serves bytes that a net/http server would not send. Every connection sends
// first immediately and the answer after the head of the request. It stays open until
// the client closes it. The end of the test waits for that.
func raw(t *testing.T, first, answer string) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections sync.WaitGroup
	t.Cleanup(func() { listener.Close(); connections.Wait() })
	connections.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() {
				defer conn.Close()
				io.WriteString(conn, first)
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					io.WriteString(conn, answer)
				}
				io.Copy(io.Discard, conn)
			})
		}
	})
	return "http://" + listener.Addr().String()
}

// The body of a 101 response is not HTTP and is not read.
func TestRecordSwitchingProtocols(t *testing.T) {
	url := raw(t, "", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Minute, errors.New("it does not end"))
	defer cancel()
	dir, result, err := record(t, ctx, settings(url))
	if err != nil {
		t.Fatal(err)
	}
	check(t, dir, result, "", capture.EndEOF, 0, "http_status error")
	if got := result.Manifest.Source.Status; got == nil || *got != 101 {
		t.Errorf("status %v", got)
	}
}

// Every possible status is stored.
func TestRecordStatus(t *testing.T) {
	for _, status := range []string{"999", "600", "042", "099", "000"} {
		url := raw(t, "", fmt.Sprintf("HTTP/1.1 %s x\r\nContent-Type: text/event-stream\r\nContent-Length: 18\r\n\r\n%s", status, twoEvents))
		dir, result, err := record(t, t.Context(), settings(url))
		if err != nil {
			t.Errorf("%s: %v", status, err)
			continue
		}
		check(t, dir, result, twoEvents, capture.EndEOF, 2, "http_status error")
		if got := result.Manifest.Source.Status; got == nil || fmt.Sprintf("%03d", *got) != status {
			t.Errorf("%s: the manifest has the status %v", status, got)
		}
		if message := result.Findings[0].Message; !strings.Contains(message, "status "+status) {
			t.Errorf("%s: the finding says %q", status, message)
		}
	}
}

// If a capture cannot be written, Record fails before it sends anything.
func TestRecordChecksFirst(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	for name, change := range map[string]func(*Settings){
		"label":     func(s *Settings) { s.Labels = map[string]string{"a": "\xff"} },
		"long":      func(s *Settings) { s.Labels = map[string]string{"a": strings.Repeat("x", 1<<20)} },
		"just fits": func(s *Settings) { s.Labels = map[string]string{"a": strings.Repeat("x", 1<<20-2000)} },
		"framing":   func(s *Settings) { s.Framing = "text" },
		"tool":      func(s *Settings) { s.Tool.Name = "" },
		"body":      func(s *Settings) { s.Body = []byte("[]") },
	} {
		s := settings(server.URL)
		change(&s)
		if _, _, err := record(t, t.Context(), s); err == nil {
			t.Errorf("bad %s: no error", name)
		}
	}
}

// The events of an encoded body are counted after it is stored. The result has the
// full number or none.
func TestRecordCountsCoded(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, twoEvents)
	z.Close()
	for _, c := range []struct {
		name   string
		limit  time.Duration
		end    func(timeout, cancel func())
		events string
		found  []string
	}{
		{"in time", time.Hour, func(_, _ func()) {}, "2", []string{"arrivals_malformed warning"}},
		{"the time limit is reached with the last byte", time.Hour, func(timeout, _ func()) { timeout() }, "2", []string{"arrivals_malformed warning"}},
		{"cancelled with the last byte", time.Hour, func(_, cancel func()) { cancel() }, "unknown", []string{"events_uncounted warning"}},
		{"counting takes too long", 0, func(_, _ func()) {}, "unknown", []string{"events_uncounted warning"}},
	} {
		caller, cancel := context.WithCancel(t.Context())
		ctx, expire := context.WithCancelCause(caller)
		last := func(p []byte) (int, error) {
			c.end(func() { expire(ErrTimeLimit) }, cancel)
			return copy(p, b.Bytes()), io.EOF
		}
		var shown Progress
		s := settings("http://h/")
		s.Progress = func(p Progress) { shown = p }
		frames := 0
		s.Frame = func(*capture.Frame) { frames++ }
		r := &recording{settings: s, dir: filepath.Join(t.TempDir(), "c"), target: "http://h/", started: time.Now(), countLimit: c.limit, response: &http.Response{
			StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"gzip"}},
			Body: &scripted{[]func([]byte) (int, error){last}},
		}}
		result, err := r.run(ctx, caller)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := testkit.Contents(t, r.dir)["response.sse"]; got != b.String() || result.Manifest.End != capture.EndEOF {
			t.Errorf("%s: %d bytes kept, end %s", c.name, len(got), result.Manifest.End)
		}
		if counted(result.Events) != c.events || counted(shown.Events) != c.events {
			t.Errorf("%s: %s events, %s shown, want %s", c.name, counted(result.Events), counted(shown.Events), c.events)
		}
		if result.Events != nil && frames != *result.Events {
			t.Errorf("%s: %d frames were shown of %d events", c.name, frames, *result.Events)
		}
		if diff := cmp.Diff(c.found, codes(result.Findings)); diff != "" {
			t.Errorf("%s: findings (-want +got):\n%s", c.name, diff)
		}
		cancel()
		expire(nil)
	}
}

// net/http does not log bytes that a server sends unasked.
func TestRecordUnsolicited(t *testing.T) {
	var said bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&said)
	whole := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 18\r\n\r\n" + twoEvents
	t.Run("until the connections are closed", func(t *testing.T) {
		for range 20 {
			dir, result, err := record(t, t.Context(), settings(raw(t, "", whole+"HTTP/1.1 200 OK\r\n\r\n")))
			if err != nil {
				t.Fatal(err)
			}
			check(t, dir, result, twoEvents, capture.EndEOF, 2)
			if _, _, err := record(t, t.Context(), settings(raw(t, "SSH-2.0-x\r\n", ""))); err == nil {
				t.Error("a banner is read as a response")
			}
		}
	})
	log.SetOutput(io.Discard)
	if said.Len() > 0 {
		t.Errorf("said %s", said.String())
	}
}

// The request does not announce that the connection will be closed, because a net/http
// server would then not notice that the client is gone.
func TestRecordConnectionHeader(t *testing.T) {
	closes := make(chan bool, 1)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		closes <- r.Close
		answer(200, "text/event-stream", twoEvents)(w, r)
	})
	if _, _, err := record(t, t.Context(), settings(server.URL)); err != nil {
		t.Fatal(err)
	}
	if <-closes {
		t.Error("the request says Connection: close")
	}
}

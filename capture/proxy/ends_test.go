package proxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
)

// TestLimit checks that the capture ends at its limit and the traffic goes on.
func TestLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int64{1, 9, 17, 18, 19} {
		upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, twoEvents)
		})
		f := start(t, upstream, func(s *Settings) { s.MaxBytes = limit })
		if _, body := f.post(t, "/", "{}"); body != twoEvents {
			t.Errorf("body %q", body)
		}
		x := <-f.ended
		kept, end := twoEvents, capture.EndEOF
		if limit < int64(len(twoEvents)) {
			kept, end = twoEvents[:limit], capture.EndLimit
		}
		if x.End != end || !x.Stored || x.Bytes != int64(len(twoEvents)) || f.files(t, x)["response.sse"] != kept {
			t.Errorf("limit %d: %+v", limit, x)
		}
	}
}

// TestTimeout checks that the time limit ends an exchange before and during the response,
// even if the client has stopped reading.
func TestTimeout(t *testing.T) {
	t.Parallel()
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		f := start(t, upstream, func(s *Settings) { s.Timeout = 50 * time.Millisecond })
		response, _ := f.post(t, "/", "{}")
		if x := <-f.ended; response.StatusCode != http.StatusGatewayTimeout || x.Name != "" || x.End != capture.EndLimit {
			t.Errorf("status %d, %+v", response.StatusCode, x)
		}
	})
	t.Run("during", func(t *testing.T) {
		t.Parallel()
		parts := make(chan string)
		f := start(t, stream(t, parts), func(s *Settings) { s.Timeout = time.Hour })
		body := f.open(t).Body
		parts <- twoEvents
		b := receive(t, body, len(twoEvents))
		f.timeout()
		_, err := io.ReadAll(body)
		if x := <-f.ended; err == nil || b != twoEvents || x.End != capture.EndLimit || !x.Stored || f.files(t, x)["response.sse"] != twoEvents {
			t.Errorf("%q, %v, %+v", b, err, x)
		}
	})
	t.Run("stalled", func(t *testing.T) {
		t.Parallel()
		upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				io.WriteString(w, strings.Repeat("x", 1<<20))
			}
		})
		f := start(t, upstream, func(s *Settings) { s.Timeout = time.Hour })
		conn, r := f.dial(t)
		io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
		if _, err := r.ReadByte(); err != nil { // and no more
			t.Fatal(err)
		}
		f.timeout()
		if x := <-f.ended; x.End != capture.EndLimit || !x.Stored {
			t.Errorf("%+v", x)
		}
	})
}

// timeout makes the open exchanges reach their time limit.
func (f *fixture) timeout() {
	f.proxy.open.mu.Lock()
	defer f.proxy.open.mu.Unlock()
	for _, cancel := range f.proxy.open.open {
		cancel(ErrTimeout)
	}
}

// TestDrain checks that open exchanges go on, that new ones are refused, and that those
// left at the end are closed as cancelled.
func TestDrain(t *testing.T) {
	t.Parallel()
	parts := make(chan string)
	f := start(t, stream(t, parts), nil)
	first, second := f.open(t).Body, f.open(t).Body
	ctx, cancel := context.WithCancel(t.Context())
	drained := make(chan error, 1)
	go func() { drained <- f.proxy.Drain(ctx) }()
	for { // until the proxy refuses requests
		response, err := http.Get(f.front.URL)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "" {
			break
		}
		if x := <-f.ended; x.Recorded {
			t.Errorf("a GET request was to be recorded: %+v", x)
		}
	}
	f.mu.Lock()
	if !slices.Equal(f.refused, []int{503}) {
		t.Errorf("refused: %v", f.refused)
	}
	f.mu.Unlock()
	parts <- "data: a\n\n"
	parts <- "data: a\n\n"
	// Either response may have got both parts.
	both := make(chan byte)
	for _, body := range []io.Reader{first, second} {
		go func() {
			for b := make([]byte, 1); ; {
				if _, err := io.ReadFull(body, b); err != nil {
					both <- 0
					return
				}
				both <- b[0]
			}
		}()
	}
	for range 2 * len("data: a\n\n") {
		<-both
	}
	cancel()
	err := <-drained
	if e, ok := errors.AsType[*DrainError](err); !ok || e.Ended != 2 || e.Unsure != 0 {
		t.Errorf("%v", err)
	}
	var stored []string
	for range 2 {
		x := <-f.ended
		if x.End != capture.EndCancelled || !x.Stored {
			t.Errorf("%+v", x)
		}
		stored = append(stored, f.files(t, x)["response.sse"])
	}
	if all := strings.Join(stored, ""); all != "data: a\n\ndata: a\n\n" {
		t.Errorf("stored %q", stored)
	}
	<-both
	<-both
	if err := f.proxy.Drain(ctx); err != nil {
		t.Errorf("drained twice: %v", err)
	}
}

// TestDrainWaits checks that Drain waits for open exchanges and their captures.
func TestDrainWaits(t *testing.T) {
	t.Parallel()
	parts := make(chan string)
	f := start(t, stream(t, parts), nil)
	g := newGate("close", nil)
	g.install(f)
	body := f.open(t).Body
	drained := make(chan error, 1)
	go func() { drained <- f.proxy.Drain(t.Context()) }()
	close(parts)
	io.ReadAll(body)
	<-g.reach
	select {
	case err := <-drained:
		t.Errorf("drained before the capture was closed: %v", err)
	default:
	}
	close(g.open)
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if x := <-f.ended; x.End != capture.EndEOF || !x.Stored {
		t.Errorf("%+v", x)
	}
}

// TestEnds checks how the capture ends when one of the sides leaves.
func TestEnds(t *testing.T) {
	t.Parallel()
	t.Run("client", func(t *testing.T) {
		t.Parallel()
		gone := make(chan struct{})
		upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, twoEvents)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			close(gone)
		})
		f := start(t, upstream, nil)
		response := f.open(t)
		receive(t, response.Body, len(twoEvents))
		response.Body.Close()
		<-gone
		if x := <-f.ended; x.End != capture.EndCancelled || !x.Stored || f.files(t, x)["response.sse"] != twoEvents {
			t.Errorf("%+v", x)
		}
	})
	t.Run("upstream", func(t *testing.T) {
		t.Parallel()
		address := rawUpstream(t, func(conn net.Conn, r *bufio.Reader) {
			readMessage(r)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100\r\n\r\n"+twoEvents)
		})
		f := start(t, "http://"+address, nil)
		b, err := io.ReadAll(f.open(t).Body)
		if x := <-f.ended; err == nil || string(b) != twoEvents || x.End != capture.EndError || !x.Stored || f.files(t, x)["response.sse"] != twoEvents {
			t.Errorf("%q, %v, %+v", b, err, x)
		}
	})
	t.Run("no upstream", func(t *testing.T) {
		t.Parallel()
		// Nobody listens on port 1. A port that was free a moment ago may be that of another test.
		f := start(t, "http://127.0.0.1:1", nil)
		response, body := f.post(t, "/", "{}")
		if x := <-f.ended; response.StatusCode != http.StatusBadGateway || body != "the upstream refused the connection\n" || x.Name != "" || x.End != capture.EndError || x.Status != http.StatusBadGateway {
			t.Errorf("%d %q %+v", response.StatusCode, body, x)
		}
	})
	t.Run("other protocol", func(t *testing.T) {
		t.Parallel()
		for _, answer := range []string{"HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n", "garbage\r\n\r\n"} {
			address := rawUpstream(t, func(conn net.Conn, r *bufio.Reader) {
				readMessage(r)
				io.WriteString(conn, answer)
			})
			f := start(t, "http://"+address, nil)
			response, _ := f.post(t, "/", "{}")
			if x := <-f.ended; response.StatusCode != http.StatusBadGateway || x.Name != "" {
				t.Errorf("%q: %d %+v", answer, response.StatusCode, x)
			}
		}
	})
}

// TestEndAfterCancel checks that a response is not taken for complete if the exchange was
// cancelled before: the upstream may have ended it because of that.
func TestEndAfterCancel(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]capture.End{ErrDrained: capture.EndCancelled, ErrTimeout: capture.EndLimit, context.Canceled: capture.EndCancelled, nil: capture.EndEOF} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if cause != nil {
			cancel(cause)
		}
		x := &passing{proxy: start(t, "http://localhost", nil).proxy, ctx: ctx, length: -1}
		if n, err := (&tap{ReadCloser: http.NoBody, x: x}).Read(make([]byte, 1)); n != 0 || err != io.EOF || x.end != want {
			t.Errorf("%v: %d, %v, end %s", cause, n, err, x.end)
		}
		x.length, x.end = 0, "" // all of the announced length has arrived
		if n, err := (&tap{ReadCloser: http.NoBody, x: x}).Read(make([]byte, 1)); n != 0 || err != io.EOF || x.end != capture.EndEOF {
			t.Errorf("%v: %d, %v, end %s", cause, n, err, x.end)
		}
		cancel(nil)
	}
}

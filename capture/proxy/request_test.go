package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/p20export/p20export/capture"
)

// TestLargeRequest checks that a request that does not fit into the queue passes, and is
// refused if the policy says so.
func TestLargeRequest(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		var mu sync.Mutex
		arrived := 0
		upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body)
			mu.Lock()
			arrived = int(n)
			mu.Unlock()
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, twoEvents)
		})
		f := start(t, upstream, func(s *Settings) { s.QueueBytes, s.FailOnStore = 1000, strict })
		response, body := f.post(t, "/", strings.Repeat("x", 2000))
		x := <-f.ended
		if strict {
			if response.StatusCode != http.StatusServiceUnavailable || x.Name != "" || x.End != capture.EndStorage {
				t.Errorf("status %d, %+v", response.StatusCode, x)
			}
		} else {
			mu.Lock()
			if body != twoEvents || arrived != 2000 {
				t.Errorf("body %q, %d bytes arrived", body, arrived)
			}
			mu.Unlock()
			files := f.files(t, x)
			if _, known := files["request.json"]; known || x.End != capture.EndStorage || !x.Stored {
				t.Errorf("%+v %q", x, files)
			}
		}
		f.mu.Lock()
		if f.queued != 0 {
			t.Errorf("%d bytes are queued", f.queued)
		}
		f.mu.Unlock()
	}
}

// TestUnfinishedRequest checks that a request that never ends leaves room in the queue for
// the others, and is passed on itself.
func TestUnfinishedRequest(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	arrived, end := make(chan struct{}), make(chan struct{})
	upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/large" {
			if n, err := io.CopyN(io.Discard, r.Body, size-20); err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
			close(arrived)
			<-end
		}
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, twoEvents)
	})
	f := start(t, upstream, func(s *Settings) { s.QueueBytes, s.MaxRequestBytes = size, size })
	conn, r := f.dial(t)
	fmt.Fprintf(conn, "POST /large HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size-20))
	<-arrived
	for range 3 {
		if _, body := f.post(t, "/", strings.Repeat("x", size/3)); body != twoEvents {
			t.Errorf("body %q", body)
		}
		if x := <-f.ended; x.End != capture.EndEOF || !x.Stored {
			t.Errorf("%+v", x)
		}
	}
	close(end)
	io.WriteString(conn, strings.Repeat("x", 20))
	if m, err := readMessage(r); err != nil || m.body != twoEvents {
		t.Errorf("%q, %v", m.body, err)
	}
	x := <-f.ended
	if _, known := f.files(t, x)["request.json"]; known || x.End != capture.EndStorage || !x.Stored {
		t.Errorf("%+v", x)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queued != 0 || len(f.failed) != 1 || !errors.Is(f.failed[0], errRequest) {
		t.Errorf("%d bytes are queued, failed %v", f.queued, f.failed)
	}
}

// TestLateRequest checks that a request that ends during the response is stored at once, and
// that its memory is free then.
func TestLateRequest(t *testing.T) {
	t.Parallel()
	for _, size := range []int{500, 2000} { // does and does not fit into the queue
		step := make(chan struct{})
		upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).EnableFullDuplex()
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			n, err := io.Copy(io.Discard, r.Body)
			if int(n) != size || err != nil {
				t.Errorf("%d bytes, %v", n, err)
			}
			io.WriteString(w, twoEvents)
			w.(http.Flusher).Flush()
			<-step
		})
		f := start(t, upstream, func(s *Settings) { s.QueueBytes, s.Sync = 1000+recordingBytes, SyncEach })
		g := newGate("sync", nil)
		close(g.open)
		g.install(f)
		conn, r := f.dial(t)
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", size)
		line, headers, err := readHead(r)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, strings.Repeat("x", size))
		if size < 1000 {
			<-g.reach // the events are written, and so is the request
			f.mu.Lock()
			if f.queued != 0 {
				t.Errorf("%d bytes are queued", f.queued)
			}
			f.mu.Unlock()
		}
		close(step)
		if m, err := readBody(r, message{line: line, headers: headers}); err != nil || m.body != twoEvents {
			t.Errorf("%q, %v", m.body, err)
		}
		x := <-f.ended
		request, known := f.files(t, x)["request.json"]
		if size < 1000 && (x.End != capture.EndEOF || request != strings.Repeat("x", size)) || size > 1000 && (x.End != capture.EndStorage || known) || !x.Stored {
			t.Errorf("%d: %+v", size, x)
		}
	}
}

// TestEndOfRequest checks that the end of a request needs no room in the queue, which may
// have become full since its last byte.
func TestEndOfRequest(t *testing.T) {
	t.Parallel()
	r := &Recorder{settings: &Settings{QueueBytes: 10, Observer: silent{}}}
	b := r.NewRequestBody()
	if err := b.Add([]byte("request")); err != nil {
		t.Fatal(err)
	}
	r.queued.Add(recordingBytes) // as Begin does
	if err := b.Add(nil); err != nil {
		t.Errorf("the end: %v", err)
	}
	b.Complete()
	if body, complete := b.known(); string(body) != "request" || !complete {
		t.Errorf("%q, complete %t", body, complete)
	}
	if err := b.Add([]byte("more")); !errors.Is(err, ErrStorage) || !b.dropped() {
		t.Errorf("more in a full queue: %v, dropped %t", err, b.dropped())
	}
}

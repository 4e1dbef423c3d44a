package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
)

// gate makes the calls of a writer wait until it is opened, or fail.
type gate struct {
	storage
	at    string // the call
	reach chan struct{}
	made  chan struct{} // a capture was created
	open  chan struct{}
	err   error
}

func newGate(at string, err error) *gate {
	return &gate{at: at, reach: make(chan struct{}, 100), made: make(chan struct{}, 1), open: make(chan struct{}), err: err}
}

func (g *gate) pass(call string) error {
	if call != g.at {
		return nil
	}
	g.reach <- struct{}{}
	<-g.open
	return g.err
}

func (g *gate) WriteArrived(p []byte, arrivals []capture.Arrival) (int, error) {
	if err := g.pass("write"); err != nil {
		return 0, err
	}
	return g.storage.WriteArrived(p, arrivals)
}

func (g *gate) Sync() error { return errors.Join(g.pass("sync"), g.storage.Sync()) }

func (g *gate) SetRequest(body []byte) error {
	return errors.Join(g.pass("request"), g.storage.SetRequest(body))
}

func (g *gate) Close(end capture.End) (*capture.Manifest, error) {
	if err := g.pass("close"); err != nil {
		return nil, err
	}
	return g.storage.Close(end)
}

// install puts the gate before the writers of the proxy's captures.
func (g *gate) install(f *fixture) {
	create := f.proxy.recorder.create
	f.proxy.recorder.create = func(root *os.Root, name string, s capture.Settings) (storage, error) {
		if err := g.pass("create"); err != nil {
			return nil, err
		}
		w, err := create(root, name, s)
		if err != nil {
			return nil, err
		}
		signal(g.made)
		return &gate{storage: w, at: g.at, reach: g.reach, open: g.open, err: g.err}, nil
	}
}

// stream starts an upstream that sends what it receives from a channel, and ends the
// response when the channel is closed.
func stream(t *testing.T, parts <-chan string) string {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for {
			select {
			case part, more := <-parts:
				if !more {
					return
				}
				io.WriteString(w, part)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
}

// open sends a request and returns a reader of the response, whose headers have arrived.
func (f *fixture) open(t *testing.T) *http.Response {
	t.Helper()
	response, err := http.Post(f.front.URL, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

// receive reads n bytes.
func receive(t *testing.T, r io.Reader, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSlowStore lets every call of a writer hang. The client receives everything while it
// hangs, and the capture has what fitted into the queue.
func TestSlowStore(t *testing.T) {
	t.Parallel()
	const event = "data: 0123456789\n\n"
	for _, at := range []string{"create", "write", "sync", "close"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			parts := make(chan string)
			f := start(t, stream(t, parts), func(s *Settings) { s.QueueBytes, s.Sync = 1000+recordingBytes, SyncEach })
			g := newGate(at, nil)
			g.install(f)
			body := f.open(t).Body
			const events = 1000
			if at == "close" {
				parts <- event
				receive(t, body, len(event))
				close(parts)
				if rest, err := io.ReadAll(body); len(rest) > 0 || err != nil {
					t.Errorf("%q, %v", rest, err)
				}
				<-g.reach
				close(g.open)
				if x := <-f.ended; x.End != capture.EndEOF || !x.Stored {
					t.Errorf("%+v", x)
				}
				return
			}
			if at == "create" {
				<-g.reach
			}
			for range events {
				parts <- event
				receive(t, body, len(event))
			}
			close(parts)
			if rest, err := io.ReadAll(body); len(rest) > 0 || err != nil {
				t.Errorf("%q, %v", rest, err)
			}
			select {
			case x := <-f.ended:
				t.Errorf("ended while the store hangs: %+v", x)
			default:
			}
			close(g.open)
			x := <-f.ended
			files := f.files(t, x)
			kept := files["response.sse"]
			if x.End != capture.EndStorage || !x.Stored || x.Bytes != events*int64(len(event)) || files["request.json"] != "{}" {
				t.Errorf("%+v", x)
			}
			if len(kept) == 0 || len(kept) > 1000 || strings.Trim(strings.ReplaceAll(kept, event, ""), "") != "" || x.Events != strings.Count(kept, event) {
				t.Errorf("%d events, kept %q", x.Events, kept)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.queued != 0 || len(f.failed) != 1 || !errors.Is(f.failed[0], ErrStorage) {
				t.Errorf("queued %d, failed %v", f.queued, f.failed)
			}
		})
	}
}

// TestBrokenStore lets every call of a writer fail, with both policies.
func TestBrokenStore(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, at := range []string{"create", "write", "sync", "request", "close"} {
		for _, strict := range []bool{false, true} {
			name := at + "/pass"
			if strict {
				name = at + "/fail"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				parts := make(chan string)
				upstream := stream(t, parts)
				if at == "request" { // which is not complete when the response begins
					upstream = serve(t, func(w http.ResponseWriter, r *http.Request) {
						http.NewResponseController(w).EnableFullDuplex()
						w.Header().Set("Content-Type", "text/event-stream")
						w.(http.Flusher).Flush()
						io.Copy(io.Discard, r.Body)
					})
				}
				f := start(t, upstream, func(s *Settings) { s.FailOnStore, s.Sync = strict, SyncEach })
				g := newGate(at, broken)
				close(g.open)
				g.install(f)
				whole := true
				switch at {
				case "request":
					conn, r := f.dial(t)
					io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{")
					line, headers, err := readHead(r)
					if err != nil {
						t.Fatal(err)
					}
					<-g.made
					io.WriteString(conn, "}")
					if _, err := readBody(r, message{line: line, headers: headers}); err != nil {
						t.Error(err)
					}
				case "close":
					body := f.open(t).Body
					close(parts)
					if _, err := io.ReadAll(body); err != nil {
						t.Error(err)
					}
				default:
					response, err := http.Post(f.front.URL, "application/json", strings.NewReader("{}"))
					if err != nil {
						whole = false
						break
					}
					defer response.Body.Close()
					done := make(chan error, 1)
					go func() {
						b, err := io.ReadAll(response.Body)
						if err == nil && string(b) != twoEvents {
							err = errors.New(string(b))
						}
						done <- err
					}()
					if strict {
						if at != "create" {
							select {
							case parts <- "data: a\n\n":
							case err = <-done:
								done <- err
							}
						}
						whole = <-done == nil // without an end of the upstream
					} else {
						parts <- "data: a\n\n"
						<-g.reach
						parts <- "data: b\n\n"
						close(parts)
						if err := <-done; err != nil {
							t.Error(err)
						}
					}
				}
				if late := at == "close" || at == "request"; whole != (late || !strict) {
					t.Errorf("the client has the whole response: %v", whole)
				}
				x := <-f.ended
				if x.End != capture.EndStorage && at != "close" && at != "create" && at != "sync" {
					t.Errorf("%+v", x)
				}
				// The writer itself does not know that Sync failed.
				if want := at != "create" && at != "close"; x.Stored != want {
					t.Errorf("%+v", x)
				}
				f.mu.Lock()
				defer f.mu.Unlock()
				if f.queued != 0 || len(f.failed) == 0 || !errors.Is(f.failed[0], broken) {
					t.Errorf("queued %d, failed %v", f.queued, f.failed)
				}
			})
		}
	}
}

// TestFullQueueFails checks that the exchange ends if the queue is full and the policy
// says so.
func TestFullQueueFails(t *testing.T) {
	t.Parallel()
	parts := make(chan string)
	f := start(t, stream(t, parts), func(s *Settings) { s.QueueBytes, s.FailOnStore = 1000+recordingBytes, true })
	g := newGate("create", nil)
	g.install(f)
	body := f.open(t).Body
	<-g.reach
	part := strings.Repeat("x", 900)
	parts <- part
	receive(t, body, len(part))
	parts <- part // does not fit
	if rest, err := io.ReadAll(body); err == nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	close(g.open)
	if x := <-f.ended; x.End != capture.EndStorage || !x.Stored || f.files(t, x)["response.sse"] != part {
		t.Errorf("%+v", x)
	}
}

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

// TestManyUnclosed checks that a store that hangs does not let captures pile up.
func TestManyUnclosed(t *testing.T) {
	t.Parallel()
	upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, twoEvents)
	})
	f := start(t, upstream, func(s *Settings) { s.MaxExchanges = 1 })
	g := newGate("create", nil)
	g.install(f)
	for i := range 4 {
		for { // the previous exchange may still be counted
			response, body := f.post(t, "/", "{}")
			if response.StatusCode == http.StatusServiceUnavailable {
				continue
			}
			if body != twoEvents {
				t.Errorf("%d: body %q", i, body)
			}
			break
		}
	}
	for range 2 {
		if x := <-f.ended; x.Stored || !x.Recorded || x.Name != "" || x.End != capture.EndEOF {
			t.Errorf("%+v", x)
		}
	}
	close(g.open)
	for range 2 {
		if x := <-f.ended; !x.Stored || x.End != capture.EndEOF {
			t.Errorf("%+v", x)
		}
	}
}

// TestSync checks when what was written is made durable.
func TestSync(t *testing.T) {
	t.Parallel()
	for _, policy := range []SyncPolicy{SyncEach, SyncPolicy(time.Millisecond)} {
		parts := make(chan string)
		f := start(t, stream(t, parts), func(s *Settings) { s.Sync = policy })
		g := newGate("sync", nil)
		close(g.open)
		g.install(f)
		body := f.open(t).Body
		for range 3 {
			parts <- "data: a\n\n"
			receive(t, body, 9)
			<-g.reach
		}
		close(parts)
		if x := <-f.ended; x.End != capture.EndEOF || !x.Stored {
			t.Errorf("%+v", x)
		}
	}
}

var captureName = regexp.MustCompile(`^\d{8}T\d{6}\.\d{6}Z-[a-z2-7]{10}$`)

// TestOpenCapture checks that an open capture is known as such: its claim is locked.
func TestOpenCapture(t *testing.T) {
	t.Parallel()
	parts := make(chan string)
	f := start(t, stream(t, parts), func(s *Settings) { s.Sync = SyncEach })
	g := newGate("sync", nil)
	close(g.open)
	g.install(f)
	body := f.open(t).Body
	parts <- twoEvents
	receive(t, body, len(twoEvents))
	<-g.reach
	entries, err := os.ReadDir(f.captures)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v %v", entries, err)
	}
	name := entries[0].Name()
	files := testkit.Contents(t, filepath.Join(f.captures, name))
	if files["response.sse"] != twoEvents || files["request.json"] != "{}" {
		t.Errorf("%q", files)
	}
	root, err := os.OpenRoot(f.captures)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if used, err := capture.InUse(root, name); !used || err != nil {
		t.Errorf("in use: %v, %v", used, err)
	}
	close(parts)
	if x := <-f.ended; x.Name != name || !captureName.MatchString(name) {
		t.Errorf("%+v", x)
	}
	for path, mode := range map[string]os.FileMode{name: 0o700 | os.ModeDir, name + "/response.sse": 0o600, name + "/request.json": 0o600, name + "/capture.json": 0o600} {
		if info, err := os.Stat(filepath.Join(f.captures, path)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
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
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		f := start(t, "http://"+l.Addr().String(), nil)
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

// TestCounter checks that events are counted as package capture does, up to a size.
func TestCounter(t *testing.T) {
	t.Parallel()
	event := func(n int) string { return "data: " + strings.Repeat("x", n) + "\n\n" }
	for _, test := range []struct {
		framing capture.Framing
		coding  string
		body    string
		want    int
	}{
		{capture.SSE, "", twoEvents + ":\n\ndata: c", 2},
		{capture.SSE, "Identity", twoEvents, 2},
		{capture.SSE, "gzip", twoEvents, -1},
		{capture.NDJSON, "", "{}\n\n{}", 2},
		{capture.JSON, "", "[{},{},{}]", 3},
		{capture.JSON, "", `{"error":1}`, 0},
		{capture.Opaque, "", twoEvents, -1},
		{capture.SSE, "", strings.Repeat(event(1<<20), 9), 9},
		{capture.SSE, "", twoEvents + event(2*maxCounted), -1},
	} {
		c := newCounter(capture.Settings{Framing: test.framing, Source: capture.Source{Headers: map[string]string{"content-encoding": test.coding}}}, &memory{most: DefaultEventBytes})
		for rest := test.body; rest != ""; {
			n := min(len(rest), 100_000)
			c.feed(&block{[]byte(rest[:n]), []capture.Arrival{{Bytes: n, At: time.Now()}}})
			rest = rest[n:]
		}
		if got := c.end(); got != test.want {
			t.Errorf("%s %s: %d, want %d", test.framing, test.coding, got, test.want)
		}
	}
}

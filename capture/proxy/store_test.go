package proxy

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
)

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
					// With FailOnStore, the failure ends the response, unless the upstream
					// ends it first.
					if _, err := readBody(r, message{line: line, headers: headers}); err != nil && !strict {
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

package proxy_test

import (
	"bytes"
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

// A front is a proxy that serves on a local address.
type front struct {
	t        *testing.T
	address  string
	captures string
	proxy    *proxy.Proxy
	server   *http.Server
	root     *os.Root
	stored   func(proxy.Exchange) // called instead of keeping an exchange, if set
	serving  sync.WaitGroup

	mu       sync.Mutex
	begun    int
	queued   int
	changed  sync.Cond // of queued
	failures []error
	finished int
	ended    []proxy.Exchange
	log      bytes.Buffer
}

// The methods of proxy.Observer.
func (f *front) Begun()                    { f.mu.Lock(); f.begun++; f.mu.Unlock() }
func (f *front) Passed(int, time.Duration) {}
func (f *front) Refused(int)               {}
func (f *front) StoreFailed(err error) {
	f.mu.Lock()
	f.failures = append(f.failures, err)
	f.mu.Unlock()
}
func (f *front) Queued(delta int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queued += delta
	f.changed.Broadcast()
}

func (f *front) Ended(x proxy.Exchange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finished++
	if f.stored == nil {
		f.ended = append(f.ended, x)
	} else if x.Name != "" {
		f.stored(x)
	}
}

// Write collects what is logged, except in a soak, which logs too much.
func (f *front) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stored != nil {
		return len(p), nil
	}
	return f.log.Write(p)
}

// start starts a proxy to an upstream.
func start(t *testing.T, upstream string, change func(*proxy.Settings)) *front {
	t.Helper()
	f := prepare(t, upstream, change)
	f.serve()
	return f
}

// prepare returns a proxy that does not serve yet.
func prepare(t *testing.T, upstream string, change func(*proxy.Settings)) *front {
	t.Helper()
	f := &front{t: t, captures: t.TempDir()}
	f.changed.L = &f.mu
	var err error
	f.root, err = os.OpenRoot(f.captures)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.root.Close() })
	log := slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := proxy.Settings{
		Upstream: &url.URL{Scheme: "http", Host: upstream}, Captures: f.root,
		Tool: capture.Tool{Name: "p20export", Version: "0.1.0"},
		Log:  log, Observer: f,
	}
	if change != nil {
		change(&s)
	}
	if f.proxy, err = proxy.New(s); err != nil {
		t.Fatal(err)
	}
	f.server = proxy.NewServer(f.proxy, log)
	return f
}

// serve starts the server.
func (f *front) serve() {
	f.t.Helper()
	listener := listen(f.t)
	f.address = listener.Addr().String()
	f.serving.Go(func() {
		if f.server.TLSConfig == nil {
			f.server.Serve(listener)
		} else {
			f.server.ServeTLS(listener, "", "")
		}
	})
	f.t.Cleanup(func() { f.server.Close(); f.serving.Wait() })
}

// stop waits for the exchanges and their captures, and stops the server.
func (f *front) stop() {
	if err := f.proxy.Drain(f.t.Context()); err != nil {
		f.t.Errorf("drain: %v", err)
	}
	f.server.Close()
	f.serving.Wait()
	f.root.Close()
	if f.begun != f.finished || f.queued != 0 {
		f.t.Errorf("%d exchanges began and %d ended; %d bytes are queued", f.begun, f.finished, f.queued)
	}
}

// awaitQueue waits until at most n bytes wait to be written.
func (f *front) awaitQueue(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.queued > n {
		f.changed.Wait()
	}
}

// awaitCapture waits until the store has a capture with an event, and returns its name.
func (f *front) awaitCapture(s *side) string {
	for s.ctx.Err() == nil {
		found, err := filepath.Glob(filepath.Join(f.captures, "*", "response.*"))
		if err != nil {
			s.failf("%v", err)
		}
		if len(found) == 1 {
			if info, err := os.Stat(found[0]); err == nil && info.Size() > 0 {
				return filepath.Base(filepath.Dir(found[0]))
			}
		}
		runtime.Gosched()
	}
	s.failf("there is no capture")
	return ""
}

// A kept exchange is one that must be recorded.
type kept struct {
	end     capture.End
	framing capture.Framing // sse if empty
	// partial means that the client has received more than the capture has: size bytes.
	partial bool
	size    int
	// unreadable is the finding if the events cannot be read.
	unreadable finding.Code
	// request is the content of request.json, if it is not input.
	request string
	// noRequest means that the request has no body.
	noRequest bool
}

// check compares the captures with what must be recorded, in the order of their starts, and
// with what the client has received.
func (f *front) check(want []kept, client []*message) {
	f.t.Helper()
	if len(f.failures) > 0 && !slices.ContainsFunc(want, func(w kept) bool { return w.end == capture.EndStorage }) {
		f.t.Errorf("storing failed: %v", f.failures)
	}
	var stored []proxy.Exchange
	for _, x := range f.ended {
		if x.Name != "" {
			stored = append(stored, x)
		}
	}
	slices.SortFunc(stored, func(a, b proxy.Exchange) int { return strings.Compare(a.Name, b.Name) })
	responses := slices.DeleteFunc(slices.Clone(client), func(m *message) bool { return m.Start == "" || m.Start[0] == '1' })
	if entries, err := os.ReadDir(f.captures); err != nil || len(entries) != len(want) || len(stored) != len(want) {
		f.t.Fatalf("%d captures, %d recorded exchanges, want %d (%v)", len(entries), len(stored), len(want), err)
	}
	for i, x := range stored {
		w := want[i]
		files := testkit.Contents(f.t, filepath.Join(f.captures, x.Name))
		m, err := capture.DecodeManifest([]byte(files[capture.ManifestName]))
		if err != nil {
			f.t.Fatal(err)
		}
		framing := cmp.Or(w.framing, capture.SSE)
		if m.End != w.end || m.Framing != framing || x.End != w.end || !x.Stored || x.Digest != digest.Of([]byte(files[capture.ManifestName])) {
			f.t.Errorf("capture %d: %s, %s, exchange %+v; want %s, %s", i, m.End, m.Framing, x, w.end, framing)
		}
		response := files[framing.FileName()]
		if got := digest.Of([]byte(response)); got != m.Response().Digest || m.Response().Bytes != int64(len(response)) {
			f.t.Errorf("capture %d: the response is not that of the manifest", i)
		}
		request, exists := files[capture.RequestName]
		if exists == w.noRequest || exists && request != cmp.Or(w.request, input) {
			f.t.Errorf("capture %d: the request is %q", i, request)
		}
		if i >= len(responses) {
			f.t.Errorf("capture %d: the client has received no response", i)
			continue
		}
		r := responses[i]
		switch {
		case w.partial && (len(response) != w.size || !bytes.HasPrefix(r.first, []byte(response))):
			f.t.Errorf("capture %d: the response has %d bytes, want %d of those that the client received", i, len(response), w.size)
		case !w.partial && (r.Digest != m.Response().Digest || r.Bytes != m.Response().Bytes || r.Bytes != x.Bytes):
			f.t.Errorf("capture %d: the response has %d bytes %s, the client received %d bytes %s", i, m.Response().Bytes, m.Response().Digest, r.Bytes, r.Digest)
		}
		var found finding.Finding
		c, err := capture.Open(f.t.Context(), filepath.Join(f.captures, x.Name), "")
		switch {
		case err == nil:
			c.Close()
		case !errors.As(err, &found) || found.Code != w.unreadable:
			f.t.Errorf("capture %d: %v", i, err)
		}
	}
	for _, secret := range []string{"RUN_STARTED", "threadId", "k=v", "smuggled"} {
		if strings.Contains(f.log.String(), secret) {
			f.t.Errorf("the log has content:\n%s", f.log.String())
		}
	}
}

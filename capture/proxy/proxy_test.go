package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
)

const twoEvents = "data: a\n\ndata: b\n\n"

// watcher is an Observer that records its calls.
type watcher struct {
	mu      sync.Mutex
	begun   int
	passed  int
	queued  int
	failed  []error
	refused []int
	ended   chan Exchange
}

func (w *watcher) Begun() { w.mu.Lock(); w.begun++; w.mu.Unlock() }
func (w *watcher) Passed(n int, held time.Duration) {
	w.mu.Lock()
	w.passed += n
	w.mu.Unlock()
}
func (w *watcher) Queued(delta int) { w.mu.Lock(); w.queued += delta; w.mu.Unlock() }
func (w *watcher) StoreFailed(err error) {
	w.mu.Lock()
	w.failed = append(w.failed, err)
	w.mu.Unlock()
}
func (w *watcher) Refused(status int) {
	w.mu.Lock()
	w.refused = append(w.refused, status)
	w.mu.Unlock()
}
func (w *watcher) Ended(x Exchange) { w.ended <- x }

// fixture is a proxy between a client and an upstream.
type fixture struct {
	*watcher
	proxy    *Proxy
	captures string
	front    *httptest.Server
}

// start starts a proxy in front of an upstream. The settings may be changed by change.
func start(t testing.TB, upstream string, change func(*Settings)) *fixture {
	t.Helper()
	f := &fixture{watcher: &watcher{ended: make(chan Exchange, 1000)}, captures: t.TempDir()}
	root, err := os.OpenRoot(f.captures)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	s := Settings{Upstream: to, Captures: root, Tool: capture.Tool{Name: "p20export", Version: "0.1.0"}, Observer: f.watcher}
	if change != nil {
		change(&s)
	}
	if f.proxy, err = New(s); err != nil {
		t.Fatal(err)
	}
	f.front = httptest.NewUnstartedServer(nil)
	f.front.Config = NewServer(f.proxy, f.proxy.settings.Log)
	f.front.Start()
	t.Cleanup(func() {
		f.front.Close()
		root.Close()
	})
	return f
}

// serve starts an upstream.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// post sends a request and returns the response with its body.
func (f *fixture) post(t *testing.T, path, body string) (*http.Response, string) {
	t.Helper()
	response, err := http.Post(f.front.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(b)
}

// files returns the files of a capture by name.
func (f *fixture) files(t *testing.T, x Exchange) map[string]string {
	t.Helper()
	return testkit.Contents(t, filepath.Join(f.captures, x.Name))
}

func TestRecords(t *testing.T) {
	t.Parallel()
	upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range strings.SplitAfter(twoEvents, "\n\n") {
			io.WriteString(w, event)
			w.(http.Flusher).Flush()
		}
	})
	f := start(t, upstream+"/base", nil)
	response, body := f.post(t, "/run?secret=1", `{"runId":"r"}`)
	if response.StatusCode != 200 || body != twoEvents {
		t.Errorf("status %d, body %q", response.StatusCode, body)
	}
	x := <-f.ended
	files := f.files(t, x)
	if x.End != capture.EndEOF || !x.Stored || x.Status != 200 || x.Bytes != int64(len(twoEvents)) || x.Events != 2 {
		t.Errorf("%+v", x)
	}
	if files["response.sse"] != twoEvents || files["request.json"] != `{"runId":"r"}` {
		t.Errorf("files %q", files)
	}
	if want := fmt.Sprintf(`"url": "%s/base/run"`, upstream); !strings.Contains(files["capture.json"], want) {
		t.Errorf("%s lacks %s", files["capture.json"], want)
	}
	if f.queued != 0 || f.passed != len(twoEvents) || f.begun != 1 {
		t.Errorf("queued %d, passed %d, begun %d", f.queued, f.passed, f.begun)
	}
}

package service

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
)

// recorder is a proxy whose captures are appended to a log.
type recorder struct {
	*Store
	logger *Logger
	seen   *seen
	front  *httptest.Server
	proxy  *proxy.Proxy
	ended  chan proxy.Exchange
}

// Of proxy.Observer.
func (r *recorder) Begun()                    {}
func (r *recorder) Passed(int, time.Duration) {}
func (r *recorder) Queued(int)                {}
func (r *recorder) StoreFailed(error)         {}
func (r *recorder) Refused(int)               {}

func (r *recorder) Ended(e proxy.Exchange) {
	if e.Digest != "" {
		r.logger.Add(e.Name)
	}
	r.ended <- e
}

// record starts a proxy before an agent.
func record(t *testing.T, events store.Log, agent http.HandlerFunc, change func(*proxy.Settings)) *recorder {
	t.Helper()
	upstream := httptest.NewServer(agent)
	t.Cleanup(upstream.Close)
	to, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{Store: newStore(t), ended: make(chan proxy.Exchange, 1000)}
	r.logger, r.seen = newLogger(t, r.Store, events)
	s := proxy.Settings{Upstream: to, Captures: r.Root, Tool: capture.Tool{Name: "test", Version: "1"}, Observer: r, Follow: r.logger.Follow}
	if change != nil {
		change(&s)
	}
	if r.proxy, err = proxy.New(s); err != nil {
		t.Fatal(err)
	}
	r.front = httptest.NewServer(r.proxy)
	t.Cleanup(r.front.Close)
	return r
}

// post sends a request of the thread t.
func (r *recorder) post(t *testing.T, path string) *http.Response {
	t.Helper()
	res, err := http.Post(r.front.URL+path, "application/json", strings.NewReader(`{"threadId":"t","runId":"r"}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// exchange sends a request and returns its exchange when it has ended.
func (r *recorder) exchange(t *testing.T, path string) proxy.Exchange {
	t.Helper()
	if _, err := io.Copy(io.Discard, r.post(t, path).Body); err != nil {
		t.Fatal(err)
	}
	return <-r.ended
}

// parts returns an agent that sends an event stream: what it receives from a channel.
func parts(c <-chan string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		for part := range c {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// run is a whole response.
func run() string {
	return testkit.SSE(testkit.Started, testkit.Snapshot, testkit.Finished)
}

// agent answers every request with the whole response.
func agent(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, run())
}

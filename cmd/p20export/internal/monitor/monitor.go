// Package monitor shows what a server of this program does: its log, its health and its
// metrics. None of them contains content of the traffic.
package monitor

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Monitor counts what a server does, and knows whether it is ready. Its methods may be
// called concurrently.
type Monitor struct {
	*metrics
	probe func() error

	serving atomic.Bool // between Serving and Draining
	failing atomic.Bool // whether the last attempt to store something failed
	probing sync.Mutex
}

// New returns a monitor of a server that is not ready yet. After a failure to store
// something, probe checks whether the store can be written again. It must leave nothing
// behind. dropped returns the number of log lines that were dropped.
func New(probe func() error, dropped func() int64) *Monitor {
	return &Monitor{metrics: newMetrics(dropped), probe: probe}
}

// Serving makes the server ready.
func (m *Monitor) Serving() { m.serving.Store(true) }

// Draining ends being ready.
func (m *Monitor) Draining() { m.serving.Store(false) }

// Handler answers requests for /metrics, /healthz and /readyz.
//
// /healthz is 200 as long as the program can answer. /readyz is 503 before Serving, after
// Draining, and while the store cannot be written.
func (m *Monitor) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case !m.serving.Load():
			answer(w, http.StatusServiceUnavailable, "starting or draining")
		case !m.canStore():
			answer(w, http.StatusServiceUnavailable, "the store cannot be written")
		default:
			answer(w, http.StatusOK, "ready")
		}
	})
	return mux
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the client may have left
}

// canStore reports whether the last attempt to store something succeeded. A server that is
// not ready gets no traffic and so makes no attempt; therefore the probe is one.
func (m *Monitor) canStore() bool {
	if !m.failing.Load() {
		return true
	}
	m.probing.Lock()
	defer m.probing.Unlock()
	if m.failing.Load() && m.probe() == nil {
		m.failing.Store(false)
	}
	return !m.failing.Load()
}

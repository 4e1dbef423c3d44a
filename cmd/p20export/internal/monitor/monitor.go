// Package monitor shows what a server of this program does: its log, its health and its
// metrics. None of them contains content of the traffic.
package monitor

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Monitor counts what a server does, and knows whether it is ready. Its methods may be
// called concurrently.
type Monitor struct {
	*metrics
	log      *slog.Logger
	probe    func() error
	patience time.Duration // probeTime, except in tests
	serving  atomic.Bool   // between Serving and Draining

	mu      sync.Mutex
	running *check // nil if there is none
	failing bool   // whether the log says that the store cannot be written
}

// probeTime is the time in which the store must show that it can be written.
const probeTime = time.Second

// New returns a monitor of a server that is not ready yet. probe checks whether the store
// can be written. It must leave nothing behind, and is never called while it runs. dropped
// returns the number of log lines that were dropped.
func New(probe func() error, log *slog.Logger, dropped func() int64) *Monitor {
	return &Monitor{metrics: newMetrics(dropped), log: log, probe: probe, patience: probeTime}
}

// Serving makes the server ready.
func (m *Monitor) Serving() { m.serving.Store(true) }

// Draining ends being ready.
func (m *Monitor) Draining() { m.serving.Store(false) }

// Handler answers requests for /metrics, /healthz and /readyz.
//
// /healthz is 200 as long as the program can answer. /readyz is 503 before Serving, after
// Draining, and while the store cannot be written within a second.
func (m *Monitor) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case !m.serving.Load():
			answer(w, http.StatusServiceUnavailable, "starting or draining")
		case m.Check() != nil:
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

// check is a call of the probe.
type check struct {
	began time.Time
	done  chan struct{}
	err   error // valid when done is closed
}

var errSlow = errors.New("the store does not answer in time")

// Check returns an error if the store cannot be written now. It does not wait for a store
// that hangs. The log says when the store begins to fail, and when it can be written again.
func (m *Monitor) Check() error {
	m.mu.Lock()
	c := m.running
	if c == nil {
		c = &check{began: time.Now(), done: make(chan struct{})}
		m.running = c
		go m.run(c)
	}
	m.mu.Unlock()
	limit := time.NewTimer(m.patience - time.Since(c.began))
	defer limit.Stop()
	select {
	case <-c.done:
		return c.err
	case <-limit.C:
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running != c {
		return c.err
	}
	m.report(errSlow)
	return errSlow
}

func (m *Monitor) run(c *check) {
	err := m.probe()
	m.mu.Lock()
	defer m.mu.Unlock()
	c.err, m.running = err, nil
	m.report(err)
	close(c.done)
}

// report logs the result of a check if it differs from that of the last one.
func (m *Monitor) report(err error) {
	switch {
	case err != nil && !m.failing:
		m.log.Error("the store cannot be written", "error", err)
	case err == nil && m.failing:
		m.log.Info("the store can be written again")
	}
	m.failing = err != nil
}

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

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Monitor knows whether a server is ready, and has its metrics. No label of a metric comes
// from the traffic, so the number of series is bounded. Its methods may be called
// concurrently.
type Monitor struct {
	registry *prometheus.Registry
	log      *slog.Logger
	probe    Probe
	patience time.Duration // probeTime, except in tests
	serving  atomic.Bool   // between Serving and Draining

	mu      sync.Mutex
	running *check // nil if there is none
	failing bool   // whether the log says that the probe fails
}

// Probe checks whether a server can do its work.
type Probe struct {
	// Check must leave nothing behind. It is never called while it runs: requests that
	// come meanwhile share its result.
	Check func() error
	// Fails and Works are said when Check begins to fail, and when it works again.
	Fails, Works string
}

// probeTime is the time in which the probe must succeed.
const probeTime = time.Second

// newMonitor returns a monitor of a server that is not ready yet. dropped returns the number
// of log lines that were dropped.
func newMonitor(probe Probe, log *slog.Logger, dropped func() int64) *Monitor {
	m := &Monitor{registry: prometheus.NewRegistry(), log: log, probe: probe, patience: probeTime}
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "p20export_log_lines_dropped_total",
		Help: "Log lines dropped because standard error was not read.",
	}, func() float64 { return float64(dropped()) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func newCounter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func newCounterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func newGauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

func newGaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

// newHistogram returns a native histogram that also has classic buckets with the given upper
// bounds.
func newHistogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(histogramOpts(name, help, buckets))
}

// newHistogramVec is like newHistogram with a label.
func newHistogramVec(name, help string, buckets []float64, label string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(histogramOpts(name, help, buckets), []string{label})
}

func histogramOpts(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name:                            name,
		Help:                            help,
		Buckets:                         buckets,
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  160,
		NativeHistogramMinResetDuration: time.Hour,
	}
}

// Serving makes the server ready.
func (m *Monitor) Serving() { m.serving.Store(true) }

// Draining ends being ready.
func (m *Monitor) Draining() { m.serving.Store(false) }

// Handler answers requests for /metrics, /healthz and /readyz.
//
// /healthz is 200 as long as the program can answer. /readyz is 503 before Serving, after
// Draining, and while the probe does not succeed within a second.
func (m *Monitor) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case !m.serving.Load():
			answer(w, http.StatusServiceUnavailable, "starting or draining")
		case m.Check() != nil:
			answer(w, http.StatusServiceUnavailable, m.probe.Fails)
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

var errSlow = errors.New("no answer within a second")

// Check returns an error if the probe fails now. It does not wait for a probe that hangs. The
// log says when the probe begins to fail, and when it works again.
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
	err := m.probe.Check()
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
		m.log.Error(m.probe.Fails, "error", err)
	case err == nil && m.failing:
		m.log.Info(m.probe.Works)
	}
	m.failing = err != nil
}

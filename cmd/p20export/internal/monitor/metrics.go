package monitor

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are the metrics of a server. No label comes from the traffic, so the number of
// series is bounded.
type metrics struct {
	*eventLog
	registry    *prometheus.Registry
	exchanges   *prometheus.CounterVec
	refused     *prometheus.CounterVec
	frozen      *prometheus.CounterVec
	bytes       prometheus.Counter
	events      prometheus.Counter
	stored      prometheus.Counter
	storeErrors prometheus.Counter
	open        prometheus.Gauge
	queue       prometheus.Gauge
	latency     prometheus.Histogram
}

// latencyBuckets are the upper bounds of the classic buckets of the added latency, in
// seconds. The goals are 0.1 ms for the median and 0.25 ms for the 99th percentile.
var latencyBuckets = []float64{10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 10e-3, 100e-3, 1}

// newMetrics registers the metrics in a registry of their own.
func newMetrics(dropped func() int64) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		exchanges: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "p20export_exchanges_total",
			Help: "Exchanges that ended, by how the response ended and whether a capture of it was stored.",
		}, []string{"end", "recorded"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "p20export_refused_total",
			Help: "Requests that were not passed on, by the status of the answer.",
		}, []string{"status"}),
		frozen: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "p20export_frozen_total",
			Help: "Runs and captures without a run that the proxy tried to freeze, by verdict.",
		}, []string{"verdict"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "p20export_response_bytes_total",
			Help: "Bytes of response bodies passed to clients.",
		}),
		events: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "p20export_events_total",
			Help: "Events in the responses that were recorded.",
		}),
		stored: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "p20export_stored_captures_total",
			Help: "Captures that were closed and made durable.",
		}),
		storeErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "p20export_store_errors_total",
			Help: "Failures to store an exchange completely.",
		}),
		open: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "p20export_exchanges_open",
			Help: "Exchanges in progress.",
		}),
		queue: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "p20export_queue_bytes",
			Help: "Bytes that wait to be written to captures.",
		}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:                            "p20export_added_latency_seconds",
			Help:                            "Time from reading a part of a response until the proxy can read the next part.",
			Buckets:                         latencyBuckets,
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  160,
			NativeHistogramMinResetDuration: time.Hour,
		}),
	}
	m.registry.MustRegister(m.exchanges, m.refused, m.frozen, m.bytes, m.events, m.stored, m.storeErrors, m.open, m.queue, m.latency,
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "p20export_log_lines_dropped_total",
			Help: "Log lines dropped because standard error was not read.",
		}, func() float64 { return float64(dropped()) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.eventLog = newEventLog(m.registry)
	return m
}

// Begun implements proxy.Observer.
func (m *Monitor) Begun() { m.open.Inc() }

// Passed implements proxy.Observer.
func (m *Monitor) Passed(n int, held time.Duration) {
	m.bytes.Add(float64(n))
	m.latency.Observe(held.Seconds())
}

// Queued implements proxy.Observer.
func (m *Monitor) Queued(delta int) { m.queue.Add(float64(delta)) }

// StoreFailed implements proxy.Observer.
func (m *Monitor) StoreFailed(error) { m.storeErrors.Inc() }

// Frozen counts the result of freezing a run, or a capture without a run.
func (m *Monitor) Frozen(verdict string) { m.frozen.WithLabelValues(verdict).Inc() }

package monitor

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
)

// Recording counts exchanges and what is stored of them. It is a proxy.Observer.
type Recording struct {
	exchanges   *prometheus.CounterVec
	refused     *prometheus.CounterVec
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

// newRecording registers the metrics.
func newRecording(registry *prometheus.Registry) *Recording {
	r := &Recording{
		exchanges:   newCounterVec("p20export_exchanges_total", "Exchanges that ended, by how the response ended and whether a capture of it was stored.", "end", "recorded"),
		refused:     newCounterVec("p20export_refused_total", "Requests that were not passed on, by the status of the answer.", "status"),
		bytes:       newCounter("p20export_response_bytes_total", "Bytes of response bodies passed to clients."),
		events:      newCounter("p20export_events_total", "Events in the responses that were recorded."),
		stored:      newCounter("p20export_stored_captures_total", "Captures that were closed and made durable."),
		storeErrors: newCounter("p20export_store_errors_total", "Failures to store an exchange completely."),
		open:        newGauge("p20export_exchanges_open", "Exchanges in progress."),
		queue:       newGauge("p20export_queue_bytes", "Bytes that wait to be written to captures."),
		latency:     newHistogram("p20export_added_latency_seconds", "Time from reading a part of a response until the proxy can read the next part.", latencyBuckets),
	}
	registry.MustRegister(r.exchanges, r.refused, r.bytes, r.events, r.stored, r.storeErrors, r.open, r.queue, r.latency)
	return r
}

// Begun implements proxy.Observer.
func (r *Recording) Begun() { r.open.Inc() }

// Passed implements proxy.Observer.
func (r *Recording) Passed(n int, held time.Duration) {
	r.bytes.Add(float64(n))
	r.latency.Observe(held.Seconds())
}

// Queued implements proxy.Observer.
func (r *Recording) Queued(delta int) { r.queue.Add(float64(delta)) }

// StoreFailed implements proxy.Observer.
func (r *Recording) StoreFailed(error) { r.storeErrors.Inc() }

// recorded returns the value of the label recorded. An exchange that was refused because it
// could not be stored failed as well.
func recorded(e proxy.Exchange) string {
	switch {
	case e.Stored:
		return "true"
	case e.Recorded || e.End == capture.EndStorage:
		return "failed"
	}
	return "false"
}

// Refused implements proxy.Observer.
func (r *Recording) Refused(status int) { r.refused.WithLabelValues(strconv.Itoa(status)).Inc() }

// Ended implements proxy.Observer.
func (r *Recording) Ended(e proxy.Exchange) {
	r.open.Dec()
	r.exchanges.WithLabelValues(string(e.End), recorded(e)).Inc()
	r.events.Add(float64(max(e.Events, 0))) // -1: not counted
	if e.Stored {
		r.stored.Inc()
	}
}

package monitor

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/p20export/p20export/serve"
)

// Serve is the monitor of a server of threads. It is a serve.Observer, and its Exchanges are
// a proxy.Observer.
type Serve struct {
	*Monitor
	*seals
	// Exchanges counts the requests to agents.
	Exchanges *Recording

	runs         *prometheus.CounterVec
	runTime      prometheus.Histogram
	queued       prometheus.Gauge
	entries      prometheus.Counter
	appendTime   prometheus.Histogram
	appendErrors prometheus.Counter
	orphans      prometheus.Counter
	rewound      prometheus.Counter
	failing      atomic.Pointer[appendFailure] // nil if the last append succeeded

	readers  *prometheus.GaugeVec
	joinTime *prometheus.HistogramVec
	delivery prometheus.Histogram
	sent     prometheus.Counter
	dropped  prometheus.Counter
	refused  *prometheus.CounterVec
}

// The upper bounds of the classic buckets of histograms, in seconds.
var (
	runBuckets      = []float64{0.1, 1, 5, 15, 60, 300, 900, 3600}
	appendBuckets   = []float64{250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 100e-3, 1, 10}
	deliveryBuckets = []float64{100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 100e-3, 1}
	joinBuckets     = []float64{1e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 200e-3, 500e-3, 1, 5}
)

// appendFailure is an append to the log that failed.
type appendFailure struct {
	err error
	at  time.Time
}

// failureTime is the time for which a failed append makes a server not ready. Appends are
// tried again sooner. Without runs nothing is appended, so only the probe counts then.
const failureTime = 10 * time.Second

// NewServe returns a monitor of a server of threads. probe checks whether the log can be
// used, without writing to it. stats returns what the server does. dropped returns the number
// of log lines that were dropped.
func NewServe(probe func() error, stats func() serve.Stats, log *slog.Logger, dropped func() int64) *Serve {
	var s *Serve
	m := newMonitor(Probe{Check: func() error {
		if f := s.failing.Load(); f != nil && time.Since(f.at) < failureTime {
			return f.err
		}
		return probe()
	}, Fails: "the log cannot be used", Works: "the log can be used again"}, log, dropped)
	s = &Serve{
		Monitor: m, seals: newSeals(m.registry), Exchanges: newRecording(m.registry),
		runs:         newCounterVec("p20export_serve_runs_total", "Requests of runs that were accepted and have ended, by outcome.", "outcome"),
		runTime:      newHistogram("p20export_serve_run_seconds", "Time from accepting the request of a run until its end is in the log.", runBuckets),
		queued:       newGauge("p20export_serve_runs_queued", "Requests that wait for the active run of their thread."),
		entries:      newCounter("p20export_serve_entries_total", "Entries of runs appended to the log."),
		appendTime:   newHistogram("p20export_serve_append_seconds", "Time of an append to the log, until the entries are durable.", appendBuckets),
		appendErrors: newCounter("p20export_serve_append_errors_total", "Appends to the log that failed. They are tried again."),
		orphans:      newCounter("p20export_serve_orphans_closed_total", "Runs that this process closed because their process no longer runs."),
		rewound:      newCounter("p20export_serve_threads_rewound_total", "Followed threads that lost entries in the log, and clients that came back with the id of a lost one."),
		readers:      newGaugeVec("p20export_serve_readers", "Clients that read events, by what they read.", "view"),
		joinTime:     newHistogramVec("p20export_serve_join_seconds", "Time from the request of a reader until its first bytes.", joinBuckets, "view"),
		delivery:     newHistogram("p20export_serve_delivery_seconds", "Time from receiving events from the log until a reader takes them.", deliveryBuckets),
		sent:         newCounter("p20export_serve_sent_bytes_total", "Bytes of events sent to readers."),
		dropped:      newCounter("p20export_serve_readers_dropped_total", "Readers that were disconnected because they did not read."),
		refused:      newCounterVec("p20export_serve_refused_total", "Requests that were refused, by the code of the answer.", "code"),
	}
	m.registry.MustRegister(s.runs, s.runTime, s.queued, s.entries, s.appendTime, s.appendErrors, s.orphans, s.rewound,
		s.readers, s.joinTime, s.delivery, s.sent, s.dropped, s.refused,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "p20export_serve_runs_active",
			Help: "Runs that this process executes, or of whose producers it hears.",
		}, func() float64 { return float64(stats().Runs) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "p20export_serve_reader_bytes",
			Help: "Memory for what readers receive.",
		}, func() float64 { return float64(stats().Bytes) }))
	return s
}

// RunEnded implements serve.Observer.
func (s *Serve) RunEnded(outcome serve.Outcome, took time.Duration) {
	s.runs.WithLabelValues(string(outcome)).Inc()
	s.runTime.Observe(took.Seconds())
}

// RunsQueued implements serve.Observer.
func (s *Serve) RunsQueued(delta int) { s.queued.Add(float64(delta)) }

// Appended implements serve.Observer.
func (s *Serve) Appended(entries int, took time.Duration) {
	s.failing.Store(nil)
	s.entries.Add(float64(entries))
	s.appendTime.Observe(took.Seconds())
}

// AppendFailed implements serve.Observer.
func (s *Serve) AppendFailed(err error) {
	s.failing.Store(&appendFailure{err, time.Now()})
	s.appendErrors.Inc()
}

// OrphansClosed implements serve.Observer.
func (s *Serve) OrphansClosed(n int) { s.orphans.Add(float64(n)) }

// ThreadRewound implements serve.Observer.
func (s *Serve) ThreadRewound() { s.rewound.Inc() }

// Reading implements serve.Observer.
func (s *Serve) Reading(view serve.View, delta int) {
	s.readers.WithLabelValues(string(view)).Add(float64(delta))
}

// Joined implements serve.Observer.
func (s *Serve) Joined(view serve.View, took time.Duration) {
	s.joinTime.WithLabelValues(string(view)).Observe(took.Seconds())
}

// Delivered implements serve.Observer.
func (s *Serve) Delivered(took time.Duration) { s.delivery.Observe(took.Seconds()) }

// Sent implements serve.Observer.
func (s *Serve) Sent(bytes int) { s.sent.Add(float64(bytes)) }

// ReaderDropped implements serve.Observer.
func (s *Serve) ReaderDropped() { s.dropped.Inc() }

// Refused implements serve.Observer.
func (s *Serve) Refused(code serve.Refusal) { s.refused.WithLabelValues(string(code)).Inc() }

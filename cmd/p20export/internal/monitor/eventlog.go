package monitor

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// eventLog are the metrics of the event log that a proxy appends to. They are zero without
// one.
type eventLog struct {
	entries  *prometheus.CounterVec
	captures *prometheus.CounterVec
	errors   prometheus.Counter
	rewound  prometheus.Counter
	notLive  prometheus.Counter
	queue    prometheus.Gauge
	behind   atomic.Pointer[func() (int, time.Duration)]
}

// newEventLog registers the metrics.
func newEventLog(registry *prometheus.Registry) *eventLog {
	l := &eventLog{
		entries:  newCounterVec("p20export_event_log_entries_total", "Entries appended to the event log: live, or from closed captures.", "from"),
		captures: newCounterVec("p20export_event_log_captures_total", "Closed captures compared with the event log, by result: complete, none (nothing to append) or failed.", "result"),
		errors:   newCounter("p20export_event_log_errors_total", "Failures to read or write the event log."),
		rewound:  newCounter("p20export_event_log_rewound_total", "Threads that lost entries in the event log."),
		notLive:  newCounter("p20export_event_log_not_live_total", "Exchanges whose events could not all be appended while they arrived."),
		queue:    newGauge("p20export_event_log_queue_bytes", "Bytes of events that wait to be appended to the event log."),
	}
	registry.MustRegister(l.entries, l.captures, l.errors, l.rewound, l.notLive, l.queue,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "p20export_event_log_backlog",
			Help: "Closed captures that are known to wait for the event log, up to 1001.",
		}, func() float64 { captures, _ := l.waiting(); return float64(captures) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "p20export_event_log_behind_seconds",
			Help: "Time for which the first of all closed captures has waited for the event log, or 0 if none waits.",
		}, func() float64 { _, behind := l.waiting(); return behind.Seconds() }))
	return l
}

func (l *eventLog) waiting() (captures int, behind time.Duration) {
	if f := l.behind.Load(); f != nil {
		return (*f)()
	}
	return 0, 0
}

// SetBehind sets what returns the number of closed captures that wait for the event log, and
// the time for which the first has waited.
func (l *eventLog) SetBehind(f func() (captures int, behind time.Duration)) { l.behind.Store(&f) }

// LogAppended counts entries that were appended.
func (l *eventLog) LogAppended(n int, live bool) {
	from := "capture"
	if live {
		from = "live"
	}
	l.entries.WithLabelValues(from).Add(float64(n))
}

// LogFailed counts a failure to read or write the event log.
func (l *eventLog) LogFailed() { l.errors.Inc() }

// LogRewound counts a thread that lost entries.
func (l *eventLog) LogRewound() { l.rewound.Inc() }

// Logged counts the result for a closed capture.
func (l *eventLog) Logged(result string) { l.captures.WithLabelValues(result).Inc() }

// NotLive counts an exchange that could not be appended completely while it was open.
func (l *eventLog) NotLive() { l.notLive.Inc() }

// LogQueued is called when the memory of events that wait changes by delta bytes.
func (l *eventLog) LogQueued(delta int) { l.queue.Add(float64(delta)) }

package monitor

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// seals are the metrics of the seals that a server makes. They are zero if it makes none.
type seals struct {
	sealed    prometheus.Counter
	errors    prometheus.Counter
	rewritten prometheus.Counter
	behind    atomic.Pointer[func() (int, time.Duration)]
}

// newSeals registers the metrics.
func newSeals(registry *prometheus.Registry) *seals {
	s := &seals{
		sealed:    newCounter("p20export_seals_total", "Seals of threads that were made."),
		errors:    newCounter("p20export_seal_errors_total", "Failures to seal a thread, or to find the threads without a seal. They are tried again."),
		rewritten: newCounter("p20export_seal_threads_rewritten_total", "Threads whose entries are not those that were sealed. They are not sealed again."),
	}
	registry.MustRegister(s.sealed, s.errors, s.rewritten,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "p20export_seal_backlog",
			Help: "Threads that are known to wait for a seal, up to 1001.",
		}, func() float64 { threads, _ := s.waiting(); return float64(threads) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "p20export_seal_behind_seconds",
			Help: "Time for which the first of all threads has waited for a seal, or 0 if none waits.",
		}, func() float64 { _, behind := s.waiting(); return behind.Seconds() }))
	return s
}

func (s *seals) waiting() (threads int, behind time.Duration) {
	if f := s.behind.Load(); f != nil {
		return (*f)()
	}
	return 0, 0
}

// SetUnsealed sets what returns the number of threads that wait for a seal, and the time for
// which the first has waited.
func (s *seals) SetUnsealed(f func() (threads int, behind time.Duration)) { s.behind.Store(&f) }

// ThreadSealed counts a seal.
func (s *seals) ThreadSealed() { s.sealed.Inc() }

// SealFailed counts a failure.
func (s *seals) SealFailed() { s.errors.Inc() }

// ThreadRewritten counts a thread that was rewritten.
func (s *seals) ThreadRewritten() { s.rewritten.Inc() }

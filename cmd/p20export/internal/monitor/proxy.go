package monitor

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

// Proxy is the monitor of a recording proxy.
type Proxy struct {
	*Monitor
	*Recording
	*eventLog
	*seals
	frozen *prometheus.CounterVec
}

// NewProxy returns a monitor of a proxy. probe checks whether captures can be stored, and
// dropped returns the number of log lines that were dropped.
func NewProxy(probe func() error, log *slog.Logger, dropped func() int64) *Proxy {
	m := newMonitor(Probe{Check: probe, Fails: "the store cannot be written", Works: "the store can be written again"}, log, dropped)
	p := &Proxy{
		Monitor: m, Recording: newRecording(m.registry), eventLog: newEventLog(m.registry), seals: newSeals(m.registry),
		frozen: newCounterVec("p20export_frozen_total", "Runs and captures without a run that the proxy tried to freeze, by verdict.", "verdict"),
	}
	m.registry.MustRegister(p.frozen)
	return p
}

// Frozen counts the result of freezing a run, or a capture without a run.
func (p *Proxy) Frozen(verdict string) { p.frozen.WithLabelValues(verdict).Inc() }

package monitor

import (
	"strconv"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
)

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
func (m *Monitor) Refused(status int) { m.refused.WithLabelValues(strconv.Itoa(status)).Inc() }

// Ended implements proxy.Observer.
func (m *Monitor) Ended(e proxy.Exchange) {
	m.open.Dec()
	m.exchanges.WithLabelValues(string(e.End), recorded(e)).Inc()
	m.events.Add(float64(max(e.Events, 0))) // -1: not counted
	if e.Stored {
		m.stored.Inc()
	}
}

package monitor

import (
	"strconv"

	"github.com/p20export/p20export/capture/proxy"
)

// Ended implements proxy.Observer.
func (m *Monitor) Ended(e proxy.Exchange) {
	m.open.Dec()
	m.exchanges.WithLabelValues(string(e.End), strconv.FormatBool(e.Stored)).Inc()
	m.events.Add(float64(max(e.Events, 0))) // -1: not counted
	if e.Stored {
		m.stored.Inc()
	}
}

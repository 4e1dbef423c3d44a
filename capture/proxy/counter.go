package proxy

import (
	"strings"

	"github.com/p20export/p20export/capture"
)

// maxCounted limits the size of an event, which a capture.Counter keeps until it is
// complete. The events of a response with a larger one are not counted.
const maxCounted = 4 << 20

// counter counts the events of a response while it is written, if it can.
type counter struct {
	count *capture.Counter // nil if the events are not counted
	since int              // bytes since the last event
}

// newCounter returns a counter for a capture with the given settings.
func newCounter(s capture.Settings) *counter {
	coding := s.Source.Headers["content-encoding"]
	if s.Framing == capture.Opaque || coding != "" && !strings.EqualFold(coding, "identity") {
		return &counter{}
	}
	return &counter{count: capture.NewCounter(s.Framing)}
}

func (c *counter) feed(p []byte) {
	if c.count == nil {
		return
	}
	before := c.count.Events()
	c.count.Feed(p)
	if c.count.Events() > before {
		c.since = 0
	}
	if c.since += len(p); c.since > maxCounted {
		c.count = nil
	}
}

// events returns the number of events when there are no more bytes, or -1.
func (c *counter) events() int {
	if c.count == nil {
		return -1
	}
	c.count.Finish()
	return c.count.Events()
}

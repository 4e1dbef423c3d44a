package proxy

import (
	"strings"

	"github.com/p20export/p20export/capture"
)

// counter counts the events of a response, if they can be counted while it is written.
type counter struct{ *capture.Counter }

// newCounter returns a counter for a capture with the given settings.
func newCounter(s capture.Settings) counter {
	coding := s.Source.Headers["content-encoding"]
	if s.Framing == capture.Opaque || coding != "" && !strings.EqualFold(coding, "identity") {
		return counter{}
	}
	return counter{capture.NewCounter(s.Framing)}
}

func (c counter) feed(p []byte) {
	if c.Counter != nil {
		c.Feed(p)
	}
}

// events returns the number of events when there are no more bytes, or -1.
func (c counter) events() int {
	if c.Counter == nil {
		return -1
	}
	c.Finish()
	return c.Events()
}

package runs

import (
	"net/http"
	"time"
)

// Accepted implements proxy.Receiver.
func (x *run) Accepted(int, http.Header) error {
	x.answered(nil)
	return nil
}

// Event implements proxy.Receiver.
func (x *run) Event(data []byte, arrived time.Time) error { return x.writer.event(data, arrived) }

// Flush implements proxy.Receiver.
func (x *run) Flush() error { return x.writer.flush() }

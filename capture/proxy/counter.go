package proxy

import (
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/p20export/p20export/capture"
)

// maxCounted limits the size of an event, which a capture.Counter keeps until it is
// complete. The events of a response with a larger one are not counted.
const maxCounted = 4 << 20

// uncounted is the memory of an unfinished event that every exchange may take, so that large
// events of some exchanges do not end all others.
const uncounted = 64 << 10

// memory is what the unfinished events of all exchanges take, except uncounted.
type memory struct {
	most  int64
	taken atomic.Int64
}

// share is the part of memory that one exchange takes.
type share struct {
	of    *memory
	taken int64
}

// set makes n the bytes that the exchange takes, and reports whether there is room. If there
// is none, nothing changes.
func (s *share) set(n int) bool {
	more := max(0, int64(n)-uncounted) - s.taken
	if s.of.taken.Add(more) > s.of.most && more > 0 {
		s.of.taken.Add(-more)
		return false
	}
	s.taken += more
	return true
}

// counter finds the events of a response while it is written, if it can. It counts them and
// passes them to the follower.
type counter struct {
	count    *capture.Counter // nil if the events are not found
	follower Follower         // nil if there is none
	since    int              // bytes since the last event
	held     share            // of an event that is not complete

	started  time.Time
	arrivals []capture.Arrival // of the block that is fed, after those that were read
	read     int64             // bytes of the arrivals that were read
	micros   int64             // of the last of them, since started
}

// newCounter returns a counter for a capture with the given settings.
func newCounter(s capture.Settings, events *memory) *counter {
	coding := s.Source.Headers["content-encoding"]
	if s.Framing == capture.Opaque || coding != "" && !strings.EqualFold(coding, "identity") {
		return &counter{}
	}
	return &counter{count: capture.NewCounter(s.Framing), held: share{of: events}, started: s.StartedAt}
}

// follow lets what begin returns receive the events of the named capture.
func (c *counter) follow(name string, s capture.Settings, begin func(string, capture.Settings) Follower) {
	if c.count == nil || begin == nil {
		return
	}
	if c.follower = begin(name, s); c.follower != nil {
		c.count.Frame = func(frame *capture.Frame) { c.follower.Event(frame.Data, c.arrived(frame.End)) }
	}
}

// feed finds the events that a block completes, after it was written.
func (c *counter) feed(b *block) {
	if c.count == nil {
		return
	}
	before := c.count.Events()
	c.arrivals = b.arrivals
	c.count.Feed(b.bytes)
	c.arrived(math.MaxInt64)
	if c.count.Events() > before {
		c.since = 0
	}
	if c.since += len(b.bytes); c.since > maxCounted || !c.held.set(c.count.Held()) {
		c.free()
	}
}

// free ends the search for events.
func (c *counter) free() {
	if c.count != nil {
		c.count = nil
		c.held.set(0)
	}
}

// arrived returns the time of arrival of the bytes before the offset end. It is the time
// that capture.Writer stores.
func (c *counter) arrived(end int64) time.Time {
	for c.read < end && len(c.arrivals) > 0 {
		a := c.arrivals[0]
		c.arrivals = c.arrivals[1:]
		c.read += int64(a.Bytes)
		c.micros = max(c.micros, a.At.Sub(c.started).Microseconds())
	}
	return c.started.UTC().Truncate(time.Microsecond).Add(time.Duration(c.micros) * time.Microsecond)
}

// wake tells the follower that no further event is known yet.
func (c *counter) wake() {
	if c.follower != nil {
		c.follower.Wake()
	}
}

// end ends the response. It returns the number of events, or -1.
func (c *counter) end() int {
	defer c.free()
	if c.follower != nil {
		c.follower.End()
	}
	if c.count == nil {
		return -1
	}
	// The end of the response may complete an event in the capture. But if writing fails,
	// the capture may later be recovered with more bytes, and with another event there.
	c.count.Frame = nil
	c.count.Finish()
	return c.count.Events()
}

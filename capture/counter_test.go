package capture

import (
	"strings"
	"testing"
)

// A Counter that reads pieces counts the same events as a Splitter.
func TestCounter(t *testing.T) {
	in := strings.Repeat(twoEvents, 100) + "data: end\r\r"
	for size := 1; size < 40; size++ {
		c := NewCounter(SSE)
		for rest := in; rest != ""; {
			n := min(size, len(rest))
			c.Feed([]byte(rest[:n]))
			rest = rest[n:]
		}
		if c.Events() != 201 { // including the last: its CR needs no byte after it
			t.Errorf("%d events in pieces of %d before the end", c.Events(), size)
		}
		c.Finish()
		if c.Events() != 201 || c.Findings() != nil {
			t.Errorf("%d events in pieces of %d, %v", c.Events(), size, c.Findings())
		}
	}
}

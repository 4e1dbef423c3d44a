package capture

import (
	"strings"
	"testing"
)

// The counter counts what a splitter of the whole would, piece by piece.
func TestCounter(t *testing.T) {
	in := strings.Repeat(twoEvents, 100) + "data: end\r\r"
	for size := 1; size < 40; size++ {
		c := NewCounter(SSE)
		for rest := in; rest != ""; {
			n := min(size, len(rest))
			c.Feed([]byte(rest[:n]))
			rest = rest[n:]
		}
		if c.Events() != 201 { // the last one too: a CR needs nothing behind it
			t.Errorf("%d events in pieces of %d before the end", c.Events(), size)
		}
		c.Finish()
		if c.Events() != 201 || c.Findings() != nil {
			t.Errorf("%d events in pieces of %d, %v", c.Events(), size, c.Findings())
		}
	}
}

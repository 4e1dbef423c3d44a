package proxy

import (
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
)

// TestCounter checks that events are counted as package capture does, up to a size.
func TestCounter(t *testing.T) {
	t.Parallel()
	event := func(n int) string { return "data: " + strings.Repeat("x", n) + "\n\n" }
	for _, test := range []struct {
		framing capture.Framing
		coding  string
		body    string
		want    int
	}{
		{capture.SSE, "", twoEvents + ":\n\ndata: c", 2},
		{capture.SSE, "Identity", twoEvents, 2},
		{capture.SSE, "gzip", twoEvents, -1},
		{capture.NDJSON, "", "{}\n\n{}", 2},
		{capture.JSON, "", "[{},{},{}]", 3},
		{capture.JSON, "", `{"error":1}`, 0},
		{capture.Opaque, "", twoEvents, -1},
		{capture.SSE, "", strings.Repeat(event(1<<20), 9), 9},
		{capture.SSE, "", twoEvents + event(2*maxCounted), -1},
	} {
		c := newCounter(capture.Settings{Framing: test.framing, Source: capture.Source{Headers: map[string]string{"content-encoding": test.coding}}}, &memory{most: DefaultEventBytes})
		for rest := test.body; rest != ""; {
			n := min(len(rest), 100_000)
			c.feed(&block{[]byte(rest[:n]), []capture.Arrival{{Bytes: n, At: time.Now()}}})
			rest = rest[n:]
		}
		if got := c.end(); got != test.want {
			t.Errorf("%s %s: %d, want %d", test.framing, test.coding, got, test.want)
		}
	}
}

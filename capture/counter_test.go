package capture

import (
	"runtime"
	"slices"
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

// A piece can be overwritten after Feed, although nothing of it is copied but the begin of an event.
func TestCounterPieces(t *testing.T) {
	in := "\ufeff" + strings.Repeat("data: 1\n\ndata:2\r\n\r\nid: x\ndata: a\ndata: b\n\n", 20)
	for size := 1; size < 60; size++ {
		var got []string
		c := NewCounter(SSE)
		c.Frame = func(f *Frame) { got = append(got, string(f.Data)) }
		piece := make([]byte, size)
		for rest := in; rest != ""; {
			n := copy(piece, rest)
			c.Feed(piece[:n])
			rest = rest[n:]
			clear(piece)
		}
		c.Finish()
		if want := slices.Repeat([]string{"1", "2", "a\nb"}, 20); !slices.Equal(got, want) {
			t.Errorf("pieces of %d: %q", size, got)
		}
	}
}

// A Counter takes little memory: there is one for each response that is recorded.
func TestCounterMemory(t *testing.T) {
	piece := []byte(strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n\n", 100))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := NewCounter(SSE)
	for range 10 {
		c.Feed(piece)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; c.Events() != 1000 || got > 4<<10 {
		t.Errorf("%d events, %d bytes were allocated", c.Events(), got)
	}
}

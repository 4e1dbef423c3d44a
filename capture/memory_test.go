package capture

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

// endless is a reader of n bytes of a repeated pattern.
type endless struct {
	pattern string
	n       int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), e.n)]
	for n := copy(p, e.pattern); n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
	e.n -= len(p)
	return len(p), nil
}

// Bytes that are not data take no memory, before or within an event.
func TestSplitConstantMemory(t *testing.T) {
	const long = 8 << 20
	for _, c := range []struct {
		name, before, pattern, after string
		framing                      Framing
		limit                        int64
		want                         int
	}{
		{"comment", "data: x\n:", "c", "\n\n", SSE, MaxEventBytes, 1},
		{"unknown field", "data: x\n", "f", "\n\n", SSE, MaxEventBytes, 1},
		{"many comments", "data: x\n", ":c\r\n", "\n\n", SSE, MaxEventBytes, 1},
		{"blank lines", "", "\n", "data: x\n\n", SSE, MaxEventBytes, 1},
		{"event too large", "data: ", "x", "\n\ndata: x\n\n", SSE, 1 << 10, 2},
		{"line too large", "", "x", "\nx\n", NDJSON, 1 << 10, 2},
		{"blank ndjson", "", "\n \r", "x\n", NDJSON, MaxEventBytes, 1},
		{"element too large", "[", "[", "", JSON, 1 << 10, 0},
		{"string too large", `["`, "x", `",1]`, JSON, 1 << 10, 2},
		{"space in array", "[", " ", "1]", JSON, MaxEventBytes, 1},
		{"behind the array", "[1]", "x", "", JSON, MaxEventBytes, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewSplitter(io.MultiReader(strings.NewReader(c.before), &endless{c.pattern, long}, strings.NewReader(c.after)), c.framing)
			s.limit = c.limit
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			frames := 0
			for {
				_, err := s.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				frames++
			}
			runtime.ReadMemStats(&after)
			if frames != c.want {
				t.Errorf("%d frames, want %d", frames, c.want)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 2*bufferBytes {
				t.Errorf("%d bytes were allocated for %d bytes of input", got, long)
			}
			if len(s.buf) != bufferBytes || cap(s.event.data) > bufferBytes {
				t.Errorf("buffers of %d and %d bytes at the end", len(s.buf), cap(s.event.data))
			}
		})
	}
}

package capture

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// The first bytes of a response are kept for every framing, and the response is read once.
func TestHead(t *testing.T) {
	const text = `{"detail":"no"} and more` + "\n"
	for _, framing := range []Framing{SSE, NDJSON, JSON, ""} {
		for limit, want := range map[int]string{0: "", 8: text[:8], len(text): text, 1 << 20: text} {
			c, err := OpenReader(iotest.OneByteReader(strings.NewReader(text)), "response", framing)
			if err != nil {
				t.Fatal(err)
			}
			c.KeepHead(limit)
			for err == nil {
				_, err = c.Next()
			}
			if err != io.EOF {
				t.Fatal(err)
			}
			if kept, more := c.Head(); string(kept) != want || more != (limit < len(text)) {
				t.Errorf("%s, limit %d: %q, more %t", framing, limit, kept, more)
			}
			if c.Bytes() != int64(len(text)) {
				t.Errorf("%d bytes were read", c.Bytes())
			}
		}
	}
	c, err := OpenReader(strings.NewReader(text), "response", SSE)
	if err != nil {
		t.Fatal(err)
	}
	if kept, more := c.Head(); kept != nil || more {
		t.Errorf("%q is kept without KeepHead", kept)
	}
}

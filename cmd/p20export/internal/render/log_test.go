package render

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/store"
)

// A long list has one heading, and is printed before it is complete.
func TestLongList(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := New(&out, Text, record.Tool{})
	const threads = 5*blockRows + 3
	for i := range threads {
		p.LogThread(store.Thread{Key: store.Key{Thread: fmt.Sprint("thread-", i)}, Last: 1, UpdatedAt: time.Unix(0, 0)}, false)
		if len(p.block) > blockRows {
			t.Fatalf("%d rows are in memory", len(p.block))
		}
	}
	if err := p.Close(nil); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 1+threads || !strings.HasPrefix(lines[0], "THREAD ") || !strings.HasPrefix(lines[threads], fmt.Sprintf("thread-%d ", threads-1)) {
		t.Errorf("%d lines for %d threads, from %q to %q", len(lines), threads, lines[0], lines[len(lines)-1])
	}
}

// Both framings of log cat have exactly the events that are printed, for any data,
// and data without line breaks is printed byte for byte.
func TestLogEventFraming(t *testing.T) {
	t.Parallel()
	data := rapid.OneOf(
		rapid.SliceOf(rapid.SampledFrom([]byte("\r\n\" {}:,\\a\xff1"))),
		rapid.Map(rapid.SampledFrom([]string{`{"a":1}`, "{\n\"a\": \"b c\"\r\n}", "[1,\n2]", "data: x", "", "id: 7"}), func(s string) []byte { return []byte(s) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(data, 1, 5).Draw(t, "events")
		var lines, stream bytes.Buffer
		for framing, out := range map[capture.Framing]*bytes.Buffer{capture.NDJSON: &lines, capture.SSE: &stream} {
			p := New(out, Text, record.Tool{})
			for i, e := range events {
				p.LogEvent(&store.Entry{Position: int64(i + 1), Kind: store.Event, Data: e}, framing)
			}
			if err := p.Close(nil); err != nil {
				t.Fatal(err)
			}
		}
		got := bytes.Split(bytes.TrimSuffix(lines.Bytes(), []byte("\n")), []byte("\n"))
		if len(got) != len(events) {
			t.Fatalf("%d lines for %d events: %q", len(got), len(events), lines.Bytes())
		}
		rest := stream.Bytes()
		for i, e := range events {
			if !bytes.ContainsAny(e, "\r\n") && !bytes.Equal(got[i], e) {
				t.Fatalf("event %q is the line %q", e, got[i])
			}
			text, after, found := bytes.Cut(rest, []byte("\n\n"))
			text, ok := bytes.CutPrefix(text, fmt.Appendf(nil, "id: %d\ndata: ", i+1))
			if !found || !ok {
				t.Fatalf("event %d is missing in %q", i+1, stream.Bytes())
			}
			if text = bytes.ReplaceAll(text, []byte("\ndata: "), []byte("\n")); !bytes.ContainsRune(e, '\r') && !bytes.Equal(text, e) {
				t.Fatalf("event %q is %q as a server-sent event", e, text)
			}
			rest = after
		}
		if len(rest) > 0 {
			t.Fatalf("%q follows the events", rest)
		}
	})
}

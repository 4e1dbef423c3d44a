package capture

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAppendSSE(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ id, data, want string }{
		{"7", `{"type":"X"}`, "id: 7\ndata: {\"type\":\"X\"}\n\n"},
		{"", "a", "data: a\n\n"},
		{"7.1", "", "id: 7.1\ndata: \n\n"},
		{"1", "a\nb\rc\r\nd", "id: 1\ndata: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"1", "\n\n", "id: 1\ndata: \ndata: \ndata: \n\n"},
	} {
		if got := string(AppendSSE([]byte("before"), test.id, []byte(test.data))); got != "before"+test.want {
			t.Errorf("%q with the id %q is %q", test.data, test.id, got)
		}
	}
}

// A reader gets the events that were written, and clients that look only for two line feeds
// find the same ones.
func TestAppendSSERoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOf(soup("data: x", "id: 1", ":", " ", "{}", "\n", "\r", "\r\n", "\x00", "\uFEFF", "\xff")).Draw(t, "events")
		var text []byte
		for _, e := range events {
			text = AppendSSE(text, "1", []byte(e))
		}
		s := NewSplitter(bytes.NewReader(text), SSE)
		for _, e := range events {
			f, err := s.Next()
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(e); string(f.Data) != want {
				t.Fatalf("%q is read as %q", e, f.Data)
			}
		}
		if _, err := s.Next(); err != io.EOF || len(s.Findings()) != 0 {
			t.Fatalf("after the last event: %v, %v", err, s.Findings())
		}
		if n := bytes.Count(text, []byte("\n\n")); n != len(events) {
			t.Fatalf("%d events end %d times in %q", len(events), n, text)
		}
	})
}

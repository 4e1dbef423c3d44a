package capture

import (
	"slices"
	"testing"
)

func TestFramings(t *testing.T) {
	for in, want := range map[string]Framing{
		"": SSE, " \n": SSE, "data: {}": SSE, ": c": SSE, "{": NDJSON, " \t\r\n{": NDJSON, "[": JSON, "\uFEFF [": JSON,
		"\uFEFF\uFEFF[": SSE, "\xEF\xBB": SSE, "\uFEFF": SSE,
	} {
		if got := DetectFraming([]byte(in)); got != want {
			t.Errorf("DetectFraming(%q) = %s, want %s", in, got, want)
		}
	}
	for _, f := range []Framing{SSE, NDJSON, JSON} {
		if got, err := ParseFraming(string(f)); got != f || err != nil {
			t.Errorf("ParseFraming(%q) = %q, %v", f, got, err)
		}
	}
	for _, s := range []string{"", "SSE", "sse ", "text"} {
		if got, err := ParseFraming(s); err == nil {
			t.Errorf("ParseFraming(%q) = %q, want an error", s, got)
		}
	}
	if got := []string{SSE.FileName(), NDJSON.FileName(), JSON.FileName()}; !slices.Equal(got, []string{"response.sse", "response.ndjson", "response.json"}) {
		t.Errorf("file names %q", got)
	}
}

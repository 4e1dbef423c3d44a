package capture

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
)

// The forms that commonFrame recognizes.
func TestCommonFrame(t *testing.T) {
	for in, want := range map[string]string{
		"data: {}\n\n":          "{}",
		"data: a\n\ndata: b":    "a",
		"data: \n\n":            "",
		"data:  a\t\n\n":        " a\t",
		"data: a\n\n\r":         "a",
		"data: 0123456789\n\n":  "0123456789",
		"data: 0123456789a\n\n": "not common",
		"data: a\n":             "not common",
		"data: a":               "not common",
		"data: a\n\r\n":         "not common",
		"data: a\r\n\r\n":       "not common",
		"data: a\rb\n\n":        "not common",
		"data: a\ndata: b\n\n":  "not common",
		"data:a\n\n":            "not common",
		"data\n\n":              "not common",
		": c\ndata: a\n\n":      "not common",
		"\n":                    "not common",
		"":                      "not common",
	} {
		s := NewSplitter(nil, SSE)
		s.limit = 10
		s.buf, s.end = []byte(in), len(in)
		got := "not common"
		if s.commonFrame() {
			got = string(s.frame.Data)
		} else if s.pos != 0 {
			t.Errorf("%q: %d bytes were consumed", in, s.pos)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// Frames and findings, including every position, are the same with and without
// commonFrame.
func TestCommonFrameChangesNothing(t *testing.T) {
	starts := rapid.SampledFrom([]string{"data: ", "data: ", "data:", "data", "\uFEFFdata: ", ": ", "event: ", "\n", "\r", ""})
	ends := rapid.SampledFrom([]string{"\n\n", "\n\n", "\n", "\r\n\r\n", "\r\r", "\n\r\n", "\r\n\n", "\r", ""})
	values := rapid.OneOf(
		rapid.SampledFrom([]string{"{}", "", "\r", "a\rb", "a\rdata: b", "a\ndata: b", " ", "long enough for the limit"}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) }),
	)
	events := rapid.Custom(func(t *rapid.T) string {
		return starts.Draw(t, "start") + values.Draw(t, "value") + ends.Draw(t, "end")
	})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(events, 0, 12).Draw(t, "events"), "")
		sizes := rapid.SliceOfN(rapid.IntRange(0, 40), 0, 40).Draw(t, "sizes")
		hesitant := rapid.Bool().Draw(t, "hesitant")
		limit := rapid.SampledFrom([]int64{3, 10, MaxEventBytes}).Draw(t, "limit")
		splitter := func() *Splitter {
			s := NewSplitter(&pieces{in: []byte(in), sizes: sizes, hesitant: hesitant}, SSE)
			s.limit = limit
			return s
		}
		plain := splitter()
		plain.step = plain.nextEvent
		wantFrames, wantFindings := collect(t, plain)
		gotFrames, gotFindings := collect(t, splitter())
		if diff := cmp.Diff(wantFrames, gotFrames); diff != "" {
			t.Fatalf("%q: frames (-without +with):\n%s", in, diff)
		}
		if diff := cmp.Diff(wantFindings, gotFindings); diff != "" {
			t.Fatalf("%q: findings (-without +with):\n%s", in, diff)
		}
	})
}

// collect returns copies of all frames, and the findings.
func collect(t failer, s *Splitter) (frames []Frame, findings []finding.Finding) {
	for {
		f, err := s.Next()
		if err == io.EOF {
			return frames, s.Findings()
		}
		if errors.Is(err, errLater) {
			continue
		}
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		frame := *f
		frame.Data = bytes.Clone(f.Data)
		frames = append(frames, frame)
	}
}

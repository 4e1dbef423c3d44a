package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/difference"
	"github.com/p20export/p20export/project/record"
)

func TestLater(t *testing.T) {
	for us, want := range map[int64]string{
		0: "the same time in another format", 1: "1µs later in B", -1_500_000: "1.5s earlier in B",
		86_400_000_000: "1 day later in B", 315506361600000000: "3651694 days later in B", 2*86_400_000_000 + 61_000_000: "2 days 1m1s later in B",
	} {
		if got := timeShift(us); got != want {
			t.Errorf("%d: %q, want %q", us, got, want)
		}
	}
}

// Lines have at most 120 columns and no control characters, for values of any length and
// content.
func TestDifferingLines(t *testing.T) {
	d := digest.Of(nil)
	other := digest.Of([]byte("x"))
	for _, s := range []string{"x", "宽", "\x1b", "\U000e0001", "e\u0301", "\\", "\"", "\n"} {
		long := strings.Repeat(s, 256)
		a, b := artifact.New(), artifact.New()
		a.RunIDRef, b.RunIDRef = long+"1", long+"2"
		a.ThreadIDRef, b.ThreadIDRef = "1"+long, "2"+long
		for i := range 1000 {
			a.Messages = append(a.Messages, artifact.Message{ID: strings.Repeat("i", i), Role: "user", Content: long})
		}
		b.Messages = []artifact.Message{a.Messages[999], {ID: long, Role: "developer", Content: long + long, Name: long}, a.Messages[998]}
		b.Messages[0].Content += "y"
		b.Messages[0].Name = long
		row := difference.Row{Verdict: project.Differs, A: difference.File{File: "a", Digest: &d}, B: difference.File{File: "b", Digest: &other}}
		row.Differences, row.Same = difference.Compare(a, b)
		var out bytes.Buffer
		p := New(&out, Text, record.Tool{})
		p.Diff(row)
		if err := p.Close(nil); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); uniseg.StringWidth(line) > 120 || strings.ContainsAny(line, "\x1b\U000e0001") {
				t.Errorf("%q: %d columns: %q", s, uniseg.StringWidth(line), line)
			}
		}
		if !strings.Contains(out.String(), "messages  0 identical") && !strings.Contains(out.String(), "messages  1 identical") {
			t.Errorf("%q:\n%.500s", s, out.String())
		}
	}
}

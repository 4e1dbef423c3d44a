package render

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
)

// The line of a batch has what is known: the total or the part that was read, the rate and
// the time left.
func TestBatchLine(t *testing.T) {
	for _, test := range []struct {
		bytes             bool
		count, read, size int64
		sum               int64
		took              time.Duration
		want              string
	}{
		{false, 0, 0, 0, 0, 3 * time.Second, "looking for captures, 3s"},
		{false, 0, 0, 3, 0, time.Second, "captures: 0 of 3, 0.0/s"},
		{false, 0, 0, 3, 3 << 20, time.Second, "captures: 0 of 3, 3,145,728 bytes read, 0.0/s"},
		{false, 5000, 5100, 20000, 0, 10 * time.Second, "captures: 5,000 of 20,000, 500/s, 30s left"},
		{false, 3, 9, 10, 0, 2 * time.Second, "captures: 3 of 10, 1.5/s, 5s left"},
		{false, 1200, 1500, 0, 0, time.Second, "captures: 1,200, 1,200/s"},
		{false, 10, 10, 10, 0, time.Second, "captures: 10 of 10, 10/s, 0s left"},
		{true, 400, 1 << 20, 4 << 20, 0, time.Second, "captures: 400, 25%, 400/s, 3s left"},
		{true, 400, 1 << 20, 0, 0, time.Minute, "captures: 400, 6.7/s"},
	} {
		b := &BatchProgress{inputs: "captures", bytes: test.bytes, read: func() (int64, int64) { return test.read, test.size }}
		b.count.Store(test.count)
		b.Read(test.sum)
		if got := b.describe(test.took); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// Without a terminal there is no progress, and results are not delayed.
func TestBatchWithoutTerminal(t *testing.T) {
	var out, shown bytes.Buffer
	p := New(&out, Text, record.Tool{})
	b := p.NewBatchProgress(&shown, "captures", false, func() (int64, int64) { return 1, 2 }, nil)
	p.Note("a result")
	if !p.Flush() || out.String() != "a result\n" {
		t.Errorf("%q", out.String())
	}
	b.Done()
	b.End()
	if shown.Len() > 0 {
		t.Errorf("%q", shown.String())
	}
}

// Results that share a terminal with the line are all written, before, while and after the
// line is shown, and never partly.
func TestBatchResults(t *testing.T) {
	var screen bytes.Buffer
	b := &BatchProgress{out: &screen, inputs: "captures", read: func() (int64, int64) { return 1, 2 }, counts: func() string { return "1 frozen" }}
	b.w, b.started, b.position = &screen, time.Now(), b.current
	b.text = func() string { return "the line" }
	for i, step := range []func(){func() {}, b.show, b.Done, b.End} {
		step()
		text := "lt\n" + strings.Repeat("result\n", i+1) + "resu"
		if i == 0 {
			text = strings.TrimPrefix(text, "lt\n")
		}
		if n, err := io.WriteString(b, text); n != len(text) || err != nil {
			t.Errorf("step %d: %d, %v", i, n, err)
		}
	}
	if got := screen.String(); !strings.HasSuffix(got, "resu") || strings.Count(got, "result\n") != 1+2+3+4+3 || strings.Count(got, "the line") == 0 || !regexp.MustCompile(`captures: 1 in 0s, [0-9,.]+/s: 1 frozen\n`).MatchString(got) {
		t.Errorf("%q", got)
	}
}

// The counts are those of all rows, also of captures without a run.
func TestCounts(t *testing.T) {
	var tally Tally
	if got := tally.Counts(); got != "" {
		t.Errorf("%q", got)
	}
	for i, v := range []project.Verdict{project.Failed, project.Skipped, project.Frozen, project.Failed, project.Refused} {
		row := freeze.Row{Verdict: v}
		if i > 0 {
			row.Run = &i
		}
		tally.AddRun(row)
	}
	if got := tally.Counts(); got != "1 frozen, 1 refused, 2 error, 1 skipped" {
		t.Errorf("%q", got)
	}
}

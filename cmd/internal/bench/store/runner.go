package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
)

// runnerName is the name of the runner that is compared with the logs.
const runnerName = "InMemoryAgentRunner"

// comparedRuns is the number of runs of the thread that is read.
const comparedRuns = 1000

// A comparison is what the script measured. Times are in seconds.
type comparison struct {
	Append    []float64 `json:"append"`    // of a run in a new thread
	Grown     []float64 `json:"grown"`     // of a run in a thread of comparedRuns runs
	Connect   []float64 `json:"connect"`   // reading that thread
	Connected int       `json:"connected"` // events that it returns
}

// runner compares the InMemoryAgentRunner with the log in memory and with the others, with the
// same runs.
func runner(ctx context.Context, s *settings) (string, error) {
	peer, err := s.compare(ctx)
	if err != nil {
		return "", err
	}
	var t strings.Builder
	t.WriteString(page.Row("what", "append a run, events/s", fmt.Sprintf("after %d runs, events/s", comparedRuns), "read the thread (s)", "events read"))
	t.WriteString("|---|--:|--:|--:|--:|\n")
	row := func(name string, c comparison) {
		t.WriteString(page.Row(name, perSecond(c.Append), perSecond(c.Grown), page.Number(page.Median(c.Connect)), fmt.Sprint(c.Connected)))
	}
	row(runnerName, peer)
	for _, name := range s.logs {
		for _, batch := range []int{1, 100} {
			c, err := s.sameAsRunner(ctx, name, batch)
			if err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
			row(fmt.Sprintf("%s, %d at a time", name, batch), c)
		}
	}
	return t.String() + page.Measured(s.rounds), nil
}

// perSecond formats the events of a run divided by the median of times.
func perSecond(seconds []float64) string {
	return fmt.Sprintf("%.0f", runEvents/page.Median(seconds))
}

// sameAsRunner does with a log what the script does with the runner. The entries that end
// streams are not appended in the measured time, because the runner has none.
func (s *settings) sameAsRunner(ctx context.Context, name string, batch int) (c comparison, err error) {
	l, err := s.open(ctx, name)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, l.CloseAndRemove()) }()
	run := func(w *writer) (float64, error) {
		begun := time.Now()
		err := w.write(ctx, runEvents, batch)
		seconds := time.Since(begun).Seconds()
		return seconds, errors.Join(err, w.write(ctx, 1, 1))
	}
	history := l.newWriter("history")
	if err := history.write(ctx, comparedRuns*(runEvents+1), fillBatch); err != nil {
		return c, err
	}
	for round := range s.rounds {
		added, err := run(l.newWriter(fmt.Sprintf("append-%d", round)))
		if err != nil {
			return c, err
		}
		grown, err := run(history)
		if err != nil {
			return c, err
		}
		r, err := l.read(ctx, history.thread)
		if err != nil {
			return c, err
		}
		c.Append, c.Grown, c.Connect = append(c.Append, added), append(c.Grown, grown), append(c.Connect, r.seconds)
		c.Connected = int(r.entries)
		s.progress(round, name, "%d at a time: read in %.2f s", batch, r.seconds)
	}
	return c, nil
}

// compare runs the script that measures the runner.
func (s *settings) compare(ctx context.Context) (comparison, error) {
	var c comparison
	options, err := json.Marshal(map[string]int{
		"rounds": s.rounds, "runs": comparedRuns, "events": runEvents, "text": stampSize + textSize,
	})
	if err != nil {
		return c, err
	}
	cmd := exec.CommandContext(ctx, "node", "--max-old-space-size=8192", s.runner)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(options), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return c, fmt.Errorf("%s: %w", s.runner, err)
	}
	if err := json.Unmarshal(out, &c); err != nil {
		return c, fmt.Errorf("%s: %w", s.runner, err)
	}
	fmt.Fprintf(os.Stderr, "  %s: %d events were read\n", runnerName, c.Connected)
	return c, nil
}

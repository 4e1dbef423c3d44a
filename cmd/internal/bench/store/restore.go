package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// A restoration is how long restoring took, in milliseconds.
type restoration struct{ open, last, middle float64 }

// restore restores the conversations of the last run and of the one in the middle, and returns
// the first of them.
func (l *log) restore(ctx context.Context, key store.Key, runs int) (r restoration, last *restore.Result, err error) {
	begun := time.Now()
	t, err := restore.Open(ctx, l.Log, key, restore.Options{})
	if err != nil {
		return r, nil, err
	}
	r.open = milliseconds(begun)
	if len(t.Graph.Nodes) != runs {
		return r, nil, fmt.Errorf("the thread has %d runs, want %d", len(t.Graph.Nodes), runs)
	}
	begun = time.Now()
	if last, err = t.Run(ctx, t.Graph.Nodes[runs-1]); err != nil {
		return r, nil, err
	}
	r.last = milliseconds(begun)
	begun = time.Now()
	_, err = t.Run(ctx, t.Graph.Nodes[runs/2])
	r.middle = milliseconds(begun)
	return r, last, err
}

func milliseconds(since time.Time) float64 { return time.Since(since).Seconds() * 1000 }

// same reports whether two results are the same conversation.
func same(a, b *restore.Result) bool {
	return bytes.Equal(a.Messages, b.Messages) && bytes.Equal(a.State, b.State)
}

// restores measures how long it takes to restore conversations.
func restores(ctx context.Context, s *settings) (_ string, err error) {
	all, err := s.openAll(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, closeAll(all)) }()
	var t strings.Builder
	t.WriteString(page.Row("requests", "runs", "log", "thread (MB)", "read the runs (ms)", "restore the last run (ms)", "restore the middle run (ms)"))
	t.WriteString("|---|--:|---|--:|--:|--:|--:|\n")
	for _, c := range logs.Conversations() {
		key := store.Key{Thread: c.Name}
		var first *restore.Result
		results := make([][]restoration, len(all))
		for _, l := range all {
			if _, err := c.Write(ctx, l, key, s.runs); err != nil {
				return "", fmt.Errorf("%s: %w", l.Name, err)
			}
		}
		for round := range s.rounds {
			for i := range all {
				i := (round + i) % len(all)
				r, last, err := all[i].restore(ctx, key, s.runs)
				if err != nil {
					return "", fmt.Errorf("%s: %w", all[i].Name, err)
				}
				if first == nil {
					first = last
				}
				if !same(first, last) {
					return "", fmt.Errorf("%s: another conversation is restored", all[i].Name)
				}
				results[i] = append(results[i], r)
				s.progress(round, all[i].Name, "%s: %.0f ms", c.Name, r.open+r.last)
			}
		}
		name, runs := c.Name, fmt.Sprint(s.runs)
		for i, l := range all {
			thread, err := l.Thread(ctx, key)
			if err != nil {
				return "", fmt.Errorf("%s: %w", l.Name, err)
			}
			cells := []string{name, runs, l.Name, page.Number(float64(thread.Bytes) / 1e6)}
			for _, of := range []func(restoration) float64{
				func(r restoration) float64 { return r.open },
				func(r restoration) float64 { return r.last },
				func(r restoration) float64 { return r.middle },
			} {
				cells = append(cells, page.Number(page.Median(each(results[i], of))))
			}
			t.WriteString(page.Row(cells...))
			name, runs = "", ""
		}
	}
	return t.String() + page.Measured(s.rounds), nil
}

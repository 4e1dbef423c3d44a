package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/store"
)

// fillThreads is the number of threads of a large log. One of them is then continued, so a
// thread is large as well.
const fillThreads = 10

// growing continues the first thread of a large log.
type growing struct {
	*log
	after int64
}

func (g *growing) begin(string) (func(context.Context, []store.Entry) error, error) {
	return func(ctx context.Context, entries []store.Entry) (err error) {
		g.after, err = g.Append(ctx, store.Key{Thread: threadName(0)}, g.after, entries)
		return err
	}, nil
}

func threadName(i int) string { return fmt.Sprintf("thread-%d", i) }

// growth compares an append to a large thread of a large log with one to a new thread of a log
// that was empty before.
func growth(ctx context.Context, s *settings) (string, error) {
	var t strings.Builder
	t.WriteString(page.Row("log", "events in an append", "p50 (ms)", "p99 (ms)", fmt.Sprintf("p50 with %d events (ms)", s.fill), "p99 (ms)", "p50, empty = 1", "p99, empty = 1", "filled in (s)"))
	t.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, name := range s.logs {
		if err := s.grow(ctx, &t, name); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	return t.String() + page.Measured(s.rounds), nil
}

// grow measures one kind of log.
func (s *settings) grow(ctx context.Context, t *strings.Builder, name string) (err error) {
	empty, err := s.open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, empty.CloseAndRemove()) }()
	full, err := s.open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, full.CloseAndRemove()) }()
	begun := time.Now()
	size := s.fill / fillThreads
	for i := range fillThreads {
		if err := full.newWriter(threadName(i)).write(ctx, size, fillBatch); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "  %s: %d events\n", name, (i+1)*size)
	}
	filled := fmt.Sprintf("%.0f", time.Since(begun).Seconds())
	targets := []target{empty, &growing{log: full, after: int64(size)}}
	for _, batch := range []int{1, 100} {
		results, err := s.inTurn(ctx, []string{name + ", empty", name + ", full"}, targets, 1, batch)
		if err != nil {
			return err
		}
		cells := []string{name, fmt.Sprint(batch)}
		var compared []string
		percentiles := []func(rate) float64{latency(0.5), latency(0.99)}
		for i := range targets {
			for _, of := range percentiles {
				cells = append(cells, page.Number(page.Median(each(results[i], of))))
			}
		}
		for _, of := range percentiles {
			compared = append(compared, page.Range(ratios(results[1], results[0], of)))
		}
		t.WriteString(page.Row(append(append(cells, compared...), filled)...))
		filled = ""
	}
	return nil
}

// latency returns a percentile of the latency in milliseconds.
func latency(share float64) func(rate) float64 {
	return func(r rate) float64 { return page.Percentile(r.latencies, share) / 1e6 }
}

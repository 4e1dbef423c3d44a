package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/store"
)

// diskName is the name of the target that writes plain files.
const diskName = "write + fdatasync"

// writers is the number of threads that are written at the same time.
const writers = 16

// A target takes batches of entries.
type target interface {
	// begin returns a function that appends batches to a new thread.
	begin(thread string) (func(context.Context, []store.Entry) error, error)
}

// A rate is what one measurement of appends showed.
type rate struct {
	events    int
	seconds   float64
	latencies []int64 // of each append in nanoseconds, sorted
}

func (r rate) perSecond() float64 { return float64(r.events) / r.seconds }

// begin appends to a thread of a log.
func (l *log) begin(thread string) (func(context.Context, []store.Entry) error, error) {
	after := int64(0)
	return func(ctx context.Context, entries []store.Entry) (err error) {
		after, err = l.Append(ctx, store.Key{Thread: thread}, after, entries)
		return err
	}, nil
}

// A disk writes the data of entries to a plain file for each thread, and waits for the disk
// after each batch. This is the least that a durable log has to do.
type disk struct{ dir string }

func (d disk) begin(thread string) (func(context.Context, []store.Entry) error, error) {
	f, err := os.Create(filepath.Join(d.dir, thread))
	if err != nil {
		return nil, err
	}
	var text []byte
	return func(ctx context.Context, entries []store.Entry) error {
		text = text[:0]
		for _, e := range entries {
			text = append(text, e.Data...)
		}
		_, err := f.Write(text)
		return errors.Join(err, unix.Fdatasync(int(f.Fd())), ctx.Err())
	}, nil
}

// measure appends batches to new threads for a time, each thread by a goroutine of its own.
func (s *settings) measure(ctx context.Context, t target, threads, batch int) (rate, error) {
	all := make([]rate, threads)
	errs := make([]error, threads)
	prefix := random()
	var group sync.WaitGroup
	started := time.Now()
	for i := range threads {
		group.Go(func() { errs[i] = all[i].run(ctx, t, fmt.Sprintf("%s-%d", prefix, i), batch, started.Add(s.duration)) })
	}
	group.Wait()
	total := rate{seconds: time.Since(started).Seconds()}
	for _, r := range all {
		total.events += r.events
		total.latencies = append(total.latencies, r.latencies...)
	}
	slices.Sort(total.latencies)
	return total, errors.Join(errs...)
}

// run appends batches to a new thread until the deadline, and at least once.
func (r *rate) run(ctx context.Context, t target, thread string, batch int, deadline time.Time) error {
	add, err := t.begin(thread)
	if err != nil {
		return err
	}
	g := newGenerator(thread)
	for {
		entries := g.entries(batch)
		begun := page.Now()
		if err := add(ctx, entries); err != nil {
			return err
		}
		r.latencies = append(r.latencies, page.Now()-begun)
		if r.events += batch; !time.Now().Before(deadline) {
			return nil
		}
	}
}

// appends measures how many events a second can be appended.
func appends(ctx context.Context, s *settings) (_ string, err error) {
	all, err := s.openAll(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, closeAll(all)) }()
	dir, err := os.MkdirTemp(s.dir, "files-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	names, targets := []string{diskName}, []target{disk{dir}}
	for _, l := range all {
		names, targets = append(names, l.Name), append(targets, l)
	}
	var t strings.Builder
	t.WriteString(page.Row("events in an append", "threads", "log", "events/s", "MB/s", "p50 (ms)", "p99 (ms)", "events/s, "+diskName+" = 1"))
	t.WriteString("|--:|--:|---|--:|--:|--:|--:|--:|\n")
	for _, batch := range []int{1, 100} {
		for _, threads := range []int{1, writers} {
			results, err := s.inTurn(ctx, names, targets, threads, batch)
			if err != nil {
				return "", err
			}
			first, second := fmt.Sprint(batch), fmt.Sprint(threads)
			for i, name := range names {
				cells := []string{first, second, name}
				perSecond := page.Median(each(results[i], rate.perSecond))
				cells = append(cells, fmt.Sprintf("%.0f", perSecond), page.Number(perSecond*eventSize/1e6))
				for _, share := range []float64{0.5, 0.99} {
					cells = append(cells, page.Number(page.Median(each(results[i], latency(share)))))
				}
				ratio := ""
				if i > 0 {
					ratio = page.Range(ratios(results[i], results[0], rate.perSecond))
				}
				t.WriteString(page.Row(append(cells, ratio)...))
				first, second = "", ""
			}
		}
	}
	return t.String() + page.Measured(s.rounds), nil
}

// inTurn measures each target once in each round. Each round begins with another target.
func (s *settings) inTurn(ctx context.Context, names []string, targets []target, threads, batch int) ([][]rate, error) {
	results := make([][]rate, len(targets))
	for round := range s.rounds {
		for i := range targets {
			i := (round + i) % len(targets)
			r, err := s.measure(ctx, targets[i], threads, batch)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", names[i], err)
			}
			results[i] = append(results[i], r)
			s.progress(round, names[i], "%d at a time, %d threads: %.0f events/s", batch, threads, r.perSecond())
		}
	}
	return results, nil
}

// each returns what a function returns for each result.
func each[T any](results []T, of func(T) float64) []float64 {
	var values []float64
	for _, r := range results {
		values = append(values, of(r))
	}
	return values
}

// ratios returns the values of results divided by those of the reference in the same round.
func ratios[T any](results, reference []T, of func(T) float64) []float64 {
	var values []float64
	for i, r := range results {
		values = append(values, of(r)/of(reference[i]))
	}
	return values
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/store"
)

// A reading is what reading a thread showed.
type reading struct {
	entries, bytes int64
	seconds        float64
}

func (r reading) perSecond() float64 { return float64(r.entries) / r.seconds }
func (r reading) megabytes() float64 { return float64(r.bytes) / r.seconds / 1e6 }

// read reads a thread from its begin.
func (l *log) read(ctx context.Context, thread string) (reading, error) {
	var r reading
	begun := time.Now()
	for e, err := range l.Read(ctx, store.Key{Thread: thread}, 0) {
		if err != nil {
			return r, fmt.Errorf("%s: %w", l.Name, err)
		}
		r.entries++
		r.bytes += int64(len(e.Data))
	}
	r.seconds = time.Since(begun).Seconds()
	return r, nil
}

// replay measures how fast a thread is read, before and after it was packed.
func replay(ctx context.Context, s *settings) (_ string, err error) {
	all, err := s.openAll(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, closeAll(all)) }()
	const thread = "replay"
	for _, l := range all {
		if err := l.newWriter(thread).write(ctx, s.replay, fillBatch); err != nil {
			return "", err
		}
	}
	plain, err := s.readings(ctx, all, thread)
	if err != nil {
		return "", err
	}
	packing := make([]string, len(all))
	for i, l := range all {
		begun := time.Now()
		p, err := l.Pack(ctx, store.Key{Thread: thread})
		if err != nil {
			return "", fmt.Errorf("%s: %w", l.Name, err)
		}
		packing[i] = page.Number(float64(p.Bytes) / time.Since(begun).Seconds() / 1e6)
	}
	packed, err := s.readings(ctx, all, thread)
	if err != nil {
		return "", err
	}
	var t strings.Builder
	t.WriteString(page.Row("log", "entries", "entries/s", "MB/s", "entries/s, packed", "MB/s, packed", "pack (MB/s)"))
	t.WriteString("|---|--:|--:|--:|--:|--:|--:|\n")
	for i, l := range all {
		cells := []string{l.Name, fmt.Sprint(s.replay)}
		for _, readings := range [][]reading{plain[i], packed[i]} {
			cells = append(cells, fmt.Sprintf("%.0f", page.Median(each(readings, reading.perSecond))), page.Number(page.Median(each(readings, reading.megabytes))))
		}
		t.WriteString(page.Row(append(cells, packing[i])...))
	}
	return t.String() + page.Measured(s.rounds), nil
}

// readings reads a thread of each log once in each round.
func (s *settings) readings(ctx context.Context, all []*log, thread string) ([][]reading, error) {
	results := make([][]reading, len(all))
	for round := range s.rounds {
		for i := range all {
			i := (round + i) % len(all)
			r, err := all[i].read(ctx, thread)
			if err != nil {
				return nil, err
			}
			if r.entries != int64(s.replay) {
				return nil, fmt.Errorf("%s: %d entries were read, want %d", all[i].Name, r.entries, s.replay)
			}
			results[i] = append(results[i], r)
			s.progress(round, all[i].Name, "%.0f MB/s", r.megabytes())
		}
	}
	return results, nil
}

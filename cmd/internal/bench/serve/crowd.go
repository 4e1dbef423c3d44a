package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
	"github.com/p20export/p20export/store"
)

const (
	// crowdBytes is the size of the events of a run when many clients join it.
	crowdBytes = 20_000_000
	// crowdRate is the number of events in a second of that run, and crowdTime how long it goes on
	// after they have begun to join.
	crowdRate = 10_000
	crowdTime = 2 * time.Second
)

// crowds measures the memory of a server when many clients join a long run at the same time, which
// goes on.
func crowds(ctx context.Context, s *settings) (string, error) {
	return s.onEachLog(ctx, page.Row("log", "clients", "run (MB)", "first byte p50 (ms)", "p99 (ms)", "all have everything (s)", "peak RSS before (MiB)", "peak RSS (MiB)")+"|---|--:|--:|--:|--:|--:|--:|--:|\n", s.crowd)
}

func (s *settings) crowd(ctx context.Context, l *logs.Log, p *processes.Process, url string) (string, error) {
	const before = int64(crowdBytes / traffic.EventSize)
	plan := traffic.Plan{Events: int(before) + int(crowdTime.Seconds())*crowdRate, Rate: crowdRate}
	run := make(chan error, 1)
	go func() {
		_, err := readRun(ctx, url+"/agents/"+agentName, joinThread, "run", plan)
		run <- err
	}()
	for last := int64(0); last < before; {
		select {
		case err := <-run:
			return "", errors.Join(err, errors.New("the run has ended too early"))
		case <-time.After(100 * time.Millisecond):
		}
		t, err := l.Thread(ctx, store.Key{Thread: joinThread})
		if err != nil && !errors.Is(err, store.ErrNoThread) {
			return "", err
		}
		last = t.Last
	}
	began, err := p.Peak()
	if err != nil {
		return "", err
	}
	r, err := read(ctx, "-url", url+"/threads/"+joinThread+"/connect", "-body", joinBody, "-count", strconv.Itoa(s.readers))
	if err != nil {
		return "", err
	}
	if err := <-run; err != nil {
		return "", err
	}
	peak, err := p.Peak()
	if err != nil {
		return "", err
	}
	s.progress(0, l.Name, "%.0f MiB", peak)
	return page.Row(l.Name, strconv.Itoa(s.readers), page.Number(crowdBytes/1e6), page.Number(page.Percentile(r.First, 0.5)/1e6), page.Number(page.Percentile(r.First, 0.99)/1e6),
		page.Number(r.Seconds), page.Number(began), page.Number(peak)), nil
}

package main

import (
	"context"
	"strconv"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
)

// memoryRate is the number of events in a second that many readers receive.
const memoryRate = 20

// memory measures the memory of a server whose run has many readers.
func memory(ctx context.Context, s *settings) (string, error) {
	return s.onEachLog(ctx, page.Row("log", "readers", "events of the run", "events to readers/s", "agent to reader p50 (ms)", "p99 (ms)", "peak RSS before (MiB)", "peak RSS (MiB)")+"|---|--:|--:|--:|--:|--:|--:|--:|\n", s.memory)
}

func (s *settings) memory(ctx context.Context, l *logs.Log, p *processes.Process, url string) (string, error) {
	before, err := p.Peak()
	if err != nil {
		return "", err
	}
	plan := traffic.Plan{Events: int(s.duration.Seconds() * memoryRate), Rate: memoryRate}
	many, err := startReaders(ctx, "-url", url+"/threads/bench/events", "-count", strconv.Itoa(s.readers), "-until", strconv.Itoa(plan.Events), "-stamped")
	if err != nil {
		return "", err
	}
	if _, err := readRun(ctx, url+"/agents/"+agentName, "bench", "run", plan); err != nil {
		return "", err
	}
	r, err := many.wait()
	if err != nil {
		return "", err
	}
	peak, err := p.Peak()
	if err != nil {
		return "", err
	}
	s.progress(0, l.Name, "%.0f MiB", peak)
	return page.Row(l.Name, strconv.Itoa(s.readers), strconv.Itoa(plan.Events), page.Number(float64(r.Events)/s.duration.Seconds()),
		page.Number(page.Percentile(r.Sent, 0.5)/1e6), page.Number(page.Percentile(r.Sent, 0.99)/1e6), page.Number(before), page.Number(peak)), nil
}

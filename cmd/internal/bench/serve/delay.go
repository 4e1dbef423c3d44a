package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
)

// delayRate is the number of events in a second when their delay is measured.
const delayRate = 50

// A delay is what one round shows, in nanoseconds, sorted.
type delay struct {
	read   []int64 // from durable to a reader
	append []int64 // each append
	sent   []int64 // from the agent to a reader
}

// delays measures how long after an event is durable its readers have it.
func delays(ctx context.Context, s *settings) (string, error) {
	results := make(map[string][]delay)
	for round := range s.rounds {
		for i := range s.logs {
			name := s.logs[(round+i)%len(s.logs)]
			d, err := s.delayOf(ctx, name)
			if err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
			results[name] = append(results[name], d)
			s.progress(round, name, "p99 %.2f ms", page.Percentile(d.read, 0.99)/1e6)
		}
	}
	var t strings.Builder
	t.WriteString(page.Row("log", "readers", "durable to reader p50 (ms)", "p99 (ms)", "append p50 (ms)", "append p99 (ms)", "agent to reader p50 (ms)", "p99 (ms)"))
	t.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, name := range s.logs {
		cells := []string{name, strconv.Itoa(s.delay)}
		for n, of := range []func(delay) []int64{
			func(d delay) []int64 { return d.read }, func(d delay) []int64 { return d.append }, func(d delay) []int64 { return d.sent },
		} {
			for _, share := range []float64{0.5, 0.99} {
				var values []float64
				for _, d := range results[name] {
					values = append(values, page.Percentile(of(d), share)/1e6)
				}
				if n == 0 {
					cells = append(cells, page.Range(values))
				} else {
					cells = append(cells, page.Number(page.Median(values)))
				}
			}
		}
		t.WriteString(page.Row(cells...))
	}
	return t.String() + page.Measured(s.rounds), nil
}

func (s *settings) delayOf(ctx context.Context, name string) (d delay, err error) {
	l, err := s.place.Open(ctx, name)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, l.CloseAndRemove()) }()
	agent, upstream, err := startAgent(ctx)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, agent.Stop()) }()
	p, url, err := startTimed(ctx, l, upstream)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	plan := traffic.Plan{Events: int(s.duration.Seconds() * delayRate), Rate: delayRate}
	many, err := startReaders(ctx, "-url", url+"/threads/bench/events", "-count", strconv.Itoa(s.delay), "-until", strconv.Itoa(plan.Events), "-stamped", "-positions")
	if err != nil {
		return d, err
	}
	if _, err := readRun(ctx, url+"/agents/"+agentName, "bench", "run", plan); err != nil {
		return d, err
	}
	r, err := many.wait()
	if err != nil {
		return d, err
	}
	times, err := fetchTimes(ctx, url)
	if err != nil {
		return d, err
	}
	for _, a := range r.Arrivals {
		// The first append whose last position is at least that of the event.
		i, _ := slices.BinarySearchFunc(times.Durable, a[0], func(append [2]int64, position int64) int { return int(append[0] - position) })
		if i == len(times.Durable) {
			return d, fmt.Errorf("a reader has position %d, which is not durable", a[0])
		}
		d.read = append(d.read, a[1]-times.Durable[i][1])
	}
	d.append, d.sent = times.Took, r.Sent
	slices.Sort(d.read)
	slices.Sort(d.append)
	return d, nil
}

// startTimed starts the server of the benchmark on a log.
func startTimed(ctx context.Context, l *logs.Log, agent string) (*processes.Process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	p, address, err := processes.Start(ctx, processes.FirstLine, self, "server", l.Name, l.Address, agent)
	return p, "http://" + address, err
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
	"github.com/p20export/p20export/store"
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
			d, err := s.delayOf(ctx, name, load{readers: s.delay})
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

// The threads of idle readers.
const (
	missing  = "threads that do not exist"
	existing = "other threads"
)

// idles measures the delay of events while many readers wait for events of other threads.
func idles(ctx context.Context, s *settings) (string, error) {
	type choice struct{ log, idle string }
	var choices []choice
	for _, name := range s.logs {
		for _, idle := range []string{"", missing, existing} {
			choices = append(choices, choice{name, idle})
		}
	}
	results := make(map[choice][]delay)
	for round := range s.rounds {
		for i := range choices {
			c := choices[(round+i)%len(choices)]
			d, err := s.delayOf(ctx, c.log, load{readers: 1, idle: c.idle})
			if err != nil {
				return "", fmt.Errorf("%s with idle readers: %w", c.log, err)
			}
			results[c] = append(results[c], d)
			s.progress(round, c.log, "%s: p50 %.2f ms", cmp.Or(c.idle, "none"), page.Percentile(d.sent, 0.5)/1e6)
		}
	}
	var t strings.Builder
	t.WriteString(page.Row("log", "idle readers", "agent to reader p50 (ms)", "p99 (ms)"))
	t.WriteString("|---|---|--:|--:|\n")
	for _, c := range choices {
		cells := []string{c.log, "none"}
		if c.idle != "" {
			cells[1] = fmt.Sprintf("%d of %s", s.idle, c.idle)
		}
		for _, share := range []float64{0.5, 0.99} {
			var values []float64
			for _, d := range results[c] {
				values = append(values, page.Percentile(d.sent, share)/1e6)
			}
			cells = append(cells, page.Range(values))
		}
		t.WriteString(page.Row(cells...))
	}
	return t.String() + page.Measured(s.rounds), nil
}

// A load is what there is besides the run whose events are delayed.
type load struct {
	readers int
	// idle names the threads of further readers, which get no events. If it is empty, there
	// are none.
	idle string
	// ends lets runs of other threads end, and seal seals these threads.
	ends, seal bool
}

// delayOf measures the delay of events for readers of one thread.
func (s *settings) delayOf(ctx context.Context, name string, with load) (d delay, err error) {
	l, err := s.place.Open(ctx, name)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, l.CloseAndRemove()) }()
	if with.idle == existing {
		for i := range s.idle {
			if _, err := l.Append(ctx, store.Key{Thread: "idle-" + strconv.Itoa(i)}, 0, []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte("{}")}}); err != nil {
				return d, err
			}
		}
	}
	agent, upstream, err := startAgent(ctx)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, agent.Stop()) }()
	p, url, err := startTimed(ctx, l.Name, l.Address, upstream, s.trace, with)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	plan := traffic.Plan{Events: int(s.duration.Seconds() * delayRate), Rate: delayRate}
	if with.idle != "" {
		events := 0
		if with.idle == existing {
			events = 1
		}
		waiting, err := startReaders(ctx, "-url", url+"/threads/idle-"+each+"/events", "-count", strconv.Itoa(s.idle), "-ready", strconv.Itoa(events))
		if err != nil {
			return d, err
		}
		defer waiting.kill()
	}
	many, err := startReaders(ctx, "-url", url+"/threads/bench/events", "-count", strconv.Itoa(with.readers), "-until", strconv.Itoa(plan.Events), "-stamped", "-positions")
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
		after, err := afterDurable(times.Durable["bench"], a)
		if err != nil {
			return d, err
		}
		d.read = append(d.read, after)
	}
	d.append, d.sent = times.Took, r.Sent
	slices.Sort(d.read)
	slices.Sort(d.append)
	return d, nil
}

// afterDurable returns how long after an event was durable it arrived, in nanoseconds.
func afterDurable(durable [][2]int64, a arrival) (int64, error) {
	// The first append whose last position is at least that of the event.
	i, _ := slices.BinarySearchFunc(durable, a.Position, func(append [2]int64, position int64) int { return int(append[0] - position) })
	if i == len(durable) {
		return 0, fmt.Errorf("a reader has position %d, which is not durable", a.Position)
	}
	return a.Time - durable[i][1], nil
}

// startTimed starts the server of the benchmark on a log. The trace is the path of a file for its
// execution trace, or empty.
func startTimed(ctx context.Context, name, log, agent, trace string, with load) (*processes.Process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	p, address, err := processes.Start(ctx, processes.FirstLine, self, "server", name, log, agent, strconv.FormatBool(with.ends), strconv.FormatBool(with.seal), trace)
	return p, "http://" + address, err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
)

// direct is the name of the connection without a server.
const direct = "none"

// overheadRate is the number of events in a second when latencies are compared.
const overheadRate = 200

// A contender is what is between the client and the agent.
type contender struct {
	name    string
	url     string
	process *processes.Process
	slow    []reading // with a fixed rate
	fast    []reading // as many events as possible
	cpu     []float64 // user and system time for the fast ones, in seconds
}

// overheads compares a run through the server with the agent itself.
func overheads(ctx context.Context, s *settings) (text string, err error) {
	agent, upstream, err := startAgent(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, agent.Stop()) }()
	all := []*contender{{name: direct, url: upstream}}
	for _, name := range s.logs {
		l, err := s.place.Open(ctx, name)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, l.CloseAndRemove()) }()
		p, url, err := s.startServe(ctx, l, upstream)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, p.Stop()) }()
		all = append(all, &contender{name: "p20export serve, " + name, url: url + "/agents/" + agentName, process: p})
	}
	for round := range s.rounds {
		for i := range all {
			c := all[(round+i)%len(all)]
			if err := c.measure(ctx, s, round); err != nil {
				return "", fmt.Errorf("%s: %w", c.name, err)
			}
			s.progress(round, c.name, "%.2f s", c.fast[round].Seconds)
		}
	}
	var t strings.Builder
	t.WriteString(page.Row("between client and agent", "p50 (ms)", "p99 (ms)", "added p50 (ms)", "added p99 (ms)", "events/s", "added per event (µs)", "CPU per event (µs)"))
	t.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, c := range all {
		t.WriteString(page.Row(c.cells(all[0], s.events)...))
	}
	return t.String() + page.Measured(s.rounds), nil
}

// measure reads a slow run and a fast one.
func (c *contender) measure(ctx context.Context, s *settings, round int) error {
	thread := strconv.Itoa(round)
	slow, err := readRun(ctx, c.url, thread, "slow", traffic.Plan{Events: int(s.duration.Seconds() * overheadRate), Rate: overheadRate}, "-stamped")
	if err != nil {
		return err
	}
	before, err := c.process.CPU()
	if err != nil {
		return err
	}
	fast, err := readRun(ctx, c.url, thread, "fast", traffic.Plan{Events: s.events})
	if err != nil {
		return err
	}
	after, err := c.process.CPU()
	if want := s.events + 4; err == nil && fast.Events != want {
		err = fmt.Errorf("%d events arrived, want %d", fast.Events, want)
	}
	c.slow, c.fast, c.cpu = append(c.slow, slow), append(c.fast, fast), append(c.cpu, after-before)
	return err
}

// cells returns the row of a contender.
func (c *contender) cells(reference *contender, events int) []string {
	cells := []string{c.name}
	shares := []float64{0.5, 0.99}
	added := make([][]float64, len(shares))
	for i, share := range shares {
		var values []float64
		for round := range c.slow {
			value := page.Percentile(c.slow[round].Sent, share) / 1e6
			values = append(values, value)
			added[i] = append(added[i], value-page.Percentile(reference.slow[round].Sent, share)/1e6)
		}
		cells = append(cells, page.Number(page.Median(values)))
	}
	var rates, extra []float64
	for round, r := range c.fast {
		rates = append(rates, float64(events)/r.Seconds)
		extra = append(extra, (r.Seconds-reference.fast[round].Seconds)/float64(events)*1e6)
	}
	if c == reference {
		return append(cells, "", "", page.Number(page.Median(rates)), "", "")
	}
	return append(cells, page.Range(added[0]), page.Range(added[1]), page.Number(page.Median(rates)), page.Range(extra), page.Number(page.Median(c.cpu)/float64(events)*1e6))
}

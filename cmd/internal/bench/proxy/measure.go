package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
)

// A load is what the client asks for in one measurement.
type load struct {
	streams int
	traffic.Plan
	skip int // events at the start of each stream whose latency does not count
}

// size returns the number of bytes of each stream.
func (l load) size() int64 {
	return int64(len(traffic.Opening) + l.Events*traffic.EventSize + len(traffic.Closing))
}

// measureAll starts the agent and the contenders, and measures the load with each contender in
// turn. Each round begins with another contender.
func (s *settings) measureAll(ctx context.Context, l load, names []string) (contenders []*contender, err error) {
	agent, url, err := s.startAgent(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, agent.Stop()) }()
	for _, name := range names {
		c, err := s.startContender(ctx, name, url)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		contenders = append(contenders, c)
	}
	warm := l
	if warm.Events = 1000; l.Rate > 0 {
		warm.Events = l.Rate
	}
	for _, c := range contenders {
		if _, err := s.measure(ctx, c, warm); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for round := range s.rounds {
		for i := range contenders {
			c := contenders[(round+i)%len(contenders)]
			r, err := s.measure(ctx, c, l)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			c.results = append(c.results, r)
			fmt.Fprintf(os.Stderr, "  round %d of %d: %-36s %8.3f s\n", round+1, s.rounds, c.name, r.Seconds)
		}
	}
	for _, c := range contenders {
		if c.rss, err = c.process.Peak(); err != nil {
			return nil, err
		}
	}
	return contenders, nil
}

// measure runs the client once, and waits until everything that it received is stored.
func (s *settings) measure(ctx context.Context, c *contender, l load) (result, error) {
	var r result
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	used, err := c.process.CPU()
	if err != nil {
		return r, err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self, "client", "-url", c.url, "-streams", strconv.Itoa(l.streams),
		"-events", strconv.Itoa(l.Events), "-rate", strconv.Itoa(l.Rate), "-block", strconv.Itoa(l.Block), "-skip", strconv.Itoa(l.skip))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("%w\n%s", err, stderr.Bytes())
	}
	ended := time.Now()
	if err := json.Unmarshal(stdout.Bytes(), &r.received); err != nil {
		return r, err
	}
	if sums := slices.Compact(slices.Clone(r.Checksums)); len(sums) > 1 {
		return r, errors.New("the streams differ")
	}
	if c.captures != "" {
		for range l.streams {
			select {
			case at := <-c.process.Stored:
				r.stored = max(r.stored, at.Sub(ended).Seconds())
			case <-time.After(5 * time.Minute):
				return r, errors.New("an exchange is not stored after five minutes")
			case <-ctx.Done():
				return r, ctx.Err()
			}
		}
		if r.whole, err = c.collect(l.size()); err != nil {
			return r, err
		}
	}
	spent, err := c.process.CPU()
	r.cpu = spent - used
	return r, err
}

// added returns how much a percentile of the latency exceeds that of the direct connection, in
// milliseconds, for each round, in order of size.
func (c *contender) added(reference *contender, share float64) []float64 {
	var values []float64
	for i := range c.results {
		values = append(values, (page.Percentile(c.results[i].Latencies, share)-page.Percentile(reference.results[i].Latencies, share))/1e6)
	}
	slices.Sort(values)
	return values
}

// ratios returns the throughput divided by that of the reference, for each round, in order of
// size.
func (c *contender) ratios(reference *contender) []float64 {
	var values []float64
	for i, r := range c.results {
		values = append(values, reference.results[i].Seconds/r.Seconds)
	}
	slices.Sort(values)
	return values
}

// each returns what the function returns for each result.
func (c *contender) each(of func(result) float64) []float64 {
	var values []float64
	for _, r := range c.results {
		values = append(values, of(r))
	}
	return values
}

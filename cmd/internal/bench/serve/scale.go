package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
)

// scaleReaders is the number of readers of each run, in addition to the client that started it.
const scaleReaders = 2

// A scaleLoad is a number of runs that are active at once, each in a thread of its own.
type scaleLoad struct {
	runs int
	plan traffic.Plan
}

func (s *settings) scaleLoads() []scaleLoad {
	steady := traffic.Plan{Events: int(s.duration.Seconds() * delayRate), Rate: delayRate}
	return []scaleLoad{{8, steady}, {64, steady}, {8, traffic.Plan{Events: s.events}}}
}

func (l scaleLoad) String() string {
	if l.plan.Rate == 0 {
		return "as many as possible"
	}
	return fmt.Sprint(l.plan.Rate)
}

// scaleThread is the name of a thread. Its number is that of a reader.
const scaleThread = "bench-" + each

// serversName is the application_name of the connections of the servers.
const serversName = "bench-servers"

// A scale is what one round with several servers shows.
type scale struct {
	events      int
	seconds     float64
	appends     int
	same, other []int64 // from durable to readers at the process of the run, and at another one; nanoseconds, sorted
	cost        cost
	connections int
}

// scales measures several servers on one PostgreSQL database behind one nginx.
func scales(ctx context.Context, s *settings) (string, error) {
	if !slices.Contains(s.logs, logs.Postgres) {
		return "", errors.New("several servers can only share the log postgres; choose it with -logs")
	}
	type choice struct {
		load      scaleLoad
		processes int
	}
	var choices []choice
	for _, load := range s.scaleLoads() {
		for _, count := range []int{1, 2, 4} {
			choices = append(choices, choice{load, count})
		}
	}
	results := make([][]scale, len(choices))
	for round := range s.rounds {
		for i := range choices {
			at := (round + i) % len(choices)
			c := choices[at]
			result, err := s.scaleOf(ctx, c.processes, c.load)
			if err != nil {
				return "", fmt.Errorf("%d runs, %d processes: %w", c.load.runs, c.processes, err)
			}
			results[at] = append(results[at], result)
			s.progress(round, fmt.Sprintf("%d runs, %d processes", c.load.runs, c.processes), "%.0f events/s", float64(result.events)/result.seconds)
		}
	}
	var t strings.Builder
	t.WriteString(page.Row("runs", "events/s in each", "processes", "events/s", "durable to reader, same process: p50 (ms)", "p99 (ms)", "another process: p50 (ms)", "p99 (ms)", "events per append",
		"CPU per 1,000 events (ms): serve", "PostgreSQL", "nginx", "agent and clients", "WAL per event (bytes)", "connections"))
	t.WriteString("|" + strings.Repeat("--:|", 15) + "\n")
	for i, c := range choices {
		t.WriteString(page.Row(append([]string{strconv.Itoa(c.load.runs), c.load.String(), strconv.Itoa(c.processes)}, scaleCells(results[i])...)...))
	}
	return t.String() + page.Measured(s.rounds), nil
}

// scaleCells returns the cells of a row after the first three.
func scaleCells(rounds []scale) []string {
	median := func(of func(scale) float64) string {
		var values []float64
		for _, r := range rounds {
			values = append(values, of(r))
		}
		return page.Number(page.Median(values))
	}
	var rates []float64
	for _, r := range rounds {
		rates = append(rates, float64(r.events)/r.seconds)
	}
	cells := []string{page.Range(rates)}
	for _, of := range []func(scale) []int64{
		func(r scale) []int64 { return r.same }, func(r scale) []int64 { return r.other },
	} {
		for _, share := range []float64{0.5, 0.99} {
			var values []float64
			for _, r := range rounds {
				if len(of(r)) > 0 {
					values = append(values, page.Percentile(of(r), share)/1e6)
				}
			}
			switch {
			case len(values) == 0:
				cells = append(cells, "")
			case share == 0.5:
				cells = append(cells, page.Number(page.Median(values)))
			default:
				cells = append(cells, page.Range(values))
			}
		}
	}
	cells = append(cells, median(func(r scale) float64 { return float64(r.events) / float64(r.appends) }))
	for _, of := range []func(cost) float64{
		func(c cost) float64 { return c.serve }, func(c cost) float64 { return c.postgres },
		func(c cost) float64 { return c.nginx }, func(c cost) float64 { return c.others },
	} {
		cells = append(cells, median(func(r scale) float64 { return of(r.cost) * 1000 / float64(r.events) * 1000 }))
	}
	return append(cells, median(func(r scale) float64 { return float64(r.cost.wal) / float64(r.events) }), median(func(r scale) float64 { return float64(r.connections) }))
}

// scaleOf measures a number of servers.
func (s *settings) scaleOf(ctx context.Context, count int, with scaleLoad) (result scale, err error) {
	l, err := s.place.Open(ctx, logs.Postgres)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, l.CloseAndRemove()) }()
	agent, upstream, err := startAgent(ctx)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, agent.Stop()) }()
	address, err := url.Parse(l.Address)
	if err != nil {
		return result, err
	}
	address.RawQuery = url.Values{"application_name": {serversName}}.Encode()
	m := meters{agent: agent}
	var addresses []string
	for range count {
		p, url, err := startTimed(ctx, l.Name, address.String(), upstream, "", load{})
		if err != nil {
			return result, err
		}
		defer func() { err = errors.Join(err, p.Stop()) }()
		m.servers, addresses = append(m.servers, p), append(addresses, strings.TrimPrefix(url, "http://"))
	}
	var front string
	if m.nginx, front, err = processes.StartNginx(ctx, s.nginx, filepath.Join(s.place.Dir, "nginx"), addresses); err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, m.nginx.Stop()) }()
	if m.log, err = l.Observe(ctx); err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, m.log.Close(context.WithoutCancel(ctx))) }()
	return measureScale(ctx, &m, "http://"+front, addresses, with)
}

// measureScale runs agents and reads the runs.
func measureScale(ctx context.Context, m *meters, front string, servers []string, with scaleLoad) (result scale, err error) {
	var followers []*crowd
	for range scaleReaders {
		c, err := startReaders(ctx, "-url", front+"/threads/"+scaleThread+"/events", "-count", strconv.Itoa(with.runs), "-until", strconv.Itoa(with.plan.Events), "-positions")
		if err != nil {
			return result, err
		}
		defer c.kill()
		followers = append(followers, c)
	}
	before, err := m.read(ctx)
	if err != nil {
		return result, err
	}
	body, err := with.plan.Request(scaleThread, "run")
	if err != nil {
		return result, err
	}
	begun := page.Now()
	own, err := read(ctx, "-url", front+"/agents/"+agentName, "-body", string(body), "-count", strconv.Itoa(with.runs))
	if err != nil {
		return result, err
	}
	result.events = own.Events
	var readings []reading
	clients := own.CPU
	for _, c := range followers {
		r, err := c.wait()
		if err != nil {
			return result, err
		}
		readings = append(readings, r)
		clients += r.CPU
	}
	after, err := m.read(ctx)
	if err != nil {
		return result, err
	}
	result.cost = after.minus(before)
	result.cost.others += clients
	if result.connections, err = m.log.Connections(ctx, serversName); err != nil {
		return result, err
	}
	ended, err := result.addDelays(ctx, readings, servers)
	result.seconds = float64(ended-begun) / 1e9
	return result, err
}

// addDelays adds how long events took from durable to the readers, and returns the time of the
// last arrival.
func (result *scale) addDelays(ctx context.Context, readings []reading, servers []string) (ended int64, err error) {
	durable := make(map[string][][2]int64) // by thread
	owner := make(map[string]string)       // the server whose run a thread has
	for _, server := range servers {
		times, err := fetchTimes(ctx, "http://"+server)
		if err != nil {
			return 0, err
		}
		result.appends += len(times.Took)
		for thread, appends := range times.Durable {
			durable[thread], owner[thread] = appends, server
		}
	}
	for _, r := range readings {
		for _, a := range r.Arrivals {
			thread := strings.ReplaceAll(scaleThread, each, strconv.Itoa(a.Reader))
			after, err := afterDurable(durable[thread], a)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", thread, err)
			}
			if r.By[a.Reader] == owner[thread] {
				result.same = append(result.same, after)
			} else {
				result.other = append(result.other, after)
			}
			ended = max(ended, a.Time)
		}
	}
	slices.Sort(result.same)
	slices.Sort(result.other)
	return ended, nil
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
)

// tables measures the tables of the page. Each function returns the text of one.
var tables = map[string]func(context.Context, *settings) (string, error){
	"latency":    latency,
	"throughput": throughput,
	"memory":     memory,
	"calls":      calls,
	"machine":    machine,
}

// tableNames lists the tables in the order in which they are measured.
func tableNames() []string { return []string{"latency", "throughput", "memory", "calls", "machine"} }

// rate is the number of events in a second of each stream when the latency is measured.
const rate = 200

// latency compares the latency of each event with that of the direct connection.
func latency(ctx context.Context, s *settings) (string, error) {
	var t strings.Builder
	t.WriteString(page.Row("streams", "between client and agent", "p50 (ms)", "p99 (ms)", "added p50 (ms)", "added p99 (ms)", "CPU (µs per event)", "peak RSS (MiB)", "stored whole"))
	t.WriteString("|--:|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, streams := range []int{1, 20} {
		l := load{streams: streams, Plan: traffic.Plan{Events: int(s.duration.Seconds() * rate), Rate: rate}, skip: rate / 2}
		contenders, err := s.measureAll(ctx, l, s.without(largeQueue))
		if err != nil {
			return "", err
		}
		label := fmt.Sprint(streams)
		for _, c := range contenders {
			cells := []string{label, c.name}
			for _, share := range []float64{0.5, 0.99} {
				cells = append(cells, page.Number(page.Median(c.each(func(r result) float64 { return page.Percentile(r.Latencies, share) / 1e6 }))))
			}
			for _, share := range []float64{0.5, 0.99} {
				added := ""
				if c.name != direct {
					added = page.Range(c.added(contenders[0], share))
				}
				cells = append(cells, added)
			}
			t.WriteString(page.Row(append(cells, c.cost(l)...)...))
			label = ""
		}
	}
	return t.String() + page.Measured(s.rounds), nil
}

// throughput compares how many events pass in a second with nginx.
func throughput(ctx context.Context, s *settings) (string, error) {
	var t strings.Builder
	t.WriteString(page.Row("the agent writes", "between client and agent", "events/s", "MB/s", "nginx = 1", "CPU (µs per event)", "peak RSS (MiB)", "stored whole", "stored after (s)"))
	t.WriteString("|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	const streams = 8
	for _, writes := range []struct {
		label         string
		events, block int
	}{{"each event", s.events, 0}, {"32 KiB", 5 * s.events, 32 << 10}} {
		l := load{streams: streams, Plan: traffic.Plan{Events: writes.events, Block: writes.block}}
		contenders, err := s.measureAll(ctx, l, s.only)
		if err != nil {
			return "", err
		}
		reference := contenders[0]
		if i := slices.IndexFunc(contenders, func(c *contender) bool { return c.name == nginx }); i >= 0 {
			reference = contenders[i]
		}
		label := writes.label
		for _, c := range contenders {
			seconds, ratio := page.Median(c.each(func(r result) float64 { return r.Seconds })), ""
			if c != reference {
				ratio = page.Range(c.ratios(reference))
			}
			cells := []string{label, c.name, fmt.Sprintf("%.0f", float64(streams*l.Events)/seconds), page.Number(float64(streams*l.size()) / seconds / 1e6), ratio}
			stored := ""
			if c.captures != "" {
				stored = page.Number(page.Median(c.each(func(r result) float64 { return r.stored })))
			}
			t.WriteString(page.Row(append(append(cells, c.cost(l)...), stored)...))
			label = ""
		}
	}
	return t.String() + page.Measured(s.rounds), nil
}

// memory shows how the memory grows with the number of streams.
func memory(ctx context.Context, s *settings) (string, error) {
	var t strings.Builder
	t.WriteString(page.Row("streams", "between client and agent", "peak RSS (MiB)", "CPU (% of a core)"))
	t.WriteString("|--:|---|--:|--:|\n")
	once := *s
	once.rounds = 1
	names := s.without(direct, recorder(syncs[1]), recorder(syncs[2]), largeQueue)
	for _, streams := range []int{1, 100, 1000} {
		const slow = 10 // events in a second
		contenders, err := once.measureAll(ctx, load{streams: streams, Plan: traffic.Plan{Events: int(s.duration.Seconds() * slow), Rate: slow}}, names)
		if err != nil {
			return "", err
		}
		label := fmt.Sprint(streams)
		for _, c := range contenders {
			t.WriteString(page.Row(label, c.name, page.Number(c.rss), page.Number(c.results[0].cpu/c.results[0].Seconds*100)))
			label = ""
		}
	}
	return t.String() + fmt.Sprintf("\nMeasured on %s.\n", page.Today()), nil
}

// without returns the chosen contenders but the given ones.
func (s *settings) without(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(s.only), func(name string) bool { return slices.Contains(names, name) })
}

// cost returns the cells about processor time, memory, and captures.
func (c *contender) cost(l load) []string {
	if c.process == nil {
		return []string{"", "", ""}
	}
	cpu := page.Median(c.each(func(r result) float64 { return r.cpu })) / float64(l.streams*l.Events) * 1e6
	whole, all := 0, 0
	for _, r := range c.results {
		whole, all = whole+r.whole, all+l.streams
	}
	cells := []string{page.Number(cpu), page.Number(c.rss), ""}
	if c.captures != "" {
		cells[2] = fmt.Sprintf("%d of %d", whole, all)
	}
	return cells
}

// machine describes the machine, and the versions of what is measured.
func machine(_ context.Context, s *settings) (string, error) {
	var t strings.Builder
	t.WriteString(page.Row("what", "which") + "|---|---|\n")
	t.WriteString(page.Row("processor", fmt.Sprintf("%s, %d cores", page.Find("/proc/cpuinfo", `(?m)^model name\s*: (.*)`), runtime.NumCPU())))
	t.WriteString(page.Row("memory", page.Memory()))
	t.WriteString(page.Row("load before the measurement", s.load))
	for _, line := range [][]string{
		{"kernel", "uname", "-sr"},
		{"file system", "findmnt", "-n", "-o", "FSTYPE", "-T", s.dir},
		{"p20export", s.program, "version"},
		{"Go", "go", "version"},
		{"nginx", s.nginx, "-v"},
	} {
		out, err := exec.Command(line[1], line[2:]...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%s: %w", strings.Join(line[1:], " "), err)
		}
		first, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
		t.WriteString(page.Row(line[0], string(first)))
	}
	return t.String(), nil
}

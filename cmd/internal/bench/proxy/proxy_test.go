package main

import (
	"bufio"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
)

// TestMain lets the test program be the agent, the client and the bare proxy.
func TestMain(m *testing.M) {
	if !processes.RunRole(roles) {
		os.Exit(m.Run())
	}
}

// TestPage checks that every table has a place on the page, and only there.
func TestPage(t *testing.T) {
	t.Parallel()
	names := tableNames()
	if sorted := slices.Sorted(slices.Values(names)); !slices.Equal(sorted, slices.Sorted(maps.Keys(tables))) {
		t.Errorf("the tables are %q, the order has %q", slices.Sorted(maps.Keys(tables)), names)
	}
	if err := page.CheckPlaces("../../../../docs/benchmarks.md", "bench-proxy", names); err != nil {
		t.Error(err)
	}
}

// TestMeasure measures small loads without a proxy and with the bare one.
func TestMeasure(t *testing.T) {
	t.Parallel()
	s := &settings{dir: t.TempDir(), only: []string{direct, bareProxy}, rounds: 2}
	for _, l := range []load{
		{streams: 2, Plan: traffic.Plan{Events: 20, Rate: 1000}, skip: 5},
		{streams: 3, Plan: traffic.Plan{Events: 1000}},
		{streams: 3, Plan: traffic.Plan{Events: 1001, Block: 4096}},
	} {
		contenders, err := s.measureAll(t.Context(), l, s.only)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range contenders {
			if len(c.results) != s.rounds {
				t.Errorf("%+v: %s was measured %d times, want %d", l, c.name, len(c.results), s.rounds)
			}
			for _, r := range c.results {
				latencies, sums := l.streams*(l.Events-l.skip), 0
				if l.Rate == 0 {
					latencies, sums = 0, l.streams
				}
				if r.Bytes != int64(l.streams)*l.size() || len(r.Latencies) != latencies || len(r.Checksums) != sums || r.Seconds <= 0 {
					t.Errorf("%+v: %s: %d bytes, %d latencies, %d checksums in %v s", l, c.name, r.Bytes, len(r.Latencies), len(r.Checksums), r.Seconds)
				}
				if !slices.IsSorted(r.Latencies) || latencies > 0 && r.Latencies[0] <= 0 {
					t.Errorf("%+v: %s: the latencies are %v", l, c.name, r.Latencies)
				}
			}
		}
	}
}

// TestAdded checks that latencies and throughputs of the same round are compared.
func TestAdded(t *testing.T) {
	t.Parallel()
	reference, slower := new(contender), new(contender)
	for i := range int64(3) {
		var before, after []int64
		for j := range int64(100) {
			before, after = append(before, (i+1)*1e6+j), append(after, (2*i+2)*1e6+j)
		}
		reference.results = append(reference.results, result{received: received{Latencies: before, Seconds: 1}})
		slower.results = append(slower.results, result{received: received{Latencies: after, Seconds: float64(4 - i)}})
	}
	for _, share := range []float64{0, 0.5, 0.99} {
		if got := slower.added(reference, share); !slices.Equal(got, []float64{1, 2, 3}) {
			t.Errorf("the added latencies at %v are %v, want 1, 2 and 3", share, got)
		}
	}
	if got := slower.ratios(reference); !slices.Equal(got, []float64{0.25, 1. / 3, 0.5}) {
		t.Errorf("the ratios are %v", got)
	}
}

func TestCountCalls(t *testing.T) {
	t.Parallel()
	const trace = `101 1000.000000 write(7</s/x/response.sse>, ""..., 5) = 5
101 1001.500000 openat(3</s>, ""..., O_RDONLY) = 7</s/x>
102 1001.600000 fsync(7</s/x/response.sse> <unfinished ...>
101 1001.700000 write(5<socket:[1]>, ""..., 5) = 5
102 1001.800000 <... fsync resumed>) = 0
101 1001.900000 write(7</s/x/response.sse>, ""..., 5) = 5
101 1003.000000 futex(0x1, FUTEX_WAKE_PRIVATE, 1) = 0
`
	got, err := countCalls(bufio.NewScanner(strings.NewReader(trace)), time.Unix(1001, 0), time.Unix(1002, 0), "/s")
	if err != nil || got.others != 1 || !maps.Equal(got.files, map[string]int{"openat": 1, "fsync": 1, "write": 1}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if n := got.sum(writes); n != 1 {
		t.Errorf("%d calls write, want 1", n)
	}
}

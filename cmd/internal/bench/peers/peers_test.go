package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/p20export/p20export/cmd/internal/bench/page"
)

// TestPage checks that every table has a place on the page, and only there.
func TestPage(t *testing.T) {
	t.Parallel()
	names := suiteNames()
	if slices.Sort(names); !slices.Equal(names, slices.Sorted(maps.Keys(suites))) {
		t.Errorf("the tables are %q, the order has %q", slices.Sorted(maps.Keys(suites)), names)
	}
	if err := page.CheckPlaces("../../../../docs/benchmarks.md", "bench-peers", names); err != nil {
		t.Error(err)
	}
}

// TestRatios checks that a ratio compares runs of the same round.
func TestRatios(t *testing.T) {
	t.Parallel()
	reference := &contender{name: "reference", runs: []measurement{{1, 1, 1}, {2, 2, 1}, {4, 4, 1}}}
	slower := &contender{name: "slower", runs: []measurement{{3, 2, 9}, {4, 4, 8}, {16, 8, 7}}}
	if got := slower.ratios(reference, wall); !slices.Equal(got, []float64{2, 3, 4}) {
		t.Errorf("the ratios are %v, want 2, 3 and 4", got)
	}
	out := newTable("capture", "reference", false)
	out.group("small", []*contender{reference, slower})
	want := `| capture | program | wall (s) | CPU (s) | peak RSS (MiB) | wall, reference = 1 | CPU, reference = 1 |
|---|---|--:|--:|--:|--:|--:|
| small | reference | 2.00 | 2.00 | 1.00 | 1 | 1 |
|  | slower | 4.00 | 4.00 | 8.00 | **3.00** (2.00–4.00) | **2.00** (2.00–2.00) |
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSyncCall(t *testing.T) {
	t.Parallel()
	const trace = `101 fsync(3) = 0
101   fdatasync(4 <unfinished ...>
102 syncfs(5)                         = 0
101 <... fdatasync resumed>)          = 0
`
	if n := len(syncCall.FindAllString(trace, -1)); n != 3 {
		t.Errorf("%d calls are counted, want 3", n)
	}
}

// TestDamages checks that each damaged capture differs from all others.
func TestDamages(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, d := range damages() {
		if other, ok := seen[d.stream]; ok {
			t.Errorf("%q and %q are the same capture", d.name, other)
		}
		seen[d.stream] = d.name
	}
}

func TestBytesOf(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{1_000_000_000: "1 GB", 256_000_000: "256 MB", 64_000: "64 KB", 10: "10 bytes"} {
		if got := bytesOf(n); got != want {
			t.Errorf("bytesOf(%d) = %q, want %q", n, got, want)
		}
	}
}

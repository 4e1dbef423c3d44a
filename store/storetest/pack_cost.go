package storetest

import (
	"testing"

	"github.com/p20export/p20export/store"
)

// PacksCheaply tests that packing passes over entries that are not worth a pack, of which a thread
// can have many, without asking the log about each. No other test may run at the same time, because
// it counts what the process allocates.
func PacksCheaply(t *testing.T, open Opener) {
	const gaps = 1000
	f := newFixture(t, open)
	k := key("t")
	batch := []store.Entry{large("a"), end("a")}
	for range gaps {
		batch = append(batch, custom("b"), custom("open"))
	}
	f.append(k, 0, append(batch, end("b"))...)
	f.pack(k)
	// Two rows take about 15 allocations, and a query of their own 70 more.
	if n := testing.AllocsPerRun(1, func() { f.pack(k) }) / gaps; n > 40 {
		t.Errorf("%.0f allocations for two entries, want at most 40", n)
	}
}

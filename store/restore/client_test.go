//go:build client

package restore_test

import (
	"slices"
	"testing"

	"github.com/p20export/p20export/envelope/judge"
)

// TestClientWitness checks that the clients of TestWitness end as the reference client does,
// and lets the reference client join their last run with what it had before, at any time.
func TestClientWitness(t *testing.T) {
	t.Parallel()
	j := judge.Start(t)
	joined := 0
	for seed := range uint64(judge.Streams(60)) {
		w := witnessed(t, seed, judge.Subagents|judge.Inputs|judge.Surrogates|judge.Numbers)
		if len(w.ends) == 0 || w.back {
			continue
		}
		for i, start := range w.starts {
			end := len(w.entries)
			if i+1 < len(w.starts) {
				end = w.starts[i+1].entries - 1
			}
			messages, _, err := j.ReduceFrom(start.messages, start.state, eventsOf(w.entries[start.entries:end]))
			if err != nil || !judge.Equal(messages, w.ends[i]) {
				t.Fatalf("seed %d, run %d: %v, messages\n%s, want\n%s", seed, i, err, messages, w.ends[i])
			}
		}
		last := w.starts[len(w.starts)-1].entries
		cut := last + 1 + w.rand.IntN(len(w.entries)-last)
		events := slices.Concat(w.join(t, cut), eventsOf(w.entries[cut:]))
		for _, seen := range append([]sight{{0, "[]", "{}"}}, w.seen...) {
			if seen.entries > cut {
				break
			}
			joined++
			messages, _, err := j.ReduceFrom(seen.messages, seen.state, events)
			if want := w.ends[len(w.ends)-1]; err != nil || !judge.Equal(messages, want) {
				t.Fatalf("seed %d, cut %d, seen %d: %v, messages\n%s, want\n%s", seed, cut, seen.entries, err, messages, want)
			}
		}
	}
	if joined < judge.Streams(60) {
		t.Errorf("clients joined only %d times", joined)
	}
}

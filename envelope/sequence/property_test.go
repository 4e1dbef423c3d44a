package sequence_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/finding"
)

// streams calls each with generated streams, most of them damaged.
func streams(t *testing.T, n int, each func(r *rand.Rand, events []string)) {
	t.Helper()
	for i := range n {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		events := judge.Generate(r, judge.Generator{With: judge.UnknownTypes | judge.Legacy})
		if i%4 > 0 {
			events = judge.Damage(r, events)
		}
		each(r, events)
		if t.Failed() {
			t.Fatalf("stream %d: %q", i, events)
		}
	}
}

// acrossRuns lists the rules that compare runs.
var acrossRuns = []string{"G32", "G35", "G36", "G37"}

// same reports whether two findings are equal.
func same(a, b finding.Finding) bool { return cmp.Equal(a, b) }

// The breaches of the beginning of a stream are the beginning of its breaches.
func TestPrefixes(t *testing.T) {
	streams(t, 100, func(r *rand.Rand, events []string) {
		for _, p := range event.Protocols() {
			n := r.IntN(len(events) + 1)
			all, part := atEvents(check(t, p, events...)), atEvents(check(t, p, events[:n]...))
			if len(part) > len(all) || !slices.EqualFunc(part, all[:len(part)], same) || len(part) < len(all) && *all[len(part)].EventIndex < n {
				t.Errorf("the first %d events: %v, all: %v", n, part, all)
			}
		}
	})
}

// atEvents returns the findings without that about the end of the stream.
func atEvents(list []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(list, func(f finding.Finding) bool { return f.Rule == "G34" })
}

// Each run begins with nothing open and nothing on record: the runs of two streams have the
// breaches of both, except those of rules that compare runs.
func TestRunsAreIndependent(t *testing.T) {
	var before []string
	streams(t, 100, func(_ *rand.Rand, events []string) {
		both := slices.Concat(before, []string{`{"type":"RUN_ERROR","message":"why"}`, started}, events)
		offset := len(before) + 2
		var alone, joined []string
		for _, f := range check(t, event.V1, append([]string{started}, events...)...) {
			if *f.EventIndex > 0 && !slices.Contains(acrossRuns, f.Rule) {
				alone = append(alone, f.Rule)
			}
		}
		for _, f := range check(t, event.V1, both...) {
			if *f.EventIndex >= offset && !slices.Contains(acrossRuns, f.Rule) {
				joined = append(joined, f.Rule)
			}
		}
		if !slices.Equal(alone, joined) {
			t.Errorf("alone %v, after %q %v", alone, before, joined)
		}
		before = events
	})
}

// Every finding has a rule of its protocol, the rule's code, and a place in its event. The
// events of findings do not decrease.
func TestFindingsArePlaced(t *testing.T) {
	codes := map[string]finding.Code{}
	for _, r := range finding.SequenceRules() {
		codes[r.ID] = r.Code
	}
	seen := map[string]bool{}
	streams(t, 200, func(_ *rand.Rand, events []string) {
		for _, p := range event.Protocols() {
			last := 0
			for _, f := range check(t, p, events...) {
				at := *f.EventIndex
				if f.Code == finding.ProtocolNewer {
					continue
				}
				if f.Code == "" || codes[f.Rule] != f.Code || at < last || *f.Offset < 0 || *f.Offset >= int64(len(events[at])) {
					t.Errorf("%s: %+v", p, f)
				}
				last = at
				seen[f.Rule] = true
			}
		}
	})
	if len(seen) < 24 {
		t.Errorf("only %d rules were broken: %v", len(seen), seen)
	}
}

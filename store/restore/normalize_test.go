package restore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope/compact"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/restore"
)

// normalized returns the entries of a thread whose requests omit what the history has. It
// checks that the requests as they were sent can be restored.
func normalized(t fataler, g *thread, th *restore.Thread) []store.Entry {
	t.Helper()
	entries := slices.Clone(g.entries)
	for i, r := range g.runs {
		if r.inputAt == 0 || !strings.HasPrefix(r.input, "{") {
			continue
		}
		before, err := th.Before(context.Background(), th.Graph.Nodes[i])
		if err != nil {
			t.Fatal(err)
		}
		n, err := compact.Normalize(before.Messages, []byte(r.input))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := compact.Denormalize(before.Messages, n); err != nil || string(got) != r.input {
			t.Fatalf("run %d: the request is restored as %s, %v", i, got, err)
		}
		entries[r.inputAt-1].Data = n.Input
	}
	return entries
}

// TestNormalized checks that it makes no difference to the messages whether requests have
// the whole conversation, nor to a state that is known.
func TestNormalized(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkNormalized(t, generate(shape{
			runs:   rapid.IntRange(1, 20).Draw(t, "runs"),
			inputs: rapid.SampledFrom([]string{"full", "mixed"}).Draw(t, "inputs"),
			open:   rapid.IntRange(1, 3).Draw(t, "open"),
			broken: rapid.Bool().Draw(t, "broken"),
		}, rapid.Uint64().Draw(t, "seed")), 1)
	})
}

func TestNormalizedThousandRuns(t *testing.T) {
	t.Parallel()
	checkNormalized(t, generate(shape{runs: 1000, inputs: "full", open: 2}, 7), 10)
}

// checkNormalized checks a thread, and each run or only some.
func checkNormalized(t fataler, g *thread, each int) {
	t.Helper()
	full := open(t, g.entries, restore.Options{})
	entries := normalized(t, g, full)
	before, after := 0, 0
	for i, e := range entries {
		if e.Kind == store.Input {
			before, after = before+len(g.entries[i].Data), after+len(e.Data)
		}
	}
	if len(g.runs) == 1000 && after > before/20 {
		t.Errorf("the requests have %d bytes, and %d without repeated messages", before, after)
	}
	short := open(t, entries, restore.Options{Input: restore.Normalized})
	for i := 0; i < len(g.runs); i += each {
		got, err := short.Run(context.Background(), short.Graph.Nodes[i])
		if err != nil {
			t.Fatal(err)
		}
		want := g.runs[i].end
		if !want.known {
			want.state, want.known = string(got.State), got.StateKnown
		}
		check(t, fmt.Sprintf("run %d", i), got, want)
	}
}

// TestForks forks runs of generated threads and appends the run that answers.
func TestForks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := generate(shape{
			runs:   rapid.IntRange(1, 12).Draw(t, "runs"),
			inputs: rapid.SampledFrom([]string{"none", "full", "mixed"}).Draw(t, "inputs"),
			open:   rapid.IntRange(1, 3).Draw(t, "open"),
			broken: true,
		}, rapid.Uint64().Draw(t, "seed"))
		ctx := context.Background()
		log := memory.New()
		if _, err := log.Append(ctx, key, 0, g.entries); err != nil {
			t.Fatal(err)
		}
		th := reopen(t, log, restore.Options{})
		i := rapid.IntRange(0, len(g.runs)-1).Draw(t, "run")
		n := th.Graph.Nodes[i]
		from, err := th.Run(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		in, err := th.Fork(from, "fork", rapid.SampledFrom([]lineage.Form{lineage.Full, lineage.Normalized}).Draw(t, "form"))
		same := th.Graph.Find("t", n.ID)
		if unnamed := len(same) == 0 || same[len(same)-1] != n; unnamed != (err != nil) {
			t.Fatalf("the fork of run %d: %v", i, err)
		}
		if err != nil {
			return
		}
		started := event.Append(nil, &event.RunStarted{ThreadID: "t", RunID: in.RunID, ParentRunID: in.ParentRunID})
		if _, err := log.Append(ctx, key, th.Last, []store.Entry{
			{Stream: "fork", Kind: store.Input, Data: event.AppendRunInput(nil, in)},
			{Stream: "fork", Kind: store.Event, Data: started},
		}); err != nil {
			t.Fatal(err)
		}
		th = reopen(t, log, restore.Options{})
		got, err := th.Run(ctx, th.Graph.Nodes[len(g.runs)])
		if err != nil {
			t.Fatal(err)
		}
		if got.Run.Parent.Index != i || string(got.Messages) != string(from.Messages) || string(got.State) != string(from.State) {
			t.Fatalf("the fork of run %d continues %v with\n%s\n%s\nand not with\n%s\n%s", i, got.Run.Parent, got.Messages, got.State, from.Messages, from.State)
		}
	})
}

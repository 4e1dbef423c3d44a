package restore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/restore"
)

// fataler is a *testing.T or *rapid.T.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

var key = store.Key{Thread: "t"}

// open returns a thread in a log in memory.
func open(t fataler, entries []store.Entry, o restore.Options) *restore.Thread {
	t.Helper()
	log := memory.New()
	if _, err := log.Append(context.Background(), key, 0, entries); err != nil {
		t.Fatal(err)
	}
	return reopen(t, log, o)
}

func reopen(t fataler, log store.Log, o restore.Options) *restore.Thread {
	t.Helper()
	th, err := restore.Open(context.Background(), log, key, o)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

// check compares a result with what a client has.
func check(t fataler, what string, got *restore.Result, want point) {
	t.Helper()
	if string(got.Messages) != want.messages {
		t.Fatalf("%s: messages\n%s", what, cmp.Diff(strings.Split(want.messages, `},{`), strings.Split(string(got.Messages), `},{`)))
	}
	if string(got.State) != want.state || got.StateKnown != want.known {
		t.Fatalf("%s: state %s (%v), want %s (%v)", what, got.State, got.StateKnown, want.state, want.known)
	}
	if len(got.PendingToolCalls) != want.calls {
		t.Fatalf("%s: pending tool calls %q, want %d", what, got.PendingToolCalls, want.calls)
	}
	start := int64(0)
	if want.run != nil {
		start = want.run.start
	}
	if got.Run == nil && start != 0 || got.Run != nil && got.Run.Position != start {
		t.Fatalf("%s: the run is %v, want the one at %d", what, got.Run, start)
	}
}

// checkParents compares the graph of a thread with what was generated.
func checkParents(t fataler, g *thread, th *restore.Thread) {
	t.Helper()
	if len(th.Graph.Nodes) != len(g.runs) {
		t.Fatalf("%d runs, want %d", len(th.Graph.Nodes), len(g.runs))
	}
	for i, r := range g.runs {
		n := th.Graph.Nodes[i]
		if n.ID != r.id || n.Position != r.start || (n.Parent == nil) != (r.parent == nil) || n.Parent != nil && n.Parent.Position != r.parent.start {
			t.Fatalf("run %d is %+v with the parent %+v, want %+v", i, n, n.Parent, r)
		}
	}
}

// TestTravel restores small threads as of every position, and at the end of every run.
func TestTravel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := generate(shape{
			runs:   rapid.IntRange(1, 12).Draw(t, "runs"),
			inputs: rapid.SampledFrom([]string{"none", "full", "mixed"}).Draw(t, "inputs"),
			open:   rapid.IntRange(1, 3).Draw(t, "open"),
			broken: rapid.Bool().Draw(t, "broken"),
			points: true,
		}, rapid.Uint64().Draw(t, "seed"))
		th := open(t, g.entries, restore.Options{})
		checkParents(t, g, th)
		for i, want := range g.points {
			got, err := th.At(context.Background(), int64(i+1))
			if err != nil {
				t.Fatal(err)
			}
			check(t, fmt.Sprintf("position %d", i+1), got, want)
		}
		for i, r := range g.runs {
			got, err := th.Run(context.Background(), th.Graph.Nodes[i])
			if err != nil {
				t.Fatal(err)
			}
			check(t, fmt.Sprintf("run %d", i), got, r.end)
			if !g.broken && len(got.Findings) > 0 {
				checkFindings(t, got.Findings)
			}
		}
	})
}

// checkFindings accepts only findings about patches of a member that the state lacks, and
// about activities and snapshots without the first messages.
func checkFindings(t fataler, found []finding.Finding) {
	t.Helper()
	for _, f := range found {
		if f.Code != finding.PatchFailed && f.Code != finding.InputOmitsHistory || f.Severity != finding.Warning {
			t.Fatalf("finding %+v", f)
		}
	}
}

// replayed returns what a Reducer has after the events of a branch, from its root.
func replayed(g *thread, r *run) point {
	var path []*run
	for p := r; p != nil; p = p.parent {
		path = append([]*run{p}, path...)
	}
	reducer := reduce.New(reduce.Options{})
	for i, p := range path {
		if p.inputAt > 0 {
			if p.parentID == "" {
				reducer = reduce.New(reduce.Options{})
				reducer.Seed([]byte(p.input))
			} else {
				reducer.Continue([]byte(p.input))
			}
		}
		end := len(g.entries)
		if i+1 < len(path) {
			end = int(path[i+1].start) - 1
		}
		for at := int(p.start) - 1; at < end; at++ {
			e := g.entries[at]
			if e.Stream != p.stream || e.Kind == store.End {
				continue
			}
			if at >= int(p.start) && strings.HasPrefix(string(e.Data), `{"type":"RUN_STARTED"`) {
				break
			}
			apply(reducer, string(e.Data))
		}
	}
	return point{r, string(reducer.AppendMessages(nil)), string(reducer.AppendState(nil)), reducer.HasState(), len(reducer.PendingToolCalls())}
}

// TestThousandRuns restores the end of every run of threads of 1,000 runs, and replays some
// branches from their roots.
func TestThousandRuns(t *testing.T) {
	t.Parallel()
	for seed, s := range []shape{
		{runs: 1000, inputs: "none", open: 1},
		{runs: 1000, inputs: "full", open: 3},
	} {
		g := generate(s, uint64(seed))
		th := open(t, g.entries, restore.Options{})
		checkParents(t, g, th)
		for i, r := range g.runs {
			got, err := th.Run(t.Context(), th.Graph.Nodes[i])
			if err != nil {
				t.Fatal(err)
			}
			check(t, fmt.Sprintf("%s, run %d", s.inputs, i), got, r.end)
			if i%100 == 99 {
				check(t, fmt.Sprintf("%s, run %d from the root", s.inputs, i), got, replayed(g, r))
			}
		}
	}
}

// TestOtherIDs gives the messages of all requests with a parent other ids. Each is then read
// as the whole conversation, if it has a message of an assistant.
func TestOtherIDs(t *testing.T) {
	t.Parallel()
	compared := 0
	for seed := range uint64(20) {
		g := generate(shape{runs: 20, inputs: "full", open: 1}, seed)
		for i, r := range g.runs {
			if r.inputAt > 0 && r.parentID != "" {
				r.input = withOtherIDs(t, r.input, fmt.Sprintf("run%d-", i))
				g.entries[r.inputAt-1].Data = []byte(r.input)
			}
		}
		th := open(t, g.entries, restore.Options{})
		for i, r := range g.runs {
			if r.inputAt == 0 || r.parentID == "" || !strings.Contains(r.input, `"role":"assistant"`) {
				continue
			}
			got, err := th.At(t.Context(), r.inputAt)
			if err != nil {
				t.Fatal(err)
			}
			client := reduce.New(reduce.Options{})
			client.Seed([]byte(r.input))
			if want := string(client.AppendMessages(nil)); string(got.Messages) != want {
				t.Fatalf("seed %d, run %d: messages\n%s", seed, i, cmp.Diff(strings.Split(want, `},{`), strings.Split(string(got.Messages), `},{`)))
			}
			compared++
		}
	}
	if compared < 50 {
		t.Errorf("only %d requests have messages with other ids", compared)
	}
}

// withOtherIDs returns a request with a prefix before the ids of its messages.
func withOtherIDs(t *testing.T, request, prefix string) string {
	t.Helper()
	var in map[string]any
	if err := json.Unmarshal([]byte(request), &in); err != nil {
		t.Fatal(err)
	}
	for _, m := range in["messages"].([]any) {
		m := m.(map[string]any)
		m["id"] = prefix + fmt.Sprint(m["id"])
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

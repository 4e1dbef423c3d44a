package restore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// witness is a client that saw everything: it has the messages to which its user adds, and
// sends them without activities.
type witness struct {
	rand      *rand.Rand
	reasoning bool // it sends reasoning
	edits     bool // the user goes back to earlier messages
	entries   []store.Entry
	reducer   *reduce.Reducer
	ends      []string   // its messages at the end of each run
	seen      []sight    // after some events
	removed   []string   // what the user removed
	serial    int
}

// sight is what a client has after some entries.
type sight struct {
	entries         int
	messages, state string
}

var parent = regexp.MustCompile(`,"parentRunId":"[^"]*"`)

// witnessed returns what a client saw of generated runs.
func witnessed(t *rapid.T, without judge.Feature) *witness {
	t.Helper()
	w := &witness{
		rand:      rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2)),
		reasoning: rapid.Bool().Draw(t, "reasoning"), edits: rapid.Bool().Draw(t, "edits"),
		reducer: reduce.New(reduce.Options{Dialect: reduce.Client}),
	}
	if w.edits {
		// The generator does not know which messages the client has removed.
		without |= judge.Tools | judge.Snapshots | judge.Inputs | judge.Reopening
	}
	run := 0
	for _, e := range judge.Generate(w.rand, judge.Generator{Without: without | judge.Collisions}) {
		if strings.HasPrefix(e, `{"type":"RUN_STARTED"`) {
			w.finish(run)
			run++
			e = parent.ReplaceAllString(e, "")
			w.send(t, run)
		}
		uses := func(m string) bool { return strings.Contains(e, `"messageId":"`+idOf(t, m)+`"`) }
		if run == 0 || slices.ContainsFunc(w.removed, uses) {
			continue
		}
		w.add(run, store.Event, e)
		apply(w.reducer, e)
		if w.rand.IntN(4) == 0 {
			w.seen = append(w.seen, sight{len(w.entries), string(w.reducer.AppendMessages(nil)), string(w.reducer.AppendState(nil))})
		}
	}
	w.finish(run)
	return w
}

func (w *witness) add(run int, kind store.Kind, data string) {
	w.entries = append(w.entries, store.Entry{Stream: fmt.Sprint("s", run), Kind: kind, Data: []byte(data)})
}

func (w *witness) finish(run int) {
	if run > 0 {
		w.add(run, store.End, "eof")
		w.ends = append(w.ends, string(w.reducer.AppendMessages(nil)))
	}
}

// send sends the request of a run. The user adds a message, or none, and sometimes goes back to
// an earlier message.
func (w *witness) send(t fataler, run int) {
	t.Helper()
	list := texts(t, string(w.reducer.AppendMessages(nil)))
	more := w.rand.IntN(4) > 0 || run == 1
	if w.edits && w.rand.IntN(5) == 0 {
		for i, m := range list {
			if strings.HasPrefix(m, `{"id":"user-`) && w.rand.IntN(3) == 0 {
				w.removed = append(w.removed, list[i:]...)
				list, more = list[:i], true
				break
			}
		}
	}
	if more {
		w.serial++
		list = append(list, userMessage(fmt.Sprint("user-", w.serial)))
	}
	if err := w.reducer.Restore([]byte("["+strings.Join(list, ",")+"]"), w.reducer.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	list = slices.DeleteFunc(list, func(m string) bool {
		role := roleOf(t, m)
		return role == "activity" || role == "reasoning" && !w.reasoning
	})
	w.add(run, store.Input, fmt.Sprintf(`{"threadId":"t","runId":"r%d","state":%s,"messages":[%s]}`, run, w.reducer.AppendState(nil), strings.Join(list, ",")))
}

// texts returns the elements of a JSON array.
func texts(t fataler, array string) (list []string) {
	t.Helper()
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(array), &raw); err != nil {
		t.Fatal(err)
	}
	for _, m := range raw {
		list = append(list, string(m))
	}
	return list
}

func roleOf(t fataler, message string) string {
	t.Helper()
	var m struct{ Role string }
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		t.Fatal(err)
	}
	return m.Role
}

func idOf(t fataler, message string) string {
	t.Helper()
	var m struct{ ID string }
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		t.Fatal(err)
	}
	return m.ID
}

// TestWitness restores what a client has that saw everything.
func TestWitness(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := witnessed(rt, 0)
		if len(w.ends) == 0 {
			return
		}
		th := open(rt, w.entries, restore.Options{Dialect: reduce.Client})
		for i, n := range th.Graph.Nodes {
			got, err := th.Run(context.Background(), n)
			if err != nil {
				rt.Fatal(err)
			}
			if string(got.Messages) != w.ends[i] {
				rt.Fatalf("run %d: messages (-want +got)\n%s\n%s", i, cmp.Diff(strings.Split(w.ends[i], `},{`), strings.Split(string(got.Messages), `},{`)), shownEntries(w.entries))
			}
		}
	})
}

func shownEntries(entries []store.Entry) string {
	var b strings.Builder
	for i, e := range entries {
		fmt.Fprintf(&b, "%d %s %s\n", i+1, e.Kind, e.Data)
	}
	return b.String()
}

// TestWitnessJoins lets clients join the last run which had left before, at any time.
func TestWitnessJoins(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := witnessed(rt, judge.Subagents|judge.Inputs)
		if len(w.ends) == 0 {
			return
		}
		all := entriesIn(rt, w.entries)
		last := slices.IndexFunc(all, func(e *store.Entry) bool { return e.Stream == fmt.Sprint("s", len(w.ends)) && e.Kind == store.Event })
		cut := rapid.IntRange(last+1, len(all)).Draw(rt, "cut")
		th := open(rt, w.entries[:cut], restore.Options{Dialect: reduce.Client})
		l, err := th.Live(context.Background(), th.Graph.Nodes[len(w.ends)-1])
		if err != nil {
			rt.Fatal(err)
		}
		events := prelude(rt, l)
		for _, e := range all[cut:] {
			if e.Kind == store.Event {
				events = append(events, string(e.Data))
			}
		}
		for i, seen := range append([]sight{{0, "[]", "{}"}}, w.seen...) {
			if seen.entries > cut {
				break
			}
			client := reduce.New(reduce.Options{Dialect: reduce.Client})
			if err := client.Restore([]byte(seen.messages), []byte(seen.state)); err != nil {
				rt.Fatal(err)
			}
			for _, e := range events {
				apply(client, e)
			}
			if got, want := string(client.AppendMessages(nil)), w.ends[len(w.ends)-1]; !judge.Equal(got, want) {
				rt.Fatalf("cut %d, client %d with\n%s\nmessages (-want +got)\n%s\nprelude\n%s\n%s", cut, i, seen.messages, cmp.Diff(strings.Split(want, `},{`), strings.Split(got, `},{`)), strings.Join(events, "\n"), shownEntries(w.entries))
			}
		}
	})
}

package restore_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	starts    []sight  // before the events of each run
	ends      []string // its messages at the end of each run
	seen      []sight  // after some events
	removed   []string // what the user removed
	gone      []string // the ids of what snapshots removed
	back      bool     // such a message came back
	serial    int
}

// sight is what a client has after some entries.
type sight struct {
	entries         int
	messages, state string
}

var parent = regexp.MustCompile(`,"parentRunId":"[^"]*"`)

// witnessed returns what a client saw of generated runs.
func witnessed(t *testing.T, seed uint64, without judge.Feature) *witness {
	t.Helper()
	w := &witness{
		rand:      rand.New(rand.NewPCG(seed, 2)),
		reasoning: seed%2 == 0, edits: seed/2%2 == 0,
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
		before := texts(t, string(w.reducer.AppendMessages(nil)))
		apply(w.reducer, e)
		w.compare(t, before)
		if w.rand.IntN(4) == 0 {
			w.seen = append(w.seen, sight{len(w.entries), string(w.reducer.AppendMessages(nil)), string(w.reducer.AppendState(nil))})
		}
	}
	w.finish(run)
	return w
}

// compare notes which messages an event removed, and whether one came back.
func (w *witness) compare(t fataler, before []string) {
	t.Helper()
	var now []string
	for _, m := range texts(t, string(w.reducer.AppendMessages(nil))) {
		id := idOf(t, m)
		now = append(now, id)
		w.back = w.back || slices.Contains(w.gone, id)
	}
	for _, m := range before {
		if id := idOf(t, m); !slices.Contains(now, id) {
			w.gone = append(w.gone, id)
		}
	}
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
	w.starts = append(w.starts, sight{len(w.entries) + 1, string(w.reducer.AppendMessages(nil)), string(w.reducer.AppendState(nil))})
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

// witnesses calls do with clients that saw everything, which made runs from seeds. It leaves
// out threads without a run, and those to which a removed message came back.
func witnesses(t *testing.T, without judge.Feature, do func(seed uint64, w *witness)) {
	t.Helper()
	done := 0
	for seed := range uint64(judge.Streams(400)) {
		if w := witnessed(t, seed, without); len(w.ends) > 0 && !w.back {
			do(seed, w)
			done++
		}
	}
	if done < judge.Streams(400)/2 {
		t.Errorf("only %d threads", done)
	}
}

// TestWitness restores what a client has that saw everything.
func TestWitness(t *testing.T) {
	t.Parallel()
	witnesses(t, 0, func(seed uint64, w *witness) {
		th := open(t, w.entries, restore.Options{Dialect: reduce.Client})
		for i, n := range th.Graph.Nodes {
			got, err := th.Run(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Messages) != w.ends[i] {
				t.Errorf("seed %d, run %d: messages (-want +got)\n%s", seed, i, cmp.Diff(strings.Split(w.ends[i], `},{`), strings.Split(string(got.Messages), `},{`)))
			}
		}
	})
}

// TestWitnessJoins lets clients join the last run which had left before, at any time.
func TestWitnessJoins(t *testing.T) {
	t.Parallel()
	witnesses(t, judge.Subagents|judge.Inputs, func(seed uint64, w *witness) {
		last := w.starts[len(w.starts)-1].entries
		cut := last + 1 + w.rand.IntN(len(w.entries)-last)
		events := append(w.join(t, cut), eventsOf(w.entries[cut:])...)
		for _, seen := range append([]sight{{0, "[]", "{}"}}, w.seen...) {
			if seen.entries > cut {
				break
			}
			client := reduce.New(reduce.Options{Dialect: reduce.Client})
			if err := client.Restore([]byte(seen.messages), []byte(seen.state)); err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				apply(client, e)
			}
			if got, want := string(client.AppendMessages(nil)), w.ends[len(w.ends)-1]; !judge.Equal(got, want) {
				t.Fatalf("seed %d, cut %d, seen %d: messages (-want +got)\n%s", seed, cut, seen.entries, cmp.Diff(strings.Split(want, `},{`), strings.Split(got, `},{`)))
			}
		}
	})
}

// eventsOf returns the events among entries.
func eventsOf(entries []store.Entry) (list []string) {
	for _, e := range entries {
		if e.Kind == store.Event {
			list = append(list, string(e.Data))
		}
	}
	return list
}

// join returns the prelude of the last run after some entries.
func (w *witness) join(t *testing.T, cut int) []string {
	t.Helper()
	th := open(t, w.entries[:cut], restore.Options{Dialect: reduce.Client})
	l, err := th.Live(t.Context(), th.Graph.Nodes[len(w.ends)-1])
	if err != nil {
		t.Fatal(err)
	}
	return prelude(t, l)
}

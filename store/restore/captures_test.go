package restore_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/compact"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// captured returns the entries of each committed capture, by its path. The captures of three
// turns of a thread are also one thread.
func captured(t testing.TB) map[string][]store.Entry {
	t.Helper()
	threads := make(map[string][]store.Entry)
	for _, pattern := range []string{"captures/*/*", "drift/captures/*/*"} {
		paths, err := filepath.Glob("../../discovery/" + pattern)
		if err != nil || len(paths) < 40 {
			t.Fatalf("%s: %d captures, %v", pattern, len(paths), err)
		}
		for _, path := range paths { // in order
			entries := entriesOf(t, path)
			threads[path] = entries
			if thread, ok := strings.CutSuffix(path[:len(path)-1], "three-turns-"); ok {
				threads[thread+"three-turns"] = append(threads[thread+"three-turns"], entries...)
			}
		}
	}
	return threads
}

// entriesOf returns the entries of a capture.
func entriesOf(t testing.TB, path string) (list []store.Entry) {
	t.Helper()
	c, err := capture.Open(t.Context(), path, "")
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer c.Close()
	request, err := c.Request()
	if err != nil || request == nil {
		t.Fatalf("%s: the request is %q, %v", path, request, err)
	}
	list = append(list, store.Entry{Stream: path, Kind: store.Input, Data: request})
	for {
		f, err := c.Next()
		if err == io.EOF {
			return append(list, store.Entry{Stream: path, Kind: store.End, Data: []byte(capture.EndEOF)})
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if f.Problem == nil {
			list = append(list, store.Entry{Stream: path, Kind: store.Event, Data: slices.Clone(f.Data)})
		}
	}
}

// compacted returns the messages and the state that mode snapshot has at the end of each
// run.
func compacted(t *testing.T, entries []store.Entry, seed bool) (ends []string) {
	t.Helper()
	messages, state, started := "[]", "{}", false
	end := func() {
		if started {
			ends = append(ends, messages+"\n"+state)
		}
	}
	c := compact.New(compact.Options{Mode: compact.ModeSnapshot}, func(data []byte) error {
		e, err := envelope.ReadEvent(data)
		if err != nil {
			return err
		}
		switch e.Type {
		case "RUN_STARTED":
			end()
			started, messages = true, "[]"
		case "MESSAGES_SNAPSHOT":
			v, _ := e.Get("messages")
			messages = string(v.Raw)
		case "STATE_SNAPSHOT":
			v, _ := e.Get("snapshot")
			state = string(v.Raw)
		}
		return nil
	})
	for _, e := range entries {
		var err error
		switch {
		case e.Kind == store.Input && seed:
			err = c.Seed(e.Data)
		case e.Kind == store.Event:
			var event *envelope.Event
			if event, err = envelope.ReadEvent(e.Data); err == nil {
				err = c.Event(event)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	end()
	return ends
}

// restored returns the messages and the state at the end of each run of a thread.
func restored(t *testing.T, entries []store.Entry) (ends []string) {
	t.Helper()
	th := open(t, entries, restore.Options{})
	for _, n := range th.Graph.Nodes {
		r, err := th.Run(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, fmt.Sprintf("%s\n%s", r.Messages, r.State))
	}
	return ends
}

// TestCaptures compares every committed capture with what mode snapshot makes of it: with
// its request, and without.
func TestCaptures(t *testing.T) {
	t.Parallel()
	threads := captured(t)
	runs := 0
	for _, path := range slices.Sorted(maps.Keys(threads)) {
		entries := threads[path]
		events := slices.DeleteFunc(slices.Clone(entries), func(e store.Entry) bool { return e.Kind == store.Input })
		if diff := cmp.Diff(compacted(t, events, false), restored(t, events)); diff != "" {
			t.Errorf("%s without requests: mode snapshot -, restored +\n%s", path, diff)
		}
		if strings.HasSuffix(path, "three-turns") {
			checkTurns(t, path, entries)
			continue
		}
		got := restored(t, entries)
		runs += len(got)
		if diff := cmp.Diff(compacted(t, entries, true), got); diff != "" {
			t.Errorf("%s: mode snapshot -, restored +\n%s", path, diff)
		}
	}
	if runs < 100 {
		t.Errorf("the captures have only %d runs", runs)
	}
}

// checkTurns checks a thread of three captures whose client sends the whole conversation:
// each run alone has the same result.
func checkTurns(t *testing.T, path string, entries []store.Entry) {
	t.Helper()
	all, alone := entries, []string(nil)
	for len(entries) > 0 {
		n := slices.IndexFunc(entries, func(e store.Entry) bool { return e.Kind == store.End }) + 1
		alone = append(alone, restored(t, entries[:n])...)
		entries = entries[n:]
	}
	th := open(t, all, restore.Options{})
	last, err := th.Run(t.Context(), th.Graph.Nodes[len(alone)-1])
	if err != nil {
		t.Fatal(err)
	}
	// LlamaIndex adds a message for the model, which the client does not send back. All
	// agents give their messages other ids than the client has.
	if got, want := len(last.Findings) > 0, strings.Contains(path, "llama-index"); got != want {
		t.Errorf("%s: findings %v", path, last.Findings)
	}
	if diff := cmp.Diff(alone, restored(t, all)); diff != "" {
		t.Errorf("%s: alone -, in the thread +\n%s", path, diff)
	}
	if diff := cmp.Diff(alone, restored(t, withParents(t, all))); diff != "" {
		t.Errorf("%s: alone -, in the thread with parents +\n%s", path, diff)
	}
}

// withParents returns the entries of a thread whose requests name the run before them.
func withParents(t *testing.T, entries []store.Entry) []store.Entry {
	t.Helper()
	entries = slices.Clone(entries)
	var last string
	for i, e := range entries {
		if e.Kind != store.Input {
			continue
		}
		in, err := event.DecodeRunInput(e.Data, event.Tolerant(nil))
		if err != nil {
			t.Fatal(err)
		}
		if last != "" {
			entries[i].Data = slices.Concat([]byte(fmt.Sprintf(`{"parentRunId":%q,`, last)), bytes.TrimPrefix(e.Data, []byte("{")))
		}
		last = in.RunID
	}
	return entries
}

// TestSnapshots does the same with generated threads that have branches.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		g := generate(shape{
			runs: rapid.IntRange(1, 20).Draw(r, "runs"), inputs: "none", open: 1, broken: rapid.Bool().Draw(r, "broken"),
		}, rapid.Uint64().Draw(r, "seed"))
		entries := slices.DeleteFunc(g.entries, func(e store.Entry) bool {
			_, err := envelope.ReadEvent(e.Data)
			return err != nil // an end, or an event that cannot be read
		})
		for i := range entries {
			entries[i].Kind, entries[i].Stream = store.Event, "s"
		}
		want, got := compacted(t, entries, false), restored(t, entries)
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("mode snapshot -, restored +\n%s", diff)
		}
	})
}

// TestStates has streams whose runs begin with the state of a request, of an input, or with
// none. Mode snapshot and restore have the same state at the end of each run.
func TestStates(t *testing.T) {
	t.Parallel()
	const (
		add  = `STATE_DELTA{"delta":[{"op":"add","path":"/n","value":1}]}`
		move = `STATE_DELTA{"delta":[{"op":"move","from":"/n","path":"/m"}]}`
		end  = `RUN_FINISHED{"threadId":"t","runId":"r"}`
	)
	start := func(id, more string) string {
		return `RUN_STARTED{"threadId":"t","runId":"` + id + `"` + more + `}`
	}
	input := func(state string) string {
		return `,"input":{"threadId":"t","runId":"r","messages":[]` + state + `}`
	}
	for _, c := range []struct {
		name, request string
		events        []string
		want          string
	}{
		{"nothing is known", ``, []string{start("r", ""), end}, `{}`},
		{"deltas alone", ``, []string{start("r", ""), add, end}, `{"n":1}`},
		{"a delta that does not apply", ``, []string{start("r", ""), move, end}, `{}`},
		{"a request without a state", `{"messages":[]}`, []string{start("r", ""), add, end}, `{"n":1}`},
		{"a request with a state", `{"messages":[],"state":{"n":0}}`, []string{start("r", ""), move, end}, `{"m":0}`},
		{"a state of null is none", `{"messages":[],"state":null}`, []string{start("r", ""), add, end}, `{"n":1}`},
		{"a request of another state than the input", `{"messages":[],"state":{"n":0}}`, []string{start("r", input(`,"state":{"n":5}`)), move, end}, `{"m":0}`},
		{"a request without the state of the input", `{"messages":[]}`, []string{start("r", input(`,"state":{"n":5}`)), move, end}, `{}`},
		{"an input", ``, []string{start("r", input(`,"state":{"n":5}`)), move, end}, `{"m":5}`},
		{"an input without a state", ``, []string{start("r", input(``)), add, end}, `{"n":1}`},
		{"the state persists in a stream", ``, []string{start("r", input(`,"state":{"n":5}`)), end, start("s", input(`,"state":{"x":1}`)), move, end}, `{"n":5} {"m":5}`},
		{"a branch", ``, []string{start("r", ""), add, end, start("s", ""), move, end, start("u", `,"parentRunId":"r"`), move, end}, `{"n":1} {"m":1} {"m":1}`},
		{"a parent that is not known", ``, []string{start("r", ""), add, end, start("s", `,"parentRunId":"x"`+input(`,"state":{"n":2}`)), move, end, start("u", `,"parentRunId":"y"`), end}, `{"n":1} {"m":2} {}`},
	} {
		lines := c.events
		if c.request != "" {
			lines = append([]string{`input ` + c.request}, lines...)
		}
		entries := script("a " + strings.Join(lines, "\na "))
		want, got := compacted(t, entries, true), restored(t, entries)
		var states []string
		for i := range got {
			if i >= len(want) || got[i] != want[i] {
				t.Errorf("%s: mode snapshot has %q, restored %q", c.name, want, got)
			}
			_, state, _ := strings.Cut(got[i], "\n")
			states = append(states, state)
		}
		if states := strings.Join(states, " "); states != c.want {
			t.Errorf("%s: the states are %s, want %s", c.name, states, c.want)
		}
	}
}

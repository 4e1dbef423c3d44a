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

// restored returns the messages and the state at the end of each run of a thread. Mode
// snapshot writes no state that is not known.
func restored(t *testing.T, entries []store.Entry) (ends []string) {
	t.Helper()
	th := open(t, entries, restore.Options{})
	for _, n := range th.Graph.Nodes {
		r, err := th.Run(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		state := "{}"
		if r.StateKnown {
			state = string(r.State)
		}
		ends = append(ends, fmt.Sprintf("%s\n%s", r.Messages, state))
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
		for i := range min(len(want), len(got)) {
			// A snapshot cannot say that a branch has no known state.
			if messages, ok := strings.CutSuffix(got[i], "\n{}"); ok {
				got[i] = messages
				want[i], _, _ = strings.Cut(want[i], "\n")
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("mode snapshot -, restored +\n%s", diff)
		}
	})
}

package reduce

import (
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/finding"
)

// everything is what can be known of a Reducer.
type everything struct {
	messages, state, interrupts string
	pending                     []string
	changes                     Changes
	known, full, requested      bool
	bytes, merges, removed      int
	patches                     any
	reported                    int
}

func everythingOf(r *Reducer) everything {
	return everything{
		string(r.AppendMessages(nil)), string(r.AppendState(nil)), string(r.AppendInterrupts(nil)), r.PendingToolCalls(), r.Changes(),
		r.HasState(), r.Full(), r.requested, r.conversation.bytes, r.merges, len(r.removed.ids), r.patches, len(r.upgrades.reported),
	}
}

func differ(a, b any) string { return cmp.Diff(fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b)) }

// feed is an event, or a request that Continue or Merge takes.
type feed struct{ request, merge, event string }

func (s feed) apply(t testing.TB, r *Reducer) []finding.Finding {
	t.Helper()
	switch {
	case s.request != "":
		return r.Continue([]byte(s.request))
	case s.merge != "":
		return r.Merge([]byte(s.merge))
	}
	return apply(t, r, s.event)
}

// copied is a Reducer that may have been cloned, with all that it was fed, and a view of it at a
// moment with the text of that moment.
type copied struct {
	*Reducer
	fed   []feed
	found []finding.Finding
	view  *View
	then  string
}

func (v *View) text() string { return string(v.AppendState(append(v.AppendMessages(nil), '\n'))) }

// TestClone clones Reducers, and saves and loads them, between generated events, feeds each clone
// others, and compares all with Reducers that were fed everything from the beginning. Views do not
// change.
func TestClone(t *testing.T) {
	t.Parallel()
	odd := judge.UnknownTypes | judge.ExtraKeys | judge.Legacy | judge.OddPatches | judge.UnknownOperations
	rapid.Check(t, func(rt *rapid.T) {
		options := Options{Dialect: rapid.SampledFrom([]Dialect{RFC6902, Client}).Draw(rt, "dialect")}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "order"), 0))
		list := []*copied{{Reducer: New(options)}}
		var queue []string
		for range 200 {
			c := list[random.IntN(len(list))]
			switch {
			case len(list) < 6 && random.IntN(20) == 0:
				again := *c
				again.Reducer, again.fed, again.found = c.Clone(), slices.Clone(c.fed), slices.Clone(c.found)
				list = append(list, &again)
				continue
			case random.IntN(10) == 0:
				c.Reducer = new(saves).reloaded(rt, c.Reducer)
			case random.IntN(5) == 0:
				if c.view = c.View(); c.view.text() != string(c.AppendState(append(c.AppendMessages(nil), '\n'))) {
					rt.Fatal("the view is not what the Reducer has")
				}
				c.then = c.view.text()
			}
			for len(queue) == 0 { // a damaged stream can be empty
				queue = judge.Generate(random, judge.Generator{With: odd})
				if random.IntN(3) == 0 {
					queue = judge.Damage(random, queue)
				}
			}
			s := feed{event: queue[0]}
			queue = queue[1:]
			switch random.IntN(40) {
			case 0:
				s = feed{request: `{"messages":` + string(list[random.IntN(len(list))].AppendMessages(nil)) + `,"state":{"n":[1]}}`}
			case 1:
				s = feed{merge: `{"messages":` + string(list[random.IntN(len(list))].AppendMessages(nil)) + `}`}
			}
			c.found = append(c.found, s.apply(t, c.Reducer)...)
			c.fed = append(c.fed, s)
			check(t, c.Reducer)
			if t.Failed() {
				rt.Fatalf("after %+v", s)
			}
		}
		for _, c := range list {
			whole := New(options)
			var found []finding.Finding
			for _, s := range c.fed {
				found = append(found, s.apply(t, whole)...)
			}
			if diff := differ(everythingOf(whole), everythingOf(c.Reducer)); diff != "" {
				rt.Fatalf("fed from the beginning -, cloned +\n%s", diff)
			}
			if diff := differ(found, c.found); diff != "" {
				rt.Fatalf("findings\n%s", diff)
			}
			if c.view != nil && c.view.text() != c.then {
				rt.Fatalf("a view changed\n%s", cmp.Diff(c.then, c.view.text()))
			}
		}
	})
}

// TestCloneCaptures clones a Reducer before each event of each committed capture, and compares
// the Reducer, its clone and a Reducer that was never cloned after the event and in the end.
func TestCloneCaptures(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, pattern := range []string{"captures/*/*/capture.json", "drift/captures/*/*/capture.json"} {
		found, err := filepath.Glob("../../discovery/" + pattern)
		if err != nil || len(found) < 40 {
			t.Fatalf("%s: %d captures: %v", pattern, len(found), err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		c, err := capture.Open(t.Context(), filepath.Dir(path), "")
		if err != nil {
			t.Fatal(err)
		}
		request, err := c.Request()
		if err != nil {
			t.Fatal(err)
		}
		r, whole := New(Options{}), New(Options{})
		if request != nil {
			r.Seed(request)
			whole.Seed(request)
		}
		for {
			f, err := c.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			e, err := envelope.ReadEvent(f.Data)
			if err != nil {
				continue
			}
			clone := r.Clone()
			before := everythingOf(r)
			r.Event(e)
			if diff := differ(before, everythingOf(clone)); diff != "" {
				t.Fatalf("%s: event %d changed a clone\n%s", path, e.Index, diff)
			}
			whole.Event(e)
			clone.Event(e)
			if diff := differ(everythingOf(whole), everythingOf(r)); diff != "" {
				t.Fatalf("%s: event %d\n%s", path, e.Index, diff)
			}
			if diff := differ(everythingOf(whole), everythingOf(clone)); diff != "" {
				t.Fatalf("%s: event %d of a clone\n%s", path, e.Index, diff)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCloneRepeated changes a message that a snapshot repeated, in a clone: both places change
// there, and none in the original.
func TestCloneRepeated(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	apply(t, r, events(`
		RUN_STARTED{"threadId":"t","runId":"r"}
		MESSAGES_SNAPSHOT{"messages":[{"id":"a","role":"assistant","content":"x"},{"id":"a","role":"assistant","content":"y"}]}
		MESSAGES_SNAPSHOT{"messages":[{"id":"a","role":"assistant","content":"z"}]}`)...)
	before := string(r.AppendMessages(nil))
	c := r.Clone()
	for _, r := range []*Reducer{c, r} {
		apply(t, r, events(`TEXT_MESSAGE_CONTENT{"messageId":"a","delta":"!"}`)...)
		check(t, r)
		if got, want := string(r.AppendMessages(nil)), `[{"id":"a","role":"assistant","content":"z!"},{"id":"a","role":"assistant","content":"z!"}]`; got != want {
			t.Errorf("%s, want %s; before %s", got, want, before)
		}
	}
}

// TestCloneConcurrently uses a Reducer, its clone and a view at the same time. It fails under
// the race detector if they share something that changes.
func TestCloneConcurrently(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 0))
	r := New(Options{})
	apply(t, r, judge.Generate(random, judge.Generator{})...)
	apply(t, r, events(`MESSAGES_SNAPSHOT{"messages":[{"id":"s","role":"assistant","content":"x","toolCalls":[]}]}`)...)
	c, v := r.Clone(), r.View()
	text := v.text()
	more := judge.Generate(random, judge.Generator{})
	var wg sync.WaitGroup
	for _, r := range []*Reducer{r, c, c.Clone()} {
		wg.Go(func() {
			r.Merge(fmt.Appendf(nil, `{"messages":[{"id":"new","role":"assistant","content":"y"},{"id":"u","role":"user","content":"x"}]}`))
			apply(t, r, more...)
			for m := range r.All {
				m.Text()
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for _, m := range v.Messages() {
				m.Text()
			}
			if v.text() != text {
				t.Error("the view changed")
			}
		})
	}
	wg.Wait()
}

// TestCloneChanges feeds a Reducer and its clone snapshots that remove other messages and have
// other types of activities.
func TestCloneChanges(t *testing.T) {
	t.Parallel()
	snapshot := func(ids, types string) string {
		return events(`MESSAGES_SNAPSHOT{"messages":[` + ids + `],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":[` + types + `]}}}`)[0]
	}
	const a, b, c = `{"id":"a","role":"user","content":"x"}`, `{"id":"b","role":"user","content":"x"}`, `{"id":"c","role":"user","content":"x"}`
	first := []string{snapshot(a+","+b+","+c, `"m"`), snapshot(a+","+b, `"n"`)}
	r := New(Options{})
	apply(t, r, first...)
	clone := r.Clone()
	for name, c := range map[string]struct {
		*Reducer
		then []string
	}{"original": {r, []string{snapshot(b, `"a"`), snapshot(a+","+b, "")}}, "clone": {clone, []string{snapshot(a, `"z"`), snapshot(a+","+b, "")}}} {
		apply(t, c.Reducer, c.then...)
		whole := New(Options{})
		apply(t, whole, append(slices.Clone(first), c.then...)...)
		if diff := differ(everythingOf(whole), everythingOf(c.Reducer)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

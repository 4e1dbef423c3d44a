package trace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/internal/testkit"
)

// lines returns the normal form of a stream.
func lines(t testing.TB, o trace.Options, events ...string) []string {
	t.Helper()
	var list []string
	ids := trace.NewIDs(o)
	for _, text := range events {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		ids.Event(e)
	}
	n := trace.New(o, ids, func(l *trace.Line) error {
		if l.First.Index > l.Last.Index {
			t.Errorf("the line %s is from event %d to event %d", l.Text, l.First.Index, l.Last.Index)
		}
		if !json.Valid(l.Text) || !bytes.HasPrefix(l.Text, fmt.Appendf(nil, `{"type":%q`, l.Type)) {
			t.Errorf("the line of type %s is %s", l.Type, l.Text)
		}
		list = append(list, string(l.Text))
		return nil
	})
	for i, text := range events {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		e.Index = i
		if err := n.Event(e); err != nil {
			t.Fatal(err)
		}
		for i := range e.Data { // it must not be retained
			e.Data[i] = 'x'
		}
	}
	if err := n.End(); err != nil {
		t.Fatal(err)
	}
	return list
}

// Each rule of docs/traces.md has vectors: events and their lines.
func TestVectors(t *testing.T) {
	t.Parallel()
	var vectors []struct {
		Name          string
		Rules         []string
		Options       trace.Options
		Events, Lines []json.RawMessage
	}
	if err := json.Unmarshal(testkit.Read(t, "testdata/vectors.json"), &vectors); err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	for _, v := range vectors {
		var events, want []string
		for _, e := range v.Events {
			events = append(events, string(e))
		}
		for _, l := range v.Lines {
			var b bytes.Buffer
			if err := json.Compact(&b, l); err != nil {
				t.Fatal(err)
			}
			want = append(want, b.String())
		}
		if diff := cmp.Diff(want, lines(t, v.Options, events...)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", v.Name, diff)
		}
		for _, r := range v.Rules {
			covered[r] = true
		}
	}
	page := string(testkit.Read(t, "../../docs/traces.md"))
	rules := regexp.MustCompile(`<a id="(TR\d)"></a>`).FindAllStringSubmatch(page, -1)
	for _, r := range rules {
		if !covered[r[1]] {
			t.Errorf("no vector shows rule %s", r[1])
		}
		delete(covered, r[1])
	}
	if len(covered) > 0 || len(rules) < 7 {
		t.Errorf("docs/traces.md has %d rules and not %v", len(rules), covered)
	}
}

// captured returns the events of every committed capture that is sent as server-sent events.
func captured(t testing.TB) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob("../../discovery/captures/*/*/response.sse")
	if err != nil || len(paths) < 200 {
		t.Fatalf("%d captures: %v", len(paths), err)
	}
	all := map[string][]string{}
	for _, path := range paths {
		all[filepath.Dir(path)] = eventsIn(testkit.Read(t, path))
	}
	return all
}

var (
	member = regexp.MustCompile(`"(?:messageId|parentMessageId|toolCallId|runId|parentRunId|threadId|subagentRunId)": ?"([^"\\]{6,})"`)
	delta  = regexp.MustCompile(`"delta": ?"((?:[^"\\]|\\.)*)"`)
)

// Captures with other ids, or with deltas that are divided otherwise, have the same lines.
func TestSame(t *testing.T) {
	t.Parallel()
	renamed, divided := 0, 0
	for name, events := range captured(t) {
		want := lines(t, trace.Options{}, events...)
		text := strings.Join(events, "\n")
		ids := map[string]bool{}
		for _, m := range member.FindAllStringSubmatch(text, -1) {
			ids[m[1]] = true
		}
		for id := range ids {
			text = strings.ReplaceAll(text, `"`+id+`"`, `"other `+id[1:]+`"`)
			text = strings.ReplaceAll(text, `\"`+id+`\"`, `\"other `+id[1:]+`\"`) // in JSON text
			renamed++
		}
		if len(events) > 0 {
			if diff := cmp.Diff(want, lines(t, trace.Options{}, strings.Split(text, "\n")...)); diff != "" {
				t.Errorf("%s with other ids: %s", name, diff)
			}
		}
		var parts []string
		for _, e := range events {
			m := delta.FindStringSubmatchIndex(e)
			kind := strings.Contains(e, `_CONTENT"`) || strings.Contains(e, `_ARGS"`)
			if m == nil || !kind || strings.Contains(e[m[2]:m[3]], `\`) || m[3]-m[2] < 2 {
				parts = append(parts, e)
				continue
			}
			divided++
			at := m[2] + 1
			for at < m[3] && e[at]&0xc0 == 0x80 { // inside a character
				at++
			}
			parts = append(parts, e[:at]+e[m[3]:], e[:m[2]]+e[at:])
		}
		if diff := cmp.Diff(want, lines(t, trace.Options{}, parts...)); diff != "" {
			t.Errorf("%s with other deltas: %s", name, diff)
		}
	}
	if renamed < 500 || divided < 1000 {
		t.Errorf("only %d ids and %d deltas were changed", renamed, divided)
	}
}

// What a patch does to the state is what its normal form does.
func TestPatchEffect(t *testing.T) {
	t.Parallel()
	value := rapid.Deferred(func() *rapid.Generator[any] { return values(2) })
	rapid.Check(t, func(t *rapid.T) {
		before, after := value.Draw(t, "before"), value.Draw(t, "after")
		text := func(v any) string {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		snapshot := `{"type":"STATE_SNAPSHOT","snapshot":{"v":` + text(before) + `}}`
		patch := `{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/v","value":` + text(after) + `}]}`
		first := normal(t, snapshot, patch)
		if len(first) == 1 { // the patch does nothing
			if text(before) != text(after) {
				t.Fatalf("%s to %s is no change", text(before), text(after))
			}
			return
		}
		// The operations of the normal form have the same effect, and so the same normal form.
		second := normal(t, snapshot, first[1])
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatal(diff)
		}
		last := normal(t, snapshot, first[1], `{"type":"STATE_SNAPSHOT","snapshot":{"v":`+text(after)+`}}`)
		if len(last) != 2 { // an equal snapshot does not count
			t.Fatalf("after %s the state is not %s", first[1], text(after))
		}
	})
}

func normal(t *rapid.T, events ...string) (list []string) {
	n := trace.New(trace.Options{}, new(trace.IDs), func(l *trace.Line) error { list = append(list, string(l.Text)); return nil })
	for _, text := range events {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// values generates JSON values with few names and elements, so that many are alike.
func values(depth int) *rapid.Generator[any] {
	simple := rapid.SampledFrom([]any{nil, true, 0, 1, "a", "b/~"})
	if depth == 0 {
		return simple
	}
	return rapid.OneOf(simple,
		rapid.Custom(func(t *rapid.T) any { return rapid.SliceOfN(values(depth-1), 0, 4).Draw(t, "array") }),
		rapid.Custom(func(t *rapid.T) any {
			return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c/~", ""}), values(depth-1), 0, 3).Draw(t, "object")
		}))
}

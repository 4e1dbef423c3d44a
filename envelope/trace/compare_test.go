package trace_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/internal/testkit"
)

// source returns the lines of a stream.
func source(t testing.TB, events ...string) trace.Source {
	t.Helper()
	var ids trace.IDs
	var list []*trace.Line
	n := trace.New(trace.Options{}, &ids, func(l *trace.Line) error { list = append(list, l.Clone()); return nil })
	read := func(each func(*envelope.Event)) {
		for i, text := range events {
			e, err := envelope.ReadEvent([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			e.Index = i
			each(e)
		}
	}
	read(ids.Event)
	read(func(e *envelope.Event) {
		if err := n.Event(e); err != nil {
			t.Fatal(err)
		}
	})
	if err := n.End(); err != nil {
		t.Fatal(err)
	}
	return func() (*trace.Line, error) {
		if len(list) == 0 {
			return nil, nil
		}
		l := list[0]
		list = list[1:]
		return l, nil
	}
}

// differences returns the differences of two streams as text.
func differences(t testing.TB, exact bool, a, b []string) (list []string) {
	t.Helper()
	err := trace.Compare(source(t, a...), source(t, b...), trace.Comparison{Exact: exact}, func(d *trace.Difference) error {
		switch d.Kind {
		case trace.Missing:
			list = append(list, fmt.Sprintf("- %d %s", d.A.First.Index, d.A.Text))
		case trace.Added:
			list = append(list, fmt.Sprintf("+ %d %s", d.B.First.Index, d.B.Text))
		case trace.Moved:
			list = append(list, fmt.Sprintf("> %d %d %s", d.A.First.Index, d.B.First.Index, d.A.Text))
		case trace.Changed:
			for _, c := range d.Changes {
				list = append(list, fmt.Sprintf("! %d %d %s %s %s %s", d.A.First.Index, d.B.First.Index, d.A.Type, c.Pointer, c.A, c.B))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// conversation is a run in which a message and a call alternate.
var conversation = []string{
	`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
	`{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}`,
	`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`,
	`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello "}`,
	`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`,
	`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}`,
	`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"you"}`,
	`{"type":"TOOL_CALL_END","toolCallId":"c"}`,
	`{"type":"TEXT_MESSAGE_END","messageId":"m"}`,
	`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}`,
	`{"type":"TOOL_CALL_RESULT","messageId":"x","toolCallId":"c","content":"4"}`,
	`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`,
}

func without(events []string, i int) []string {
	return append(append([]string{}, events[:i]...), events[i+1:]...)
}

func swapped(events []string, i, j int) []string {
	list := append([]string{}, events...)
	list[i], list[j] = list[j], list[i]
	return list
}

func replaced(events []string, old, new string) []string {
	return strings.Split(strings.ReplaceAll(strings.Join(events, "\n"), old, new), "\n")
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		b    []string
		want []string
	}{
		{"nothing", conversation, nil},
		{"other ids", replaced(conversation, `"m"`, `"other"`), nil},
		{"streams that alternate otherwise", swapped(conversation, 5, 6), nil},
		{"ends in the other order", swapped(conversation, 7, 8), nil},
		{"the state before the message", swapped(conversation, 1, 2), nil},
		{"no result", without(conversation, 10), []string{`- 10 {"type":"TOOL_CALL_RESULT","content":"4","messageId":"message-2","toolCallId":"call-1"}`}},
		{"a word", replaced(conversation, "you", "there"), []string{`! 3 3 TEXT_MESSAGE_CONTENT /delta "Hello you" "Hello there"`}},
		{"a value of the state", replaced(conversation, `"value":2`, `"value":3`), []string{`! 9 9 STATE_DELTA /delta/0/value 2 3`}},
		{"the call before the message", append(append(append([]string{}, conversation[:2]...), conversation[4], conversation[2], conversation[3]), conversation[5:]...), []string{
			`> 2 3 {"type":"TEXT_MESSAGE_START","messageId":"message-1","role":"assistant"}`,
		}},
		{"no message", without(without(without(without(conversation, 8), 6), 3), 2), []string{
			`- 2 {"type":"TEXT_MESSAGE_START","messageId":"message-1","role":"assistant"}`,
			`- 3 {"type":"TEXT_MESSAGE_CONTENT","delta":"Hello you","messageId":"message-1"}`,
			`- 8 {"type":"TEXT_MESSAGE_END","messageId":"message-1"}`,
		}},
		{"an id twice", replaced(conversation, `"x"`, `"m"`), []string{`! 10 10 TOOL_CALL_RESULT /messageId "message-2" "message-1"`}},
		{"a call twice", append(append([]string{}, conversation[:8]...), conversation[4:]...), nil},
	} {
		got := differences(t, false, conversation, c.b)
		if c.name == "a call twice" {
			if len(got) == 0 {
				t.Errorf("%s: no difference", c.name)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
}

// A line in which two ids became one differs, and one with ids in pointers that correspond does
// not.
func TestCompareNamesOfLine(t *testing.T) {
	t.Parallel()
	snapshot := func(a, b string) []string {
		return []string{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"` + a + `","role":"user"},{"id":"` + b + `","role":"user"}]}`}
	}
	if got := differences(t, false, snapshot("a", "b"), snapshot("a", "a")); len(got) != 1 {
		t.Errorf("two ids that become one: %q", got)
	}
	message := []string{`{"type":"TEXT_MESSAGE_START","messageId":"x"}`}
	patches := []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"user"}`,
		`{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/of/m"}]}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{"of":{"m":1}}}`,
		`{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/of/m"}]}`,
	}
	want := []string{`- 0 {"type":"TEXT_MESSAGE_START","messageId":"message-1"}`}
	if diff := cmp.Diff(want, differences(t, false, append(message, patches...), patches)); diff != "" {
		t.Errorf("ids in pointers after a message that is missing: %s", diff)
	}
}

// The order within a message counts even if the traces have different names for the message.
func TestCompareOrderAfterMissing(t *testing.T) {
	t.Parallel()
	message := []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"m"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"A","part":1}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"B","part":2}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"m"}`,
	}
	a := append([]string{`{"type":"TEXT_MESSAGE_START","messageId":"x","role":"user"}`, `{"type":"TEXT_MESSAGE_END","messageId":"x"}`}, message...)
	got := differences(t, false, a, swapped(message, 1, 2))
	want := []string{
		`- 0 {"type":"TEXT_MESSAGE_START","messageId":"message-1","role":"user"}`,
		`- 1 {"type":"TEXT_MESSAGE_END","messageId":"message-1"}`,
		`> 3 2 {"type":"TEXT_MESSAGE_CONTENT","delta":"A","messageId":"message-2","part":1}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The rule about comparing has vectors, too: the events of two streams and their differences.
func TestComparisons(t *testing.T) {
	t.Parallel()
	var vectors []struct {
		Name        string
		Exact       bool
		A, B        []json.RawMessage
		Differences []string
	}
	if err := json.Unmarshal(testkit.Read(t, "testdata/comparisons.json"), &vectors); err != nil || len(vectors) < 8 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	texts := func(events []json.RawMessage) (list []string) {
		for _, e := range events {
			list = append(list, string(e))
		}
		return list
	}
	for _, v := range vectors {
		got := []string{}
		err := trace.Compare(source(t, texts(v.A)...), source(t, texts(v.B)...), trace.Comparison{Exact: v.Exact}, func(d *trace.Difference) error {
			line := d.A
			if line == nil {
				line = d.B
			}
			text := string(d.Kind) + " " + line.Type
			for _, c := range d.Changes {
				text += fmt.Sprintf(" %s %s %s", c.Pointer, c.A, c.B)
			}
			got = append(got, text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(v.Differences, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", v.Name, diff)
		}
	}
}

// One message less or more does not make the others differ, although their starts are equal.
func TestCompareResumes(t *testing.T) {
	t.Parallel()
	stream := func(from, to int) (events []string) {
		for i := from; i < to; i++ {
			events = append(events,
				fmt.Sprintf(`{"type":"TEXT_MESSAGE_START","messageId":"m%d","role":"assistant"}`, i),
				fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m%d","delta":"text %d"}`, i, i),
				fmt.Sprintf(`{"type":"TEXT_MESSAGE_END","messageId":"m%d"}`, i))
		}
		return events
	}
	all := stream(0, 400)
	for _, at := range []int{0, 1, 37, 200, 398, 399} {
		less := append(append([]string{}, all[:3*at]...), all[3*at+3:]...)
		if got := differences(t, false, all, less); len(got) != 3 || got[0][0] != '-' {
			t.Errorf("without message %d: %q", at, got)
		}
		if got := differences(t, false, less, all); len(got) != 3 || got[0][0] != '+' {
			t.Errorf("with message %d more: %q", at, got)
		}
	}
}

// Elements of arrays are paired as lines are: by their contents and not by their names.
func TestCompareElements(t *testing.T) {
	t.Parallel()
	message := func(id, text string) string {
		return `{"id":"` + id + `","role":"user","content":"` + text + `","name":"n"}`
	}
	snapshot := func(messages ...string) []string {
		return []string{`{"type":"MESSAGES_SNAPSHOT","messages":[` + strings.Join(messages, ",") + `]}`, `{"type":"TEXT_MESSAGE_START","messageId":"d"}`}
	}
	a, b, c, d := message("a", "A"), message("b", "B"), message("c", "C"), message("d", "D")
	got := differences(t, false, snapshot(a, b, c, d), snapshot(b, message("c", "other"), a, d))
	want := []string{
		`! 0 0 MESSAGES_SNAPSHOT /messages/0 {"content":"A","id":"message-1","name":"n","role":"user"} `,
		`! 0 0 MESSAGES_SNAPSHOT /messages/2/content "C" "other"`,
		`! 0 0 MESSAGES_SNAPSHOT /messages/2  {"content":"A","id":"message-3 of B","name":"n","role":"user"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// Long arrays are compared in pairs: to align them would take too long.
	long := func(from, to int) []string {
		var list []string
		for i := from; i < to; i++ {
			list = append(list, strconv.Itoa(i))
		}
		return []string{`{"type":"CUSTOM","value":[` + strings.Join(list, ",") + `]}`}
	}
	if got := differences(t, false, long(0, 20_000), long(20_000, 40_001)); len(got) != 20_001 {
		t.Errorf("%d differences of long arrays", len(got))
	}
}

// With exact order, lines that alternate otherwise differ.
func TestCompareExact(t *testing.T) {
	t.Parallel()
	if got := differences(t, true, conversation, swapped(conversation, 7, 8)); len(got) == 0 {
		t.Error("no difference")
	}
}

// Every event of the committed captures that is left out or repeated is found.
func TestCompareMutants(t *testing.T) {
	t.Parallel()
	n := 0
	for name, events := range captured(t) {
		if len(events) > 60 {
			continue
		}
		if got := differences(t, false, events, events); got != nil {
			t.Errorf("%s differs from itself: %q", name, got)
		}
		for i, e := range events {
			n++
			// RAW events do not count, and of equal snapshots of the state one is enough.
			if got := differences(t, false, events, without(events, i)); len(got) == 0 && typeOf(e) != "RAW" && typeOf(e) != "STATE_SNAPSHOT" {
				t.Errorf("%s: nothing differs without event %d: %s", name, i, e)
			}
			if typeOf(e) == "RAW" || typeOf(e) == "STATE_SNAPSHOT" || typeOf(e) == "STATE_DELTA" {
				continue
			}
			twice := append(append(append([]string{}, events[:i]...), e), events[i:]...)
			if got := differences(t, false, events, twice); len(got) == 0 {
				t.Errorf("%s: nothing differs with event %d twice: %s", name, i, e)
			}
		}
	}
	if n < 3000 {
		t.Errorf("only %d events", n)
	}
}

func typeOf(text string) string {
	e, err := envelope.ReadEvent([]byte(text))
	if err != nil {
		return err.Error()
	}
	return e.Type
}

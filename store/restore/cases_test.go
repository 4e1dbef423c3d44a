package restore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// script returns the entries of a text. A line has a stream and then an event such as
// RUN_STARTED{"runId":"r"}, or the word input, closing or end and the data.
func script(text string) (list []store.Entry) {
	for line := range strings.Lines(text) {
		stream, data, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		e := store.Entry{Stream: stream, Kind: store.Event}
		word, rest, _ := strings.Cut(data, " ")
		if slices.Contains([]string{"input", "closing", "end"}, word) {
			e.Kind, data = store.Kind(word), rest
		}
		if name, members, ok := strings.Cut(data, "{"); ok && e.Kind != store.Input {
			comma := ","
			if strings.HasPrefix(members, "}") {
				comma = ""
			}
			data = fmt.Sprintf(`{"type":%q%s%s`, name, comma, members)
		}
		e.Data = []byte(data)
		list = append(list, e)
	}
	return list
}

// shown returns messages as a line of text.
func shown(t *testing.T, messages []byte) string {
	t.Helper()
	in, err := event.DecodeRunInput([]byte(`{"threadId":"","runId":"","messages":`+string(messages)+`}`), event.Tolerant(nil))
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, m := range in.Messages {
		text := event.JSON(event.AppendMessage(nil, m))
		get := func(name string) string {
			v, _ := text.Get(name)
			return strings.Trim(string(v), `"`)
		}
		word := get("id") + ":" + get("content")
		if calls, ok := text.Get("toolCalls"); ok {
			word = get("id") + ":" + fmt.Sprint(strings.Count(string(calls), `"type":"function"`)) + "call"
		}
		words = append(words, strings.ReplaceAll(word, " ", "_"))
	}
	return strings.Join(words, " ")
}

// want is what is expected of a run, or at a position.
type want struct {
	run        string // its number, from 1; if it is 0, position counts
	position   int64
	messages   string
	state      string // "" stands for an unknown {}
	used       string // the ids of the runs that were used; "" is not checked
	calls      string // pending
	interrupts string // "" stands for []
	codes      string // of findings
}

func TestCases(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			th := open(t, script(c.script), restore.Options{Input: c.input})
			for _, w := range c.want {
				var got *restore.Result
				var err error
				what := "run " + w.run
				if w.run == "" {
					what = fmt.Sprintf("position %d", w.position)
					got, err = th.At(t.Context(), w.position)
				} else {
					var i int
					if _, err := fmt.Sscan(w.run, &i); err != nil {
						t.Fatal(err)
					}
					got, err = th.Run(t.Context(), th.Graph.Nodes[i-1])
				}
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if diff := cmp.Diff(w.text(), describe(t, got, w.used != "")); diff != "" {
					t.Errorf("%s: (-want +got)\n%s", what, diff)
				}
			}
		})
	}
}

// text returns the expectation as describe returns it.
func (w want) text() string {
	return fmt.Sprintf("messages %s\nstate %s\nused %s\ncalls %s\ninterrupts %s\ncodes %s", w.messages, w.state, w.used, w.calls, w.interrupts, w.codes)
}

func describe(t *testing.T, r *restore.Result, withUsed bool) string {
	t.Helper()
	state, used, codes := string(r.State), []string{}, []string{}
	if !r.StateKnown && state == "{}" {
		state = ""
	} else if !r.StateKnown {
		state += "?"
	}
	for _, n := range r.Used {
		if withUsed {
			used = append(used, n.ID)
		}
	}
	for _, f := range r.Findings {
		codes = append(codes, string(f.Code))
	}
	return fmt.Sprintf("messages %s\nstate %s\nused %s\ncalls %s\ninterrupts %s\ncodes %s", shown(t, r.Messages), state,
		strings.Join(used, " "), strings.Join(r.PendingToolCalls, " "), strings.Trim(string(r.Interrupts), "[]"), strings.Join(codes, " "))
}

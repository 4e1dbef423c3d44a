package compact

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// stream draws a stream that keeps the sequence rules and ends every message and call
// inside its run.
func stream(t *rapid.T, without judge.Feature) []string {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	return judge.Generate(r, judge.Generator{Without: without | judge.OpenEnds})
}

// snapshotInside reports whether a MESSAGES_SNAPSHOT arrives while a message or call is
// open.
func snapshotInside(t testing.TB, events []string) bool {
	open := 0
	for _, text := range events {
		switch event(t, text).Type {
		case eventnames.TextMessageStart, eventnames.ToolCallStart:
			open++
		case eventnames.TextMessageEnd, eventnames.ToolCallEnd:
			open--
		case eventnames.MessagesSnapshot:
			if open > 0 {
				return true
			}
		}
	}
	return false
}

// shown has what the laws compare of a message. The metadata of deltas is lost in
// ModeStream.
type shown struct {
	ID        string
	ToolCalls []shownCall
	Content   json.RawMessage
	Rest      string // everything but tool calls and metadata
}

type shownCall struct {
	ID                 string
	Function, Metadata json.RawMessage
}

// view returns the messages and the state that a client shows after the events.
func view(t testing.TB, events []string) (messages []shown, state string) {
	t.Helper()
	r := reduce.New(reduce.Options{Dialect: reduce.Client})
	for i, text := range events {
		e := event(t, text)
		e.Index = i
		r.Event(e)
	}
	text, err := judge.Normalize(string(r.AppendMessages(nil)))
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]json.RawMessage
	for _, err := range []error{json.Unmarshal([]byte(text), &messages), json.Unmarshal([]byte(text), &all)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range all {
		delete(m, "toolCalls")
		delete(m, "metadata")
		rest, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		messages[i].Rest = string(rest)
	}
	return messages, string(r.AppendState(nil))
}

// contents returns the contents of messages and the functions of calls, with their ids, in
// an order that does not depend on that of the messages.
func contents(messages []shown) (list []string) {
	for _, m := range messages {
		if text := string(m.Content); text != "" && text != `""` {
			list = append(list, "message "+m.ID+" "+text)
		}
		for _, c := range m.ToolCalls {
			list = append(list, "call "+c.ID+" "+string(c.Function))
		}
	}
	slices.Sort(list)
	return list
}

// The copy of a copy is the same copy.
func TestIdempotent(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		events := stream(r, 0)
		for _, mode := range []Mode{ModeStream, ModeClient} {
			once := run(t, mode, events...)
			if twice := run(t, mode, once...); !slices.Equal(once, twice) {
				r.Fatalf("mode %s: the copy\n%s\nbecomes\n%s", mode, strings.Join(once, "\n"), strings.Join(twice, "\n"))
			}
		}
	})
}

// breaches returns the findings about the order of events.
func breaches(t testing.TB, events []string) (list []finding.Finding) {
	t.Helper()
	c := sequence.New(sequence.Options{Client: true})
	for i, text := range events {
		e := event(t, text)
		e.Index = i
		list = append(list, c.Event(e)...)
	}
	return list
}

// If at most one message or call is open at a time, a client shows the same after the copy,
// and the copy keeps the sequence rules.
func TestSameView(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		events := stream(r, judge.Interleaving|judge.Chunks)
		if snapshotInside(t, events) {
			return
		}
		want, wantState := view(t, events)
		for _, mode := range []Mode{ModeStream, ModeClient} {
			copied := run(t, mode, events...)
			if b := breaches(t, copied); b != nil {
				r.Fatalf("mode %s: the copy\n%s\nof\n%s\nbreaks rules: %v", mode, strings.Join(copied, "\n"), strings.Join(events, "\n"), b)
			}
			got, state := view(t, copied)
			same := slices.EqualFunc(got, want, func(a, b shown) bool {
				return a.Rest == b.Rest && slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(a, b shownCall) bool {
					return a.ID == b.ID && string(a.Function) == string(b.Function) && (mode == ModeStream || string(a.Metadata) == string(b.Metadata))
				})
			})
			if !same || !judge.Equal(state, wantState) {
				r.Fatalf("mode %s: the copy\n%s\nof\n%s\nshows\n%v %s\nand not\n%v %s", mode, strings.Join(copied, "\n"), strings.Join(events, "\n"), got, state, want, wantState)
			}
		}
	})
}

// If messages and calls overlap, texts, calls and results are the same, and in ModeClient
// also the state. Reasoning and activities may change, because events that wait for a call
// are overtaken by those that wait for a message inside the call; and an id must belong to
// one message.
func TestSameContents(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		events := stream(r, judge.Chunks|judge.Reasoning|judge.Activities|judge.Collisions|judge.Reopening)
		if snapshotInside(t, events) {
			return
		}
		want, wantState := view(t, events)
		for _, mode := range []Mode{ModeStream, ModeClient} {
			copied := run(t, mode, events...)
			got, state := view(t, copied)
			if a, b := contents(got), contents(want); !slices.Equal(a, b) || mode == ModeClient && !judge.Equal(state, wantState) {
				r.Fatalf("mode %s: the copy\n%s\nof\n%s\nshows\n%v %s\nand not\n%v %s", mode, strings.Join(copied, "\n"), strings.Join(events, "\n"), a, state, b, wantState)
			}
		}
	})
}

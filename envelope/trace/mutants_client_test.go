//go:build client

package trace_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/internal/jsonvalue"
)

// Every small change is reported or equal by a rule, and the reference client ends equally with
// what is equal: with the same messages, state and error, under ids that correspond.
func TestClientMutants(t *testing.T) {
	j := judge.Start(t)
	c := newTally()
	ends := map[*stream]*jsonvalue.Object{}
	asked, excuses := 0, map[string]int{}
	mutants(t, judge.Streams(allMutants), func(m *mutant) {
		rule, ids := c.judge(t, m)
		if ids == nil {
			return
		}
		a := ends[m.of]
		if a == nil {
			a = end(t, j, (&mutant{events: m.of.events}).texts())
			ends[m.of] = a
		}
		b := end(t, j, m.texts())
		asked++
		withoutText := func(o *jsonvalue.Object) *jsonvalue.Object {
			o = changedCopy(o)
			o.Delete("refused")
			return o
		}
		if ids.values(withoutText(a), withoutText(b)) {
			return
		}
		if why := excused(rule, a, b); why != "" {
			excuses[why]++
		} else {
			t.Errorf("%v is equal, but not to the client:\n%s\nA %s\nB %s", m, strings.Join(m.changed(), "\n"), jsonvalue.Append(nil, a), jsonvalue.Append(nil, b))
		}
	})
	c.log(t)
	t.Logf("the client compared %d, with exceptions: %v", asked, excuses)
	if asked == 0 {
		t.Error("the client was not asked")
	}
}

// excused returns why a client may end otherwise with a stream that is equal by a rule:
// docs/traces.md says so.
func excused(rule string, a, b *jsonvalue.Object) string {
	for _, o := range [...]*jsonvalue.Object{a, b} {
		at, text := stringIn(o, "type"), stringIn(o, "refused")
		switch {
		case strings.HasSuffix(at, " RAW"):
			return "RAW outside a run or without an event (TR3)"
		case strings.Contains(text, `"timestamp"`):
			return "a timestamp that is no number (TR3)"
		case (rule == "TR5" || rule == "TR6" || rule == "TR10") && strings.HasPrefix(text, "First ") && strings.HasSuffix(at, "_CHUNK"):
			return "a chunk that cannot begin a text, after another event (TR5, TR6, TR10)"
		}
	}
	return ""
}

// end returns what the client ends with, as an event.
func end(t *testing.T, j *judge.Judge, events []string) *jsonvalue.Object {
	t.Helper()
	messages, state, err := j.Reduce(events)
	o := new(jsonvalue.Object)
	o.Set("type", "MESSAGES_SNAPSHOT")
	for name, text := range map[string]string{"messages": messages, "snapshot": state} {
		text, err := judge.Normalize(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Set(name, parsed(text))
	}
	refused := new(judge.Refused)
	if errors.As(err, &refused) {
		o.Set("type", "refused at "+stringIn(parsed(events[refused.Index]).(*jsonvalue.Object), "type"))
		words := new(jsonvalue.Array)
		for _, word := range regexp.MustCompile(`[^' ,:]+`).FindAllString(refused.Text, -1) {
			words.Append(word)
		}
		o.Set("words", words)
		o.Set("refused", refused.Text)
	}
	return o
}

func (x *exchange) values(a, b jsonvalue.Value) bool {
	s, listA := flatten(a, x.a)
	t, listB := flatten(b, x.b)
	return s == t && slices.EqualFunc(listA, listB, x.bind)
}

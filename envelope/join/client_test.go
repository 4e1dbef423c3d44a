//go:build client

package join_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/internal/eventnames"
)

// TestClientCuts lets the reference client join generated streams, without messages and with
// those of an earlier event.
func TestClientCuts(t *testing.T) {
	j := judge.Start(t)
	joins, written := 0, make(map[string]int)
	for i := range judge.Streams(300) {
		g := []judge.Generator{
			{Without: judge.Subagents | judge.Collisions},
			{Without: judge.OtherOwners | judge.Collisions},
			{Without: judge.Subagents | judge.Collisions | judge.Snapshots, With: judge.Legacy | judge.UnknownTypes},
		}[i%3]
		r := rand.New(rand.NewPCG(uint64(i), 21))
		events := judge.WithoutBinaryResults(judge.Generate(r, g))
		cuts := []int{1 + r.IntN(len(events)), 1 + r.IntN(len(events)), 1 + r.IntN(len(events))}
		slices.Sort(cuts)
		joins += joinAt(t, j, events, cuts, r.IntN(cuts[0]+1), written)
		if t.Failed() {
			t.Fatalf("stream %d:\n%s", i, strings.Join(events, "\n"))
		}
	}
	if joins < judge.Streams(300) {
		t.Errorf("the client joined only %d times", joins)
	}
	for _, name := range []string{
		eventnames.TextMessageStart, eventnames.ToolCallStart, eventnames.ReasoningStart, eventnames.ReasoningMessageStart, eventnames.StepStarted,
		eventnames.SubagentStarted, eventnames.SubagentFinished, eventnames.TextMessageChunk, eventnames.ToolCallChunk, eventnames.ReasoningMessageChunk,
		eventnames.ThinkingStart, eventnames.ThinkingTextMessageContent, eventnames.StateSnapshot, eventnames.ActivitySnapshot, eventnames.RunFinished, eventnames.RunError,
	} {
		if written[name] == 0 {
			t.Errorf("no prelude has %s", name)
		}
	}
	t.Logf("%d joins with the events %v", joins, written)
}

// TestClientCases does the same at each event of the cases, for clients with what they had
// after any earlier event.
func TestClientCases(t *testing.T) {
	j := judge.Start(t)
	for _, c := range joinCases() {
		list, _ := events(c.script)
		var cuts []int
		for i := range list {
			cuts = append(cuts, i+1)
			if joinAt(t, j, list, cuts[i:], i, make(map[string]int)) == 0 {
				t.Errorf("%s: the client does not join after event %d", c.name, i)
			}
		}
	}
}

// TestClientRequested lets the client read what the snapshot has for messages of requests.
func TestClientRequested(t *testing.T) {
	j := judge.Start(t)
	for _, test := range requested {
		if _, _, err := j.Reduce(afterRequest(t, test.request).prelude(t)); err != nil {
			t.Errorf("%s: the client refuses the snapshot: %v", test.request, err)
		}
		if test.request == test.snapshot {
			continue
		}
		if _, _, err := j.Reduce([]string{started, `{"type":"MESSAGES_SNAPSHOT","messages":[` + test.request + `]}`}); err == nil {
			t.Errorf("%s: the client accepts the message as it is", test.request)
		}
	}
}

// joinAt lets the client join a stream after cuts of its events, also with what it had after
// the first ones, and returns how many cuts have a prelude. It counts the events of preludes.
func joinAt(t *testing.T, j *judge.Judge, events []string, cuts []int, seen int, written map[string]int) (joins int) {
	t.Helper()
	wantMessages, wantState, err := j.ReduceFrom("[]", judge.FirstState(events), events)
	if err != nil {
		t.Errorf("the client refuses the stream: %v", err)
		return 0
	}
	oldMessages, oldState, err := j.ReduceFrom("[]", judge.FirstState(events), events[:seen])
	if err != nil {
		t.Errorf("the client refuses the beginning of the stream: %v", err)
		return 0
	}
	s, at := newServer(), 0
	for _, cut := range cuts {
		for ; at < cut; at++ {
			s.take(t, events[at])
		}
		prelude := s.prelude(t)
		if prelude == nil || s.reducer.Changes().Repeated || s.thinkingMoves(t) {
			continue
		}
		joins++
		for _, e := range prelude {
			written[read(t, e).Type]++
		}
		for _, from := range [][2]string{{"[]", "{}"}, {oldMessages, oldState}} {
			messages, state, err := j.ReduceFrom(from[0], from[1], slices.Concat(prelude, events[cut:]))
			what := fmt.Sprintf("cut %d, seen %d, prelude\n%s\n", cut, seen, strings.Join(prelude, "\n"))
			if err != nil {
				t.Errorf("%sthe client refuses event %v", what, err)
				return joins
			}
			if !judge.Equal(ordered(t, messages), ordered(t, wantMessages)) {
				t.Errorf("%smessages\n%s, want\n%s", what, messages, wantMessages)
			}
			if !judge.Equal(state, wantState) {
				t.Errorf("%sstate\n%s, want\n%s", what, state, wantState)
			}
		}
	}
	return joins
}

// ordered replaces the ids of messages of THINKING events, which are the client's or ours, by
// their order.
func ordered(t *testing.T, messages string) string {
	t.Helper()
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(messages), &list); err != nil {
		t.Fatal(err)
	}
	made, n := regexp.MustCompile(`^(thinking-[0-9]+-[0-9]+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22})$`), 0
	for _, m := range list {
		if made.MatchString(m.ID) {
			n++
			messages = strings.Replace(messages, `"`+m.ID+`"`, fmt.Sprintf(`"thinking %d"`, n), 1)
		}
	}
	return messages
}

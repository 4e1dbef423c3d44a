package compact

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
)

// started and ended are the events of a run without a parent, or with one.
func started(id, parent string) string {
	if parent != "" {
		parent = `,"parentRunId":"` + parent + `"`
	}
	return `{"type":"RUN_STARTED","threadId":"t","runId":"` + id + `"` + parent + `}`
}

const ended = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`

// chunk is a whole message.
func chunk(id, text string) string {
	return `{"type":"TEXT_MESSAGE_CHUNK","messageId":"` + id + `","delta":"` + text + `"}`
}

// TestManyRuns compacts very many runs: runs without messages, a chain of parents, and
// branches of one run.
func TestManyRuns(t *testing.T) {
	const runs = 100_000
	for name, parent := range map[string]func(i int) string{
		"no parent": func(int) string { return "" },
		"chain":     func(i int) string { return fmt.Sprint(i - 1) },
		"branches":  func(int) string { return "0" },
	} {
		t.Run(name, func(t *testing.T) {
			events := []string{started("0", ""), chunk("m", "hello"), ended}
			for i := 1; i < runs; i++ {
				events = append(events, started(fmt.Sprint(i), parent(i)))
			}
			got, codes, err := snapshot(t, defaultLimits, events)
			if err != nil || len(codes) > 0 {
				t.Fatal(err, codes)
			}
			if want := 2*runs + 1; len(got) != want {
				t.Errorf("there are %d events, want %d", len(got), want)
			}
			if last := got[len(got)-1]; last != `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"assistant","content":"hello"}]}` {
				t.Errorf("the last event is %s", last)
			}
		})
	}
}

// TestManyMessages compacts a run of very many messages, results and inputs.
func TestManyMessages(t *testing.T) {
	const messages = 5_000
	events := []string{started("0", "")}
	var input strings.Builder
	for i := range messages {
		call, result := fmt.Sprintf(`"toolCallId":"c%d"`, i), fmt.Sprintf(`"messageId":"t%d"`, i)
		events = append(events,
			`{"type":"TOOL_CALL_START",`+call+`,"toolCallName":"f"}`,
			`{"type":"TOOL_CALL_END",`+call+`}`,
			`{"type":"TOOL_CALL_RESULT",`+result+`,`+call+`,"content":""}`)
		fmt.Fprintf(&input, `,{"id":"c%d","role":"assistant"}`, i)
	}
	events = append(events, ended, `{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"messages":[`+input.String()[1:]+`]}}`)
	for i := range messages {
		events = append(events, fmt.Sprintf(`{"type":"TOOL_CALL_RESULT","messageId":"u%d","toolCallId":"c%d","content":""}`, i, messages-1-i))
	}
	events = append(events, ended)
	got, codes, err := snapshot(t, defaultLimits, events)
	if err != nil {
		t.Fatal(err)
	}
	if len(codes) != messages || codes[0] != finding.InputMessageDiffers {
		t.Errorf("there are %d findings", len(codes))
	}
	// Only the result of the last call belongs at the end.
	if want := 6 + messages - 1; len(got) != want {
		t.Errorf("there are %d events, want %d", len(got), want)
	}
	again, _, err := snapshot(t, defaultLimits, got)
	if err != nil || !equal(got, again) {
		t.Errorf("compacting again changes the stream (%v)", err)
	}
}

// TestSnapshotLimits checks each limit at the largest value that fails and the smallest
// that does not.
func TestSnapshotLimits(t *testing.T) {
	first := []string{started("0", ""), chunk("m", "hello"), ended}
	second := append(first[:3:3], started("1", "0"), chunk("n", "you"), ended)
	message := `{"id":"m","role":"assistant","content":"hello"}`
	snapshotSize := len(`{"type":"MESSAGES_SNAPSHOT","messages":[]}`) + len(message)
	state := `{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}`
	runBytes := endingBytes + len("t") + len("0")
	kept := runBytes + len(message) + messageBytes + referenceBytes
	result := `{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c","content":""}`
	for name, test := range map[string]struct {
		limits limits
		field  func(l *limits) *int
		events []string
		needed int
	}{
		"conversation": {defaultLimits, func(l *limits) *int { return &l.event }, first, snapshotSize},
		"state":        {defaultLimits, func(l *limits) *int { return &l.event }, []string{started("0", ""), state, ended}, len(state)},
		"one run":      {defaultLimits, func(l *limits) *int { return &l.kept }, first, kept},
		"two runs": {defaultLimits, func(l *limits) *int { return &l.kept }, second,
			kept + runBytes + len(`{"id":"n","role":"assistant","content":"you"}`) + messageBytes + 2*referenceBytes},
		"equal runs":    {defaultLimits, func(l *limits) *int { return &l.kept }, append(first[:3:3], started("1", "0"), ended), kept + runBytes},
		"states":        {defaultLimits, func(l *limits) *int { return &l.kept }, []string{started("0", ""), state, ended, started("1", ""), state, ended}, 2*runBytes + len(`{"a":1}`)},
		"results":       {defaultLimits, func(l *limits) *int { return &l.held }, append(first[:3:3], started("1", ""), result, ended), len(result) + groupBytes},
		"results twice": {defaultLimits, func(l *limits) *int { return &l.held }, append(first[:3:3], started("1", ""), result, ended, started("2", ""), result, ended), len(result) + groupBytes},
	} {
		t.Run(name, func(t *testing.T) {
			l := test.limits
			*test.field(&l) = test.needed
			if _, _, err := snapshot(t, l, test.events); err != nil {
				t.Errorf("with a limit of %d: %v", test.needed, err)
			}
			*test.field(&l) = test.needed - 1
			_, _, err := snapshot(t, l, test.events)
			if f, ok := errors.AsType[finding.Finding](err); !ok || f.Code != finding.CompactionLimit {
				t.Errorf("with a limit of %d: %v, want %s", test.needed-1, err, finding.CompactionLimit)
			}
		})
	}
}

// TestSnapshotFull compacts a conversation that is larger than the limit of package reduce.
// It fails, because a part of the conversation would be missing in the snapshot.
func TestSnapshotFull(t *testing.T) {
	large := strings.Repeat("a", reduce.MaxBytes/2)
	events := []string{started("0", ""), chunk("m", large), ended}
	if _, codes, err := snapshot(t, defaultLimits, events); err != nil || len(codes) > 0 {
		t.Fatal(err, codes)
	}
	_, codes, err := snapshot(t, defaultLimits, []string{events[0], events[1], chunk("n", large), ended})
	if f := limitFinding(t, err); *f.EventIndex != 2 {
		t.Errorf("the error is at event %d", *f.EventIndex)
	}
	if !slices.Contains(codes, finding.ConversationTooLarge) {
		t.Errorf("the findings are %v", codes)
	}
}

// The conversations and states at the ends of runs may be as long as the limit, and not a
// byte longer.
func TestRepeatedLimit(t *testing.T) {
	state := `{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}`
	message := `[{"id":"m","role":"assistant","content":"` + strings.Repeat("x", 10_000) + `"}]`
	events := []string{started("0", ""), chunk("m", strings.Repeat("x", 10_000)), state, ended}
	repeated := 0
	for i := range 100 {
		events = append(events, started(fmt.Sprint(i), ""), ended)
	}
	for i, event := range events {
		repeated -= repeatFactor * len(event)
		if event == ended {
			repeated += len(message)
			if i > 3 {
				repeated += len(`{"a":1}`) // which is shown before
			} else {
				repeated += len(emptyState)
			}
		}
	}
	l := defaultLimits
	l.repeated = int64(repeated)
	if _, _, err := snapshot(t, l, events); err != nil {
		t.Error(err)
	}
	l.repeated--
	_, _, err := snapshot(t, l, events)
	if f := limitFinding(t, err); *f.EventIndex != len(events)-1 {
		t.Errorf("the finding is about event %d of %d", *f.EventIndex, len(events))
	}
}

// A chunk that exceeds a limit of package chunk is not lost without an error.
func TestLongChunk(t *testing.T) {
	call := func(id string) string {
		return `{"type":"TOOL_CALL_CHUNK","toolCallId":"` + id + `","toolCallName":"f","delta":"{}"}`
	}
	if _, codes, err := snapshot(t, defaultLimits, []string{started("0", ""), call(strings.Repeat("i", 60_000)), ended}); err != nil || len(codes) > 0 {
		t.Error(err, codes)
	}
	_, codes, err := snapshot(t, defaultLimits, []string{started("0", ""), call(strings.Repeat("i", 70_000)), `{"type":"TOOL_CALL_CHUNK","delta":"y"}`, ended})
	if f := limitFinding(t, err); *f.EventIndex != 1 {
		t.Errorf("the finding is about event %d", *f.EventIndex)
	}
	if !slices.Equal(codes, []finding.Code{finding.ConversationTooLarge}) {
		t.Errorf("the findings are %v", codes)
	}
}

// Only the RUN_FINISHED that ends a run gets the calls that wait. Later ones keep their bytes,
// and so do very many that name calls.
func TestRepeatedFinish(t *testing.T) {
	const calls = 10_000
	events := []string{started("0", "")}
	for i := range calls {
		id := fmt.Sprintf(`"toolCallId":"c%d"`, i)
		events = append(events, `{"type":"TOOL_CALL_START",`+id+`,"toolCallName":"f"}`, `{"type":"TOOL_CALL_END",`+id+`}`)
	}
	named := `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["x"]}}`
	for range calls {
		events = append(events, ended, named)
	}
	got, codes, err := snapshot(t, defaultLimits, events)
	if err != nil || len(codes) > 0 {
		t.Fatal(err, codes)
	}
	if want := 2 + 2*calls; len(got) != want {
		t.Fatalf("there are %d events, want %d", len(got), want)
	}
	if !strings.Contains(got[2], `"c9999"]`) {
		t.Errorf("the first RUN_FINISHED is %.100s", got[2])
	}
	for i, event := range got[3:] {
		if want := []string{named, ended}[i%2]; event != want {
			t.Fatalf("event %d is %s", i+3, event)
		}
	}
}

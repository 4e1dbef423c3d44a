package reduce

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestChanges shows what events did to the messages.
func TestChanges(t *testing.T) {
	const (
		m1       = `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"x"}`
		m2       = `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m2","delta":"x"}`
		call     = `{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f"}`
		result   = `{"type":"TOOL_CALL_RESULT","messageId":"x","toolCallId":"c","content":""}`
		empty    = `{"type":"MESSAGES_SNAPSHOT","messages":[]}`
		onlyM2   = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m2","role":"user","content":""}]}`
		both     = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":""},{"id":"m2","role":"user","content":""}]}`
		activity = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"activity","activityType":"P","content":{}}]}`
		hidden   = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"h","role":"reasoning","content":""}]}`
		types    = `{"type":"MESSAGES_SNAPSHOT","messages":[],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":["B","A","B"]}}}`
		allTypes = `{"type":"MESSAGES_SNAPSHOT","messages":[],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":null}}}`
		thinks   = `{"type":"THINKING_TEXT_MESSAGE_START"}`
		thought  = `{"type":"THINKING_TEXT_MESSAGE_END"}`
	)
	for _, test := range []struct {
		name   string
		events []string
		want   Changes
	}{
		{"messages", []string{m1, m2}, Changes{}},
		{"a result at the end", []string{m1, call, result}, Changes{}},
		{"a result in the middle", []string{call, m1, result}, Changes{Moved: true}},
		{"a snapshot of the messages", []string{m1, both}, Changes{}},
		{"a snapshot that removes a message", []string{m1, m2, onlyM2}, Changes{}},
		{"a snapshot with a message that another removed", []string{m1, m2, onlyM2, both}, Changes{Moved: true}},
		{"a message that a snapshot removed", []string{m1, m2, onlyM2, m1}, Changes{Moved: true}},
		{"a result that a snapshot removed", []string{call, result, empty, result}, Changes{Moved: true}},
		{"an id twice", []string{call, result, result}, Changes{Repeated: true}},
		{"all activities", []string{activity}, Changes{AllActivities: true}},
		{"said to be all activities", []string{allTypes}, Changes{AllActivities: true}},
		{"all activities of types", []string{types, types}, Changes{Activities: []string{"A", "B"}}},
		{"all reasoning", []string{hidden}, Changes{Reasoning: true}},
		{"a message of THINKING", []string{thinks}, Changes{Thinking: true, Message: "thinking-1-1"}},
		{"one that has ended", []string{thinks, thought}, Changes{Thinking: true}},
		{"a snapshot of the state", []string{`{"type":"STATE_SNAPSHOT","snapshot":{}}`}, Changes{State: true}},
		{"a patch", []string{`{"type":"STATE_DELTA","delta":[]}`}, Changes{State: true}},
	} {
		r := New(Options{})
		apply(t, r, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
		apply(t, r, test.events...)
		if diff := cmp.Diff(test.want, r.Changes()); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.name, diff)
		}
	}
}

// TestChangesAreBounded checks that the memory for what snapshots remove is bounded.
func TestChangesAreBounded(t *testing.T) {
	r := New(Options{})
	for i := range 2 * maxTypes {
		apply(t, r, fmt.Sprintf(`{"type":"MESSAGES_SNAPSHOT","messages":[],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":["%d"]}}}`, i))
	}
	if n := len(r.Changes().Activities); n != maxTypes {
		t.Errorf("%d types", n)
	}
	for i := range maxRemoved {
		r.removed.add(fmt.Sprint(i))
	}
	if r.removed.has("new") || !r.removed.has("1") {
		t.Error("ids are confused")
	}
	r.removed.add("one more")
	if len(r.removed.ids) != maxRemoved || !r.removed.has("new") {
		t.Errorf("%d ids", len(r.removed.ids))
	}
}

package event_test

import (
	"testing"

	"github.com/p20export/p20export/envelope/event"
)

// TestAppend has values that Decode never returns.
func TestAppend(t *testing.T) {
	for _, c := range []struct {
		e    event.Event
		want string
	}{
		{&event.TextMessageContent{MessageID: "\xff", Delta: "caf\xc3"}, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"` + "\ufffd" + `","delta":"caf` + "\ufffd" + `"}`},
		{&event.Unknown{Name: "\xa9x"}, `{"type":"` + "\ufffd" + `x"}`},
		{&event.MessagesSnapshot{}, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`},
		{&event.MessagesSnapshot{Messages: []event.Message{nil, &event.UnknownMessage{}}}, `{"type":"MESSAGES_SNAPSHOT","messages":[null,null]}`},
		{&event.ToolCallResult{Content: event.Content{Parts: []event.Part{nil}}}, `{"type":"TOOL_CALL_RESULT","messageId":"","toolCallId":"","content":[null]}`},
	} {
		if got := string(event.Append(nil, c.e)); got != c.want {
			t.Errorf("%#v is written as %s, want %s", c.e, got, c.want)
		}
	}
}

// TestUpgrader checks the ids of events outside a run, and what an upgrade keeps.
func TestUpgrader(t *testing.T) {
	var u event.Upgrader
	for _, c := range []struct{ text, want string }{
		{`{"type":"THINKING_TEXT_MESSAGE_END","subagentRunId":"s"}`, `{"type":"REASONING_MESSAGE_END","subagentRunId":"s","messageId":"thinking-0-1"}`},
		{`{"type":"THINKING_START","subagentRunId":"s","title":"a"}`, `{"type":"REASONING_START","subagentRunId":"s","messageId":"thinking-span-0-1"}`},
		{`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`},
		{`{"type":"THINKING_TEXT_MESSAGE_START","subagentRunId":"s"}`, `{"type":"REASONING_MESSAGE_START","subagentRunId":"s","messageId":"thinking-1-1","role":"reasoning"}`},
		{`{"type":"THINKING_TEXT_MESSAGE_CONTENT","subagentRunId":"s","delta":"a","metadata":{}}`, `{"type":"REASONING_MESSAGE_CONTENT","metadata":{},"subagentRunId":"s","messageId":"thinking-1-1","delta":"a"}`},
		{`{"type":"THINKING_END","subagentRunId":"s","role":"x","y":1}`, `{"type":"REASONING_END","subagentRunId":"s","messageId":"thinking-span-1-1","y":1}`},
	} {
		e, err := event.Decode([]byte(c.text), event.Tolerant(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(event.Append(nil, u.Upgrade(e))); got != c.want {
			t.Errorf("%s becomes %s, want %s", c.text, got, c.want)
		}
	}
}

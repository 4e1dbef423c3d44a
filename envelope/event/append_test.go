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

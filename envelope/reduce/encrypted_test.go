package reduce

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEncryptedTypes checks that the type of an encrypted value is kept with it, and replaced
// and removed with it.
func TestEncryptedTypes(t *testing.T) {
	t.Parallel()
	const value = `REASONING_ENCRYPTED_VALUE{"subtype":"message","entityId":"m","encryptedValue":"`
	const call = `REASONING_ENCRYPTED_VALUE{"subtype":"tool-call","entityId":"c","encryptedValue":"`
	r := New(Options{})
	for _, step := range []struct{ events, want, warnings string }{
		{`TOOL_CALL_START{"toolCallId":"c","toolCallName":"f","parentMessageId":"m"}
			` + value + `a","encryptedValueType":"x"}
			` + call + `b","encryptedValueType":"y"}`, `{"id":"m","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""},"encryptedValue":"b","encryptedValueType":"y"}],"encryptedValue":"a","encryptedValueType":"x"}`, ``},
		{value + `c","encryptedValueType":"z"}
			` + call + `d"}`, `{"id":"m","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""},"encryptedValue":"d"}],"encryptedValue":"c","encryptedValueType":"z"}`, ``},
		{value + `e","encryptedValueType":5}`, `{"id":"m","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""},"encryptedValue":"d"}],"encryptedValue":"e"}`, `event_field_malformed`},
		{`MESSAGES_SNAPSHOT{"messages":[{"id":"m","role":"reasoning","content":"","encryptedValue":"f","encryptedValueType":"w"}]}`, `{"id":"m","role":"reasoning","content":"","encryptedValue":"f","encryptedValueType":"w"}`, ``},
		{value + `g"}`, `{"id":"m","role":"reasoning","content":"","encryptedValue":"g"}`, ``},
	} {
		found := apply(t, r, events(step.events)...)
		if diff := cmp.Diff("["+step.want+"]", string(r.AppendMessages(nil))); diff != "" {
			t.Errorf("messages: -want +got\n%s", diff)
		}
		if got := strings.Join(codes(found), " "); got != step.warnings {
			t.Errorf("warnings: %v", found)
		}
		check(t, r)
	}
}

package reduce

import (
	"bytes"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope"
)

// FuzzReducer applies lines of events. A Reducer must not panic, must know its messages,
// and must write JSON that Restore accepts.
func FuzzReducer(f *testing.F) {
	f.Add([]byte(strings.Join(events(`
		RUN_STARTED{"threadId":"t","runId":"r","input":{"messages":[{"id":"u","role":"user","content":"x"}]}}
		TEXT_MESSAGE_CHUNK{"messageId":"m","delta":"\ud83d","metadata":{"a":1}}
		TEXT_MESSAGE_CHUNK{"delta":"\ude00"}
		TOOL_CALL_START{"toolCallId":"t","toolCallName":"f","parentMessageId":"m"}
		TOOL_CALL_ARGS{"toolCallId":"t","delta":"{}"}
		TOOL_CALL_RESULT{"messageId":"r","toolCallId":"t","content":[]}
		REASONING_ENCRYPTED_VALUE{"subtype":"tool-call","entityId":"t","encryptedValue":"x"}
		STATE_DELTA{"delta":[{"op":"copy","from":"","path":"/a"},{"op":"test","path":"/a/a","value":1}]}
		RUN_FINISHED{"outcome":{"type":"interrupt","interrupts":[{"id":"i","subagentRunId":null}]}}`), "\n")), true)
	f.Add([]byte(strings.Join(events(`
		ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{"n":[1.0]}}
		ACTIVITY_DELTA{"messageId":"a","activityType":"q","patch":[{"op":"move","from":"/n/0","path":""}]}
		MESSAGES_SNAPSHOT{"messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"t"},{"id":"t"},5]},{"id":"a"},{},"x"],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":["p"]}}}
		ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":null,"replace":false}
		TOOL_CALL_END{"toolCallId":"t","metadata":{}}
		THINKING_TEXT_MESSAGE_START{}
		THINKING_TEXT_MESSAGE_CONTENT{"delta":"x"}
		STATE_SNAPSHOT{"snapshot":null}`), "\n")), false)
	f.Fuzz(func(t *testing.T, data []byte, client bool) {
		r := New(Options{})
		if client {
			r = New(Options{Dialect: Client})
		}
		for line := range bytes.Lines(data) {
			e, err := envelope.ReadEvent(line)
			if err != nil {
				continue
			}
			if found := r.Event(e); len(found) > 10 {
				t.Errorf("%d warnings about one event", len(found))
			}
			check(t, r)
		}
		messages, state := r.AppendMessages(nil), r.AppendState(nil)
		read(r.AppendInterrupts(nil))
		restored := New(Options{})
		if err := restored.Restore(messages, state); err != nil {
			t.Fatal(err)
		}
		check(t, restored)
		if got := restored.AppendMessages(nil); !bytes.Equal(got, messages) {
			t.Errorf("restored messages\n%s, want\n%s", got, messages)
		}
		if got := restored.AppendState(nil); len(state) > 0 && !bytes.Equal(got, state) {
			t.Errorf("restored state %s, want %s", got, state)
		}
	})
}

package reduce

import (
	"fmt"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
)

// TestLimit tries each way in which messages grow, at the limit and one byte above it.
func TestLimit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for _, test := range []struct{ before, event string }{
		{``, `TEXT_MESSAGE_START{"messageId":"` + long + `","name":"n","subagentRunId":"s"}`},
		{`TEXT_MESSAGE_START{"messageId":"m"}`, `TEXT_MESSAGE_CONTENT{"messageId":"m","delta":"` + long + `"}`},
		{`TEXT_MESSAGE_START{"messageId":"m"}`, `TEXT_MESSAGE_END{"messageId":"m","metadata":{"a":"` + long + `"}}`},
		{``, `TEXT_MESSAGE_CHUNK{"messageId":"m","delta":"` + long + `"}`},
		{``, `REASONING_MESSAGE_START{"messageId":"` + long + `","role":"reasoning"}`},
		{`THINKING_START{}`, `THINKING_TEXT_MESSAGE_START{}`},
		{``, `TOOL_CALL_START{"toolCallId":"t","toolCallName":"` + long + `"}`},
		{`TOOL_CALL_START{"toolCallId":"t","toolCallName":"f"}`, `TOOL_CALL_START{"toolCallId":"t","toolCallName":"` + long + `"}`},
		{`TOOL_CALL_START{"toolCallId":"t","toolCallName":"f"}`, `TOOL_CALL_ARGS{"toolCallId":"t","delta":"` + long + `"}`},
		{`TOOL_CALL_START{"toolCallId":"t","toolCallName":"f"}`, `REASONING_ENCRYPTED_VALUE{"subtype":"tool-call","entityId":"t","encryptedValue":"` + long + `"}`},
		{`TOOL_CALL_START{"toolCallId":"t","toolCallName":"f"}`, `TOOL_CALL_RESULT{"messageId":"r","toolCallId":"t","content":"` + long + `"}`},
		{``, `ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{"a":"` + long + `"}}`},
		{`ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{}}`, `ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"` + long + `","content":{}}`},
		{`TEXT_MESSAGE_START{"messageId":"a"}`, `ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{"a":"` + long + `"}}`},
		{`ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{}}`, `ACTIVITY_DELTA{"messageId":"a","activityType":"` + long + `","patch":[]}`},
		{``, `RUN_FINISHED{"threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["` + long + `"]}}`},
		{``, `RUN_FINISHED{"threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"` + long + `"}]}}`},
		{``, `MESSAGES_SNAPSHOT{"messages":[{"id":"m","role":"user"},{"id":"n","role":"assistant","toolCalls":[{"id":"t"}]}]}`},
		{``, `RUN_STARTED{"threadId":"t","runId":"r","input":{"messages":[{"id":"m","role":"user","content":"` + long + `"}]}}`},
	} {
		r := New(Options{})
		apply(t, r, events(test.before)...)
		before := r.conversation.bytes
		apply(t, r, events(test.event)...)
		// The limit at which the event just fits.
		lowest, highest := before, before+4000
		for lowest < highest {
			limit := (lowest + highest) / 2
			r := New(Options{})
			apply(t, r, events(test.before)...)
			r.conversation.limit = limit
			found := apply(t, r, events(test.event)...)
			check(t, r)
			if r.Full() != (len(found) == 1 && found[0].Code == "conversation_too_large") {
				t.Errorf("%.30s: full %v, but found %v", test.event, r.Full(), found)
			}
			if r.conversation.bytes > limit {
				t.Errorf("%.30s: %d bytes exceed the limit of %d", test.event, r.conversation.bytes, limit)
			}
			full := r.Full()
			if again := apply(t, r, events(test.event)...); full && len(again) > 0 && again[0].Code == "conversation_too_large" {
				t.Errorf("%.30s: the limit is reported again", test.event)
			}
			if full {
				lowest = limit + 1
			} else {
				highest = limit
			}
		}
		if lowest <= before || lowest < r.conversation.bytes && !strings.HasPrefix(test.event, "ACTIVITY") {
			t.Errorf("%.30s fits into %d bytes, but needs %d more than %d", test.event, lowest, r.conversation.bytes, before)
		}
	}
}

// TestMaxBytes fills a Reducer to the limit.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	apply(t, r, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`)
	fill := func(n int) []string {
		return []string{`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"` + strings.Repeat("x", n) + `"}`}
	}
	if found := apply(t, r, fill(MaxBytes-r.conversation.bytes-len(`""`))...); found != nil || r.Full() {
		t.Fatalf("a message of the greatest size: %v", found)
	}
	if found := apply(t, r, fill(3)...); len(found) != 1 || !r.Full() {
		t.Errorf("beyond the limit: %v", found)
	}
	// A snapshot makes room.
	if found := apply(t, r, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`, `{"type":"TEXT_MESSAGE_START","messageId":"n"}`); found != nil || r.conversation.Len() != 1 {
		t.Errorf("after a snapshot: %v", found)
	}
}

// TestManyInOneEvent has lists whose elements need more memory than their text.
func TestManyInOneEvent(t *testing.T) {
	t.Parallel()
	const most = MaxBytes / entryBytes
	for _, test := range []struct{ event, element string }{
		{`{"type":"MESSAGES_SNAPSHOT","messages":[%s]}`, `{"role":"user"}`},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"assistant","toolCalls":[%s]}]}`, `0`},
		{`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"messages":[%s]}}`, `{"role":"user"}`},
	} {
		list := strings.Repeat(test.element+",", most) + test.element
		r := New(Options{})
		found := apply(t, r, fmt.Sprintf(test.event, list))
		if len(found) != 1 || found[0].Code != "conversation_too_large" || !r.Full() || r.conversation.Len() != 0 {
			t.Errorf("%s: %v, %d messages", test.event, found, r.conversation.Len())
		}
		check(t, r)
	}
	e, err := envelope.ReadEvent([]byte(`{"type":"MESSAGES_SNAPSHOT","messages":[` + strings.Repeat(`{"role":"user"},`, most) + `{"role":"user"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	list, _ := e.Get("messages")
	if got, ok := New(Options{}).readMessages(e, list, "/messages", 0); ok || len(got) >= most {
		t.Errorf("%d messages were read", len(got))
	}
}

// TestChunkLimit has a chunk that exceeds a limit of package chunk, and one that continues
// it, which is not reported.
func TestChunkLimit(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	const more = `{"type":"TOOL_CALL_CHUNK","delta":"y"}`
	found := apply(t, r, `{"type":"TOOL_CALL_CHUNK","toolCallName":"f","toolCallId":"`+strings.Repeat("x", chunk.MaxStreamBytes)+`"}`, more)
	if len(found) != 1 || found[0].Code != "conversation_too_large" || !r.Full() {
		t.Errorf("found %v, full %v", found, r.Full())
	}
	if found := apply(t, New(Options{}), more); len(found) != 1 || found[0].Code != "event_field_malformed" {
		t.Errorf("without a limit: %v", found)
	}
}

// TestStateLimit applies patches that would exceed the limit of the state.
func TestStateLimit(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	apply(t, r, `{"type":"STATE_SNAPSHOT","snapshot":{"a":"`+strings.Repeat("x", 20<<20)+`"}}`)
	found := apply(t, r,
		`{"type":"STATE_DELTA","delta":[{"op":"copy","from":"/a","path":"/b"}]}`,
		`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/c","value":{}},{"op":"copy","from":"/a","path":"/c/d"},{"op":"copy","from":"/a","path":"/c/e"}]}`)
	if len(found) != 1 || found[0].Code != "conversation_too_large" || !r.Full() {
		t.Errorf("found %v, full %v", found, r.Full())
	}
	if n := len(r.AppendState(nil)); n != 40<<20+len(`{"a":"","b":""}`) {
		t.Errorf("the state has %d bytes", n)
	}
}

// TestMany has streams for which scans of all messages or tool calls would take long.
func TestMany(t *testing.T) {
	t.Parallel()
	const n = 20_000
	for name, stream := range map[string]func(i int) string{
		"results of one message": func(i int) string {
			return fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"t%d","toolCallName":"f","parentMessageId":"m"}`, i)
		},
		"results of many messages": func(i int) string {
			return fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"t%d","toolCallName":"f"}`, i)
		},
		"repeated calls": func(int) string { return `{"type":"TOOL_CALL_START","toolCallId":"t","toolCallName":"f"}` },
		"texts":          func(i int) string { return fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m%d"}`, i) },
		"metadata": func(i int) string {
			return fmt.Sprintf(`{"type":"TEXT_MESSAGE_START","messageId":"m","metadata":{"%d":1}}`, i)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := New(Options{})
			for i := range n {
				apply(t, r, stream(i))
			}
			for i := range n { // in the middle of the list, in another order
				id := i * 7919 % n
				apply(t, r, fmt.Sprintf(`{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"t%d","content":""}`, id))
			}
			for i := range n { // results become activities, which divides the results of a message
				if i%2 == 0 {
					apply(t, r, fmt.Sprintf(`{"type":"ACTIVITY_SNAPSHOT","messageId":"t%d","activityType":"a","content":{}}`, i))
				}
			}
			check(t, r)
			if r.Full() {
				t.Error("the stream exceeds the limit")
			}
		})
	}
}

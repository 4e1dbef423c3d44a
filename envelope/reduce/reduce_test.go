package reduce

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
)

// TestMessages has the messages after a stream of events. The expected messages are the
// reference client's, except where the name of the test says that it differs.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, events, messages, warnings string }{
		{"a text with a role, a name and metadata", `
			RUN_STARTED{"threadId":"t","runId":"r","metadata":{"no":1}}
			TEXT_MESSAGE_START{"messageId":"m","role":"user","name":"Kim","subagentRunId":"s","metadata":{"a":1,"b":{"c":1}}}
			TEXT_MESSAGE_CONTENT{"messageId":"m","delta":"Hel","metadata":{"b":{"d":null}}}
			TEXT_MESSAGE_CONTENT{"messageId":"m","delta":"lo \ud83d"}
			TEXT_MESSAGE_CONTENT{"messageId":"m","delta":""}
			TEXT_MESSAGE_CONTENT{"messageId":"m","delta":"\ude00"}
			TEXT_MESSAGE_END{"messageId":"m","metadata":{"usage":1.0}}`, `
			{"id":"m","role":"user","content":"Hello 😀","name":"Kim","subagentRunId":"s","metadata":{"a":1,"b":{"d":null},"usage":1.0}}`, ``},
		{"null fields are absent", `
			TEXT_MESSAGE_START{"messageId":"m","role":null,"name":null,"subagentRunId":null,"metadata":null}
			TOOL_CALL_START{"toolCallId":"t","toolCallName":"f","parentMessageId":null,"subagentRunId":null}
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{},"replace":null,"subagentRunId":null}
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"q","content":{"n":null},"replace":null}`, `
			{"id":"m","role":"assistant","content":""}
			{"id":"t","role":"assistant","toolCalls":[{"id":"t","type":"function","function":{"name":"f","arguments":""}}]}
			{"id":"a","role":"activity","activityType":"q","content":{"n":null}}`,
			strings.Repeat("event_altered ", 8)},
		{"an empty name is a name, an empty subagent a subagent, and an empty parent none", `
			TEXT_MESSAGE_START{"messageId":"","name":"","subagentRunId":""}
			TOOL_CALL_START{"toolCallId":"t","toolCallName":"f","parentMessageId":""}`, `
			{"id":"","role":"assistant","content":"","name":"","subagentRunId":""}
			{"id":"t","role":"assistant","toolCalls":[{"id":"t","type":"function","function":{"name":"f","arguments":""}}]}`, ``},
		{"a text with the id of a message continues it, whatever its role", `
			TEXT_MESSAGE_START{"messageId":"m","role":"user","name":"A"}
			TEXT_MESSAGE_CONTENT{"messageId":"m","delta":"a"}
			TEXT_MESSAGE_END{"messageId":"m"}
			TEXT_MESSAGE_START{"messageId":"m","role":"assistant","name":"B","metadata":{"k":1}}
			TEXT_MESSAGE_CONTENT{"messageId":"m","delta":"b"}
			REASONING_MESSAGE_START{"messageId":"m","role":"reasoning"}
			REASONING_MESSAGE_CONTENT{"messageId":"m","delta":"c"}`, `
			{"id":"m","role":"user","content":"abc","name":"A","metadata":{"k":1}}`, ``},
		{"a text replaces a content that is not a text", `
			MESSAGES_SNAPSHOT{"messages":[{"id":"u","role":"user","content":[{"type":"text","text":"x"}],"new":[1]}]}
			TEXT_MESSAGE_CONTENT{"messageId":"u","delta":"y"}`, `
			{"id":"u","role":"user","content":"y"}`, `event_altered`},
		{"events of unknown messages and of activities", `
			TEXT_MESSAGE_CONTENT{"messageId":"m","delta":"x"}
			TEXT_MESSAGE_END{"messageId":"m"}
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{"n":1}}
			TEXT_MESSAGE_START{"messageId":"a","metadata":{"no":1}}
			TEXT_MESSAGE_CONTENT{"messageId":"a","delta":"x"}
			REASONING_MESSAGE_START{"messageId":"a","role":"reasoning"}
			REASONING_MESSAGE_END{"messageId":"a"}
			REASONING_ENCRYPTED_VALUE{"subtype":"message","entityId":"a","encryptedValue":"x"}
			REASONING_ENCRYPTED_VALUE{"subtype":"message","entityId":"b","encryptedValue":"x"}
			REASONING_ENCRYPTED_VALUE{"subtype":"tool-call","entityId":"b","encryptedValue":"x"}
			TOOL_CALL_END{"toolCallId":"t"}
			ACTIVITY_DELTA{"messageId":"b","activityType":"p","patch":[]}`, `
			{"id":"a","role":"activity","activityType":"p","content":{"n":1}}`, `
			message_unknown message_unknown activity_id_reused activity_id_reused activity_id_reused activity_id_reused
			activity_id_reused message_unknown message_unknown message_unknown message_unknown`},
		{"tool calls join the message of their parent, or make one with its id", `
			TOOL_CALL_START{"toolCallId":"t1","toolCallName":"f","parentMessageId":"m","subagentRunId":"s","metadata":{"k":1}}
			TOOL_CALL_ARGS{"toolCallId":"t1","delta":"{\"a\":"}
			TEXT_MESSAGE_START{"messageId":"m","name":"no"}
			TOOL_CALL_START{"toolCallId":"t2","toolCallName":"g","parentMessageId":"m","subagentRunId":"no"}
			TEXT_MESSAGE_CONTENT{"messageId":"m","delta":"Wait."}
			TOOL_CALL_ARGS{"toolCallId":"t1","delta":"1}","metadata":{"k":2}}
			TOOL_CALL_END{"toolCallId":"t1","metadata":{"e":3}}`, `
			{"id":"m","role":"assistant","toolCalls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"},"metadata":{"k":2,"e":3}},{"id":"t2","type":"function","function":{"name":"g","arguments":""}}],"subagentRunId":"s","content":"Wait."}`, ``},
		{"a parent with another role", `
			TEXT_MESSAGE_START{"messageId":"u","role":"user"}
			TEXT_MESSAGE_START{"messageId":"t2","role":"user"}
			TOOL_CALL_START{"toolCallId":"t1","toolCallName":"f","parentMessageId":"u","subagentRunId":"s"}
			TOOL_CALL_START{"toolCallId":"t2","toolCallName":"f","parentMessageId":"u","subagentRunId":"no"}`, `
			{"id":"u","role":"user","content":""}
			{"id":"t2","role":"user","content":""}
			{"id":"t1","role":"assistant","toolCalls":[{"id":"t1","type":"function","function":{"name":"f","arguments":""}}],"subagentRunId":"s"}
			{"id":"t2","role":"assistant","toolCalls":[{"id":"t2","type":"function","function":{"name":"f","arguments":""}}]}`, `
			parent_not_assistant parent_not_assistant`},
		{"a repeated start changes only the name", `
			TOOL_CALL_START{"toolCallId":"t","toolCallName":"f"}
			TOOL_CALL_ARGS{"toolCallId":"t","delta":"1"}
			TOOL_CALL_START{"toolCallId":"t","toolCallName":"f","parentMessageId":"other"}
			TOOL_CALL_START{"toolCallId":"t","toolCallName":"g","metadata":{"k":1}}
			TOOL_CALL_ARGS{"toolCallId":"t","delta":"2"}`, `
			{"id":"t","role":"assistant","toolCalls":[{"id":"t","type":"function","function":{"name":"g","arguments":"12"},"metadata":{"k":1}}]}`, `
			tool_call_renamed`},
		{"results follow the message with their call, in order of arrival", `
			TOOL_CALL_START{"toolCallId":"t1","toolCallName":"f","parentMessageId":"m"}
			TOOL_CALL_START{"toolCallId":"t2","toolCallName":"f","parentMessageId":"m"}
			TEXT_MESSAGE_START{"messageId":"n"}
			TOOL_CALL_RESULT{"messageId":"r2","toolCallId":"t2","content":"b"}
			TOOL_CALL_RESULT{"messageId":"r1","toolCallId":"t1","content":[{"type":"text","text":"a"}],"role":"tool","subagentRunId":"s","metadata":{"k":1}}
			TOOL_CALL_RESULT{"messageId":"r3","toolCallId":"t3","content":"c"}
			TOOL_CALL_RESULT{"messageId":"n","toolCallId":"t1","content":"d"}
			TEXT_MESSAGE_CONTENT{"messageId":"n","delta":"+"}`, `
			{"id":"m","role":"assistant","toolCalls":[{"id":"t1","type":"function","function":{"name":"f","arguments":""}},{"id":"t2","type":"function","function":{"name":"f","arguments":""}}]}
			{"id":"r2","toolCallId":"t2","role":"tool","content":"b"}
			{"id":"r1","toolCallId":"t1","role":"tool","content":[{"type":"text","text":"a"}],"subagentRunId":"s","metadata":{"k":1}}
			{"id":"n","toolCallId":"t1","role":"tool","content":"d+"}
			{"id":"n","role":"assistant","content":""}
			{"id":"r3","toolCallId":"t3","role":"tool","content":"c"}`, ``},
		{"reasoning and encrypted values", `
			REASONING_START{"messageId":"r","metadata":{"no":1}}
			REASONING_MESSAGE_START{"messageId":"r","role":"reasoning","subagentRunId":"s"}
			REASONING_MESSAGE_CONTENT{"messageId":"r","delta":"Hm","metadata":{"k":1}}
			REASONING_MESSAGE_END{"messageId":"r"}
			REASONING_END{"messageId":"r"}
			TOOL_CALL_START{"toolCallId":"t","toolCallName":"f"}
			REASONING_ENCRYPTED_VALUE{"subtype":"tool-call","entityId":"t","encryptedValue":"x","metadata":{"no":1}}
			REASONING_ENCRYPTED_VALUE{"subtype":"message","entityId":"r","encryptedValue":"y"}
			REASONING_ENCRYPTED_VALUE{"subtype":"message","entityId":"r","encryptedValue":"z"}`, `
			{"id":"r","role":"reasoning","content":"Hm","subagentRunId":"s","metadata":{"k":1},"encryptedValue":"z"}
			{"id":"t","role":"assistant","toolCalls":[{"id":"t","type":"function","function":{"name":"f","arguments":""},"encryptedValue":"x"}]}`, ``},
		{"THINKING events have ids of our own", `
			RUN_STARTED{"threadId":"t","runId":"a"}
			THINKING_START{"title":"x"}
			THINKING_TEXT_MESSAGE_START{}
			THINKING_TEXT_MESSAGE_CONTENT{"delta":"Hm"}
			THINKING_TEXT_MESSAGE_END{}
			THINKING_TEXT_MESSAGE_CONTENT{"delta":"lost"}
			THINKING_END{}
			TEXT_MESSAGE_START{"messageId":"thinking-1-2"}
			THINKING_TEXT_MESSAGE_START{}
			RUN_STARTED{"threadId":"t","runId":"b"}
			THINKING_TEXT_MESSAGE_END{}
			THINKING_TEXT_MESSAGE_START{"metadata":{"k":1}}
			THINKING_TEXT_MESSAGE_CONTENT{"delta":"So"}`, `
			{"id":"thinking-1-1","role":"reasoning","content":"Hm"}
			{"id":"thinking-1-2","role":"assistant","content":""}
			{"id":"thinking-1-3","role":"reasoning","content":""}
			{"id":"thinking-2-2","role":"reasoning","content":"So","metadata":{"k":1}}`, `
			event_altered message_unknown message_unknown`},
		{"activities", `
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{"n":[1.0]},"subagentRunId":"s","metadata":{"k":1}}
			ACTIVITY_DELTA{"messageId":"a","activityType":"q","patch":[{"op":"add","path":"/n/-","value":2}],"metadata":{"l":2}}
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"no","content":{},"replace":false,"metadata":{"m":3}}
			ACTIVITY_DELTA{"messageId":"a","activityType":"no","patch":[{"op":"add","path":"/n/0","value":0},{"op":"remove","path":"/x"}],"metadata":{"o":4}}
			ACTIVITY_SNAPSHOT{"messageId":"b","activityType":"p","content":{},"replace":false}
			ACTIVITY_SNAPSHOT{"messageId":"b","activityType":"r","content":{"x":null},"subagentRunId":"u"}
			ACTIVITY_SNAPSHOT{"messageId":"b","activityType":"r","content":{"x":null}}
			ACTIVITY_DELTA{"messageId":"b","activityType":"r"}`, `
			{"id":"a","role":"activity","activityType":"q","content":{"n":[1.0,2]},"subagentRunId":"s","metadata":{"k":1,"l":2,"m":3,"o":4}}
			{"id":"b","role":"activity","activityType":"r","content":{"x":null}}`, `
			patch_failed patch_failed`},
		{"activities whose content is missing or null", `
			MESSAGES_SNAPSHOT{"messages":[{"id":"a","role":"activity"},{"id":"b","role":"activity","content":null},{"id":"c","role":"activity","content":null},{"id":"d","role":"activity"}]}
			ACTIVITY_DELTA{"messageId":"a","activityType":"p","patch":[{"op":"add","path":"/n","value":1}]}
			ACTIVITY_DELTA{"messageId":"b","activityType":"p","patch":[{"op":"add","path":"/n","value":1}]}
			ACTIVITY_DELTA{"messageId":"c","activityType":"no","patch":[{"op":"remove","path":"/n"}]}
			ACTIVITY_DELTA{"messageId":"d","activityType":"no","patch":[{"op":"remove","path":"/n"}]}`, `
			{"id":"a","role":"activity","content":{"n":1},"activityType":"p"}
			{"id":"b","role":"activity","content":{"n":1},"activityType":"p"}
			{"id":"c","role":"activity","content":null}
			{"id":"d","role":"activity"}`, `
			patch_failed patch_failed`},
		{"an activity replaces a message of another role, with its tool calls", `
			TOOL_CALL_START{"toolCallId":"t","toolCallName":"f","parentMessageId":"m"}
			TEXT_MESSAGE_START{"messageId":"n"}
			ACTIVITY_SNAPSHOT{"messageId":"m","activityType":"no","content":{},"replace":false,"metadata":{"no":1}}
			ACTIVITY_DELTA{"messageId":"m","activityType":"no","patch":[]}
			ACTIVITY_SNAPSHOT{"messageId":"m","activityType":"p","content":{}}
			TOOL_CALL_ARGS{"toolCallId":"t","delta":"x"}
			TOOL_CALL_RESULT{"messageId":"r","toolCallId":"t","content":"x"}`, `
			{"id":"m","role":"activity","activityType":"p","content":{}}
			{"id":"n","role":"assistant","content":""}
			{"id":"r","toolCallId":"t","role":"tool","content":"x"}`, `
			message_unknown message_unknown`},
		{"another call with the id of a removed one is found", `
			MESSAGES_SNAPSHOT{"messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"t","function":{"name":"f","arguments":"1"}},{"id":"t"}]},{"id":"b","role":"assistant","toolCalls":[{"id":"t","function":null}]}]}
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{}}
			TOOL_CALL_ARGS{"toolCallId":"t","delta":"2"}`, `
			{"id":"a","role":"activity","activityType":"p","content":{}}
			{"id":"b","role":"assistant","toolCalls":[{"id":"t","function":{"arguments":"2"}}]}`, ``},
		{"a snapshot replaces messages in their places, adds others and removes the rest", `
			TEXT_MESSAGE_START{"messageId":"a"}
			TEXT_MESSAGE_START{"messageId":"b"}
			TEXT_MESSAGE_START{"messageId":"c"}
			MESSAGES_SNAPSHOT{"messages":[{"id":"d","role":"user","content":"\u0064","n":1.50},{"id":"c","role":"assistant","content":"c","subagentRunId":null},{ "id" : "a", "role":"system" , "name":5.0 },{"id":"b","role":"robot"}]}
			TEXT_MESSAGE_CONTENT{"messageId":"c","delta":"+"}`, `
			{"id":"a","role":"system","name":5.0}
			{"id":"c","role":"assistant","content":"c+"}
			{"id":"d","role":"user","content":"\u0064"}`, `event_altered event_altered`},
		{"a snapshot keeps activities and reasoning unless it has any", `
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{}}
			REASONING_MESSAGE_START{"messageId":"r","role":"reasoning"}
			TEXT_MESSAGE_START{"messageId":"m"}
			MESSAGES_SNAPSHOT{"messages":[]}`, `
			{"id":"a","role":"activity","activityType":"p","content":{}}
			{"id":"r","role":"reasoning","content":""}`, ``},
		{"a snapshot with reasoning has all reasoning", `
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{}}
			REASONING_MESSAGE_START{"messageId":"r","role":"reasoning"}
			MESSAGES_SNAPSHOT{"messages":[{"id":"s","role":"reasoning","content":""}]}`, `
			{"id":"a","role":"activity","activityType":"p","content":{}}
			{"id":"s","role":"reasoning","content":""}`, ``},
		{"a snapshot with an activity has all activities", `
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{}}
			REASONING_MESSAGE_START{"messageId":"r","role":"reasoning"}
			MESSAGES_SNAPSHOT{"messages":[{"id":"b","role":"activity","activityType":"q","content":{}}]}`, `
			{"id":"r","role":"reasoning","content":""}
			{"id":"b","role":"activity","activityType":"q","content":{}}`, ``},
		{"a snapshot says which activities it has all of", `
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{}}
			ACTIVITY_SNAPSHOT{"messageId":"b","activityType":"q","content":{}}
			MESSAGES_SNAPSHOT{"messages":[{"id":"c","role":"activity","activityType":"r","content":{}}],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":["q"]}}}`, `
			{"id":"a","role":"activity","activityType":"p","content":{}}
			{"id":"c","role":"activity","activityType":"r","content":{}}`, ``},
		{"a snapshot says that it has all activities", `
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{}}
			MESSAGES_SNAPSHOT{"messages":[],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":null}}}`, ``, ``},
		{"what a snapshot says about activities may be invalid", `
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{}}
			MESSAGES_SNAPSHOT{"messages":[{"id":"a","role":"activity","activityType":"p","content":{"n":1}}],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":["p",1]}}}
			MESSAGES_SNAPSHOT{"messages":[],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":"p"}}}
			MESSAGES_SNAPSHOT{"messages":[],"metadata":{"@ag-ui/client":["p"]}}
			MESSAGES_SNAPSHOT{"messages":[],"metadata":{"@ag-ui/client":{}}}`, `
			{"id":"a","role":"activity","activityType":"p","content":{"n":1}}`, ``},
		{"a snapshot with one id twice", `
			TEXT_MESSAGE_START{"messageId":"a"}
			MESSAGES_SNAPSHOT{"messages":[{"id":"a","role":"user","content":"1"},{"id":"a","role":"user","content":"2"},{"id":"b","role":"user","content":"3"},{"id":"b","role":"user","content":"4"}]}
			TEXT_MESSAGE_CONTENT{"messageId":"b","delta":"+"}`, `
			{"id":"a","role":"user","content":"2"}
			{"id":"b","role":"user","content":"3+"}
			{"id":"b","role":"user","content":"4"}`, ``},
		{"a snapshot replaces several messages by one, which is one message", `
			MESSAGES_SNAPSHOT{"messages":[{"id":"a","role":"user","content":"1"},{"id":"a","role":"user","content":"2"}]}
			MESSAGES_SNAPSHOT{"messages":[{"id":"a","role":"activity","activityType":"p","content":{}}]}
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"no","content":{},"replace":false,"metadata":{"k":1}}
			ACTIVITY_DELTA{"messageId":"a","activityType":"q","patch":[{"op":"add","path":"/n","value":1}]}`, `
			{"id":"a","role":"activity","activityType":"q","content":{"n":1},"metadata":{"k":1}}
			{"id":"a","role":"activity","activityType":"p","content":{},"metadata":{"k":1}}`, ``},
		{"messages without an id", `
			MESSAGES_SNAPSHOT{"messages":[{"role":"user","content":"1"},{"id":5,"role":"user"},"x"]}
			RUN_STARTED{"threadId":"t","runId":"r","input":{"messages":[{"role":"user","content":"2"},"y"]}}`, `
			{"role":"user","content":"1"}
			{"id":5,"role":"user"}
			{"role":"user","id":"r-message-1","content":"y"}`, `
			event_field_malformed event_altered`},
		{"the input of a run adds the messages with new ids", `
			TEXT_MESSAGE_START{"messageId":"a"}
			RUN_STARTED{"threadId":"t","runId":"r","input":{"state":{"no":1},"messages":[{"id":"a","role":"user","content":"no"},{"id":"b","role":"user","content":"b","subagentRunId":null},{"id":"b","role":"user","content":"no"}]}}`, `
			{"id":"a","role":"assistant","content":""}
			{"id":"b","role":"user","content":"b"}`, ``},
		{"malformed events are ignored", `
			TEXT_MESSAGE_START{"role":"user"}
			TEXT_MESSAGE_START{"messageId":"m","name":5,"subagentRunId":[],"metadata":"x"}
			TEXT_MESSAGE_CONTENT{"messageId":"m"}
			TEXT_MESSAGE_CONTENT{"messageId":"m","delta":null}
			TOOL_CALL_START{"toolCallId":"t"}
			TOOL_CALL_START{"toolCallId":"t","toolCallName":"f"}
			TOOL_CALL_ARGS{"toolCallId":"t","delta":{}}
			TOOL_CALL_RESULT{"messageId":"r","toolCallId":"t"}
			TOOL_CALL_RESULT{"messageId":"r","content":"x"}
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p"}
			ACTIVITY_SNAPSHOT{"messageId":"a","content":{}}
			REASONING_ENCRYPTED_VALUE{"entityId":"m"}
			MESSAGES_SNAPSHOT{"messages":{}}
			TEXT_MESSAGE_CHUNK{"delta":"x"}`, `
			{"id":"m","role":"assistant","content":""}
			{"id":"t","role":"assistant","toolCalls":[{"id":"t","type":"function","function":{"name":"f","arguments":""}}]}`,
			"event_field_malformed " + strings.Repeat("event_altered ", 3) + strings.Repeat("event_field_malformed ", 11)},
		{"a result before the first run", `
			TOOL_CALL_RESULT{"messageId":"r","toolCallId":"t","content":"x"}
			TOOL_CALL_START{"toolCallId":"u","toolCallName":"f"}`, `
			{"id":"r","toolCallId":"t","role":"tool","content":"x"}
			{"id":"u","role":"assistant","toolCalls":[{"id":"u","type":"function","function":{"name":"f","arguments":""}}]}`, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := New(Options{})
			found := apply(t, r, events(test.events)...)
			if diff := cmp.Diff(messages(test.messages), string(r.AppendMessages(nil))); diff != "" {
				t.Errorf("messages: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(strings.Fields(test.warnings), codes(found)); diff != "" {
				t.Errorf("warnings: -want +got\n%s", diff)
			}
			check(t, r)
		})
	}
}

// events returns the events in lines of the form TYPE{members}.
func events(lines string) (list []string) {
	for line := range strings.Lines(lines) {
		name, members, ok := strings.Cut(strings.TrimSpace(line), "{")
		if !ok {
			continue
		}
		event := `{"type":"` + name + `"`
		if members != "}" {
			event += ","
		}
		list = append(list, event+members)
	}
	return list
}

// messages returns the array of the messages in lines.
func messages(lines string) string {
	var list []string
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return "[" + strings.Join(list, ",") + "]"
}

// codes returns the codes of findings.
func codes(found []finding.Finding) []string {
	list := []string{}
	for _, f := range found {
		list = append(list, string(f.Code))
	}
	return list
}

// Short snapshots that remove a message and leave many activities may be merged until their
// work exceeds the limit, and not once more.
func TestMergeLimit(t *testing.T) {
	const activities, snapshots = 100, 20
	const short = `{"type":"MESSAGES_SNAPSHOT","messages":[]}`
	for _, missing := range []int{0, 1} {
		r := New(Options{})
		for i := range activities {
			apply(t, r, fmt.Sprintf(`{"type":"ACTIVITY_SNAPSHOT","messageId":"a%d","activityType":"t","content":{}}`, i))
		}
		r.merges = snapshots*(activities+1-len(short)/bytesPerMerge) - missing
		for i := range snapshots {
			apply(t, r, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`)
			warnings := apply(t, r, short)
			if last := i == snapshots-1; (len(warnings) > 0) != (last && missing > 0) {
				t.Errorf("%d messages too few: snapshot %d: %v", missing, i, warnings)
			}
		}
		if r.Full() != (missing > 0) || r.conversation.Len() != activities+missing {
			t.Errorf("%d messages too few: Full() = %v, %d messages", missing, r.Full(), r.conversation.Len())
		}
	}
}

// A message that has several places is counted once, also after one of them changes.
func TestRepeatedMessage(t *testing.T) {
	for _, role := range []string{"tool", "activity"} {
		r := New(Options{})
		for _, event := range events(`
			TOOL_CALL_RESULT{"messageId":"m","toolCallId":"t","content":"1"}
			TOOL_CALL_RESULT{"messageId":"m","toolCallId":"t","content":"2"}
			MESSAGES_SNAPSHOT{"messages":[{"id":"m","role":"` + role + `","content":{"a":1}}]}
			ACTIVITY_SNAPSHOT{"messageId":"m","activityType":"p","content":{}}
			ACTIVITY_DELTA{"messageId":"m","activityType":"p","patch":[{"op":"add","path":"/b","value":1}]}
			TOOL_CALL_RESULT{"messageId":"n","toolCallId":"t","content":"3"}`) {
			apply(t, r, event)
			check(t, r)
		}
		if n := r.conversation.Len(); n != 3 {
			t.Errorf("%d messages", n)
		}
	}
}

// Snapshots that remove nothing take no time for the messages that they omit.
func TestSnapshotRemovesNothing(t *testing.T) {
	const activities = `
		ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{}}
		TEXT_MESSAGE_START{"messageId":"u","role":"user"}
		TOOL_CALL_RESULT{"messageId":"x","toolCallId":"t","content":"1"}
		REASONING_MESSAGE_START{"messageId":"r","role":"reasoning"}
		`
	for _, test := range []struct {
		events, ids string
		works       bool // it looks at all messages
	}{
		{`ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{}}
			MESSAGES_SNAPSHOT{"messages":[]}`, `a`, false},
		{activities + `MESSAGES_SNAPSHOT{"messages":[{"id":"u","role":"user"},{"id":"x","role":"tool","toolCallId":"t"},{"id":"n","role":"user"}]}`, `a u x r n`, false},
		{activities + `MESSAGES_SNAPSHOT{"messages":[{"id":"n","role":"user"},{"id":"x","role":"user"},{"id":"r","role":"user"},{"id":"u","role":"tool"}]}`, `a u x r n`, false},
		{activities + `MESSAGES_SNAPSHOT{"messages":[{"id":"u","role":"user"}]}`, `a u r`, true},
		{activities + `MESSAGES_SNAPSHOT{"messages":[{"id":"r","role":"user"},{"id":"u","role":"user"}]}`, `a u r`, true},
		{activities + `MESSAGES_SNAPSHOT{"messages":[{"id":"u","role":"user"},{"id":"u","role":"user"},{"id":"x","role":"tool"}]}`, `a u x r`, true},
		{activities + `MESSAGES_SNAPSHOT{"messages":[{"id":"u","role":"user"},{"id":"x","role":"tool"},{"id":"s","role":"reasoning"}]}`, `a u x s`, true},
		{activities + `MESSAGES_SNAPSHOT{"messages":[{"id":"u","role":"user"},{"id":"x","role":"assistant","toolCalls":[{"id":"c"}]}]}`, `a u x r`, true},
		{activities + `TOOL_CALL_RESULT{"messageId":"x","toolCallId":"t","content":"2"}
			MESSAGES_SNAPSHOT{"messages":[{"id":"u","role":"user"},{"id":"x","role":"tool"}]}`, `a u x r x`, true},
	} {
		r := New(Options{})
		if found := apply(t, r, events(test.events)...); found != nil {
			t.Errorf("%s: %v", test.events, found)
		}
		check(t, r)
		var ids []string
		for m := range r.conversation.All {
			ids = append(ids, m.ID())
		}
		if got := strings.Join(ids, " "); got != test.ids {
			t.Errorf("%s: the messages are %s, want %s", test.events, got, test.ids)
		}
		if works := r.merges != freeMerges; works != test.works {
			t.Errorf("%s: the snapshot looks at all messages: %v, want %v", test.events, works, test.works)
		}
	}
}

// The state and all activities share one limit on copying.
func TestPatchesShareBudget(t *testing.T) {
	r := New(Options{})
	apply(t, r,
		`{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"t","content":{"a":1}}`,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"b","activityType":"t","content":null}`)
	patch := `[{"op":"add","path":"/b","value":1}]`
	for _, event := range []string{
		`{"type":"STATE_DELTA","delta":` + patch + `}`,
		`{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"t","patch":` + patch + `}`,
		`{"type":"ACTIVITY_DELTA","messageId":"b","activityType":"t","patch":` + patch + `}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{}}`,
		`{"type":"STATE_DELTA","delta":` + patch + `}`,
	} {
		before := r.patches
		if found := apply(t, r, event); len(found) > 0 {
			t.Errorf("%s: %v", event, found)
		}
		if strings.Contains(event, patch) && r.patches == before {
			t.Errorf("%s does not use the budget", event)
		}
	}
}

// A name in a snapshot is compared with that of a repeated start as a string.
func TestRepeatedName(t *testing.T) {
	for _, c := range []struct {
		name    string
		renamed bool
	}{{`"ab"`, false}, {`"\u0061\u0062"`, false}, {`"abc"`, true}, {`"` + strings.Repeat("a", 100) + `"`, true}, {`7`, true}} {
		r := New(Options{})
		found := apply(t, r,
			`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":`+c.name+`,"arguments":""}}]}]}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"ab"}`)
		if (len(found) > 0) != c.renamed || !strings.Contains(string(r.AppendMessages(nil)), `"name":`) {
			t.Errorf("the name %s: %v", c.name, found)
		}
	}
}

package event_test

import (
	"testing"

	"github.com/p20export/p20export/envelope/event"
)

// The reference client and the specification differ about the unknown values of closed sets
// of strings, and about objects whose type or role is missing or not a string.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"critic"}`, "message_role!client /role"},
		{`{"type":"TEXT_MESSAGE_START","messageId":"m","role":["critic"]}`, "malformed_optional! /role"},
		{`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":"critic"}`, "message_role!client /role"},
		{`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"step","entityId":"a","encryptedValue":"b"}`, "refused!client /subtype"},
		{`{"type":"REASONING_ENCRYPTED_VALUE","subtype":4,"entityId":"a","encryptedValue":"b"}`, "refused! /subtype"},
		{`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"i","status":"later"}]}}`, "malformed_optional!client /input/resume"},
		{`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"i","status":"later"},{"interruptId":5,"status":"resolved"}]}}`, "malformed_optional! /input/resume"},
		// A single value is fixed.
		{`{"type":"REASONING_MESSAGE_START","messageId":"m","role":"user"}`, "refused! /role"},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"","role":"user"}`, "malformed_optional! /role"},
		{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"critic"},{"id":"2","role":7},{"id":"3"}]}`, "unknown_member /messages/0, unknown_member!specification /messages/1, unknown_member!specification /messages/2"},
		{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"smell"},{"type":1},{},{"type":"image","source":{"type":"ftp"}},{"type":"image","source":{"value":"u"}},{"type":"image"}]}`,
			"unknown_member /content/0, unknown_member!specification /content/1, unknown_member!specification /content/2, unknown_member /content/3, unknown_member!specification /content/4, malformed_member! /content/5"},
		{`{"type":"STATE_DELTA","delta":[{"op":"increment","path":"/n"},{"op":null,"path":"/n"},{"path":"/n"}]}`, "unknown_member /delta/0, unknown_member!specification /delta/1, unknown_member!specification /delta/2"},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"paused"}}`, "unknown_member /outcome"},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":true}}`, "malformed_optional!specification /outcome"},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":[{"type":"success"}]}`, "malformed_optional! /outcome"},
		{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"paused"}`, "outcome_string! /outcome, unknown_member /outcome"},
		{`{"type":"SUBAGENT_FINISHED","subagentRunId":"s","outcome":{"type":"paused"}}`, "unknown_member /outcome"},
		{`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[],"state":null}}`, "null_optional!specification /input/state"},
		{`{"type":"META","metaType":"m"}`, "draft_type"},
	} {
		faults, err := event.Check([]byte(c.text), event.V1)
		if got := list(faults); err != nil || got != c.want {
			t.Errorf("%s has the faults %s, want %s: %v", c.text, got, c.want, err)
		}
	}
}

// AG-UI 1.1 added encryptedValueType. It is kept under every version.
func TestEncryptedValueType(t *testing.T) {
	for _, text := range []string{
		`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"a","encryptedValue":"b","encryptedValueType":"vendor.kind"}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[` +
			`{"id":"1","role":"developer","content":"","encryptedValue":"b","encryptedValueType":"vendor.kind"},` +
			`{"id":"2","role":"system","content":"","encryptedValue":"b","encryptedValueType":"vendor.kind"},` +
			`{"id":"3","role":"user","content":"","encryptedValue":"b","encryptedValueType":"vendor.kind"},` +
			`{"id":"4","role":"assistant","encryptedValue":"b","encryptedValueType":"vendor.kind","toolCalls":[{"id":"c","type":"function","function":{"name":"n","arguments":""},"encryptedValue":"b","encryptedValueType":"vendor.kind"}]},` +
			`{"id":"5","role":"tool","content":"","toolCallId":"c","encryptedValue":"b","encryptedValueType":"vendor.kind"},` +
			`{"id":"6","role":"reasoning","content":"","encryptedValue":"b","encryptedValueType":"vendor.kind"}]}`,
	} {
		for _, p := range append(event.Protocols(), event.Auto) {
			e, err := event.Decode([]byte(text), event.Under(p))
			if err != nil {
				t.Fatalf("%s: %v", p, err)
			}
			if got := event.Append(nil, e); !sameJSON(t, got, []byte(text)) {
				t.Errorf("%s: %s is written as\n%s", p, text, got)
			}
			faults, err := event.Check([]byte(text), p)
			old := p == event.V0 || p == event.V1
			if err != nil || (len(faults) > 0) != old {
				t.Errorf("%s has the faults %v under %s: %v", text, faults, p, err)
			}
			for _, f := range faults {
				if f.Tolerance != event.UnknownKey || f.Fatal || f.SpecFatal {
					t.Errorf("%s under %s: %+v", text, p, f)
				}
			}
			if value, ok := e.(*event.ReasoningEncryptedValue); ok && value.EncryptedValueType.Present == old {
				t.Errorf("%s: the type is %v", p, value.EncryptedValueType)
			}
		}
	}
	const wrong = `{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"a","encryptedValue":"b","encryptedValueType":5}`
	for p, want := range map[event.Protocol]string{event.V1: "unknown_key /encryptedValueType", event.V1Minor1: "malformed_optional!specification /encryptedValueType"} {
		if faults, err := event.Check([]byte(wrong), p); err != nil || list(faults) != want {
			t.Errorf("%s: %v, %v", p, list(faults), err)
		}
	}
}

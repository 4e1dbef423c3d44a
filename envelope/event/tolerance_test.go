package event_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/event"
)

// upgrades has, for each tolerance, events and what is written for them. The faults have
// a ! if they are fatal.
var upgrades = []struct {
	text, want string // an empty want is the text itself
	faults     string
}{
	{`{"type":"SURPRISE","b":1,"timestamp":"x"}`, ``, "unknown_type"},
	{`{"type":"RUN_ERROR","message":"no","runId":"r","messageText":null}`, ``, "unknown_key /runId, unknown_key /messageText"},
	{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"robot","content":5},{"id":"2","role":"user","content":[{"type":"smell","x":1},{"type":"image","source":{"type":"tape","value":1},"metadata":null}]}]}`, ``,
		"unknown_member /messages/0, unknown_member /messages/1/content/0, unknown_member /messages/1/content/1"},
	{`{"type":"STATE_DELTA","delta":[{"op":"merge","path":1},{"path":"/a"}]}`, ``, "unknown_member /delta/0, unknown_member!specification /delta/1"},
	{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"paused","until":1}}`, ``, "unknown_member /outcome, unknown_key /outcome/until"},
	{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":""}}`, ``, "unknown_member /outcome"},
	{`{"type":"SUBAGENT_FINISHED","subagentRunId":"s","outcome":{"type":"cancelled"}}`, ``, "unknown_member /outcome"},
	{`{"type":"THINKING_START","title":"Hm"}`, ``, "retired_type"},
	{`{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"a","rawEvent":null}`, `{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"a"}`, "retired_type, null_optional /rawEvent"},
	{`{"type":"META","metaType":"thumbs_up","payload":{},"id":"m1","ts":1}`, ``, "draft_type, unknown_key /id, unknown_key /ts"},
	{`{"type":"STATE_DELTA","patch":{"op":"add","path":"/foo","value":1}}`, `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/foo","value":1}]}`, "draft_name! /patch, single_operation! /patch"},
	{`{"type":"STATE_SNAPSHOT","state":{"foo":2}}`, `{"type":"STATE_SNAPSHOT","snapshot":{"foo":2}}`, "draft_name! /state"},
	{`{"type":"ACTIVITY_DELTA","messageId":"m","activityType":"PLAN","delta":[]}`, `{"type":"ACTIVITY_DELTA","messageId":"m","activityType":"PLAN","patch":[]}`, "draft_name! /delta"},
	{`{"type":"TEXT_MESSAGE_CONTENT","message_id":"m","delta":"a","raw_event":1}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a","raw_event":1}`, "snake_case_name! /message_id, unknown_key /raw_event"},
	{`{"type":"META","meta_type":"tag","payload":{}}`, `{"type":"META","metaType":"tag","payload":{}}`, "draft_type, snake_case_name /meta_type"},
	{`{"type":"THINKING_START","title":null,"metadata":null}`, `{"type":"THINKING_START"}`, "retired_type, null_optional! /metadata, null_optional /title"},
	{`{"type":"META","timestamp":"x","payload":1}`, ``, "draft_type"},
	{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null,"outcome":null,"usage":null,"timestamp":null,"metadata":null,"rawEvent":null}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`,
		"null_optional! /timestamp, null_optional /rawEvent, null_optional! /metadata, null_optional /result, null_optional /outcome, null_optional! /usage"},
	{`{"type":"SUBAGENT_FINISHED","subagentRunId":"s","result":null,"outcome":null}`, `{"type":"SUBAGENT_FINISHED","subagentRunId":"s"}`, "null_optional /result, null_optional! /outcome"},
	{`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":null,"subagentRunId":null}`, `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}`, "null_optional! /subagentRunId, null_optional /parentMessageId"},
	{`{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n","parentMessageId":null}`, `{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}`, "null_optional! /parentMessageId"},
	{`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"image","source":{"type":"url","value":"u"},"metadata":null}]}`, `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":[{"type":"image","source":{"type":"url","value":"u"}}]}`, "null_optional! /content/0/metadata"},
	{`{"type":"RUN_STARTED","threadId":"t","runId":"r","parentRunId":null,"input":{"threadId":"t","runId":"r","state":null,"messages":[{"id":"1","role":"assistant","content":null},{"id":"2","role":"user","content":[{"type":"audio","source":{"type":"file","value":"f"},"metadata":null},{"type":"text","text":"","metadata":null}]}],"forwardedProps":null,"tools":[{"name":"f","description":"","parameters":null}],"resume":[{"interruptId":"i","status":"resolved","payload":null}]}}`,
		`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","state":null,"messages":[{"id":"1","role":"assistant"},{"id":"2","role":"user","content":[{"type":"audio","source":{"type":"file","value":"f"}},{"type":"text","text":""}]}],"tools":[{"name":"f","description":""}],"resume":[{"interruptId":"i","status":"resolved"}]}}`,
		"null_optional! /parentRunId, null_optional! /input/messages/0/content, null_optional /input/messages/1/content/0/metadata, null_optional! /input/messages/1/content/1/metadata, null_optional /input/tools/0/parameters, null_optional /input/forwardedProps, null_optional /input/resume/0/payload"},
	{`{"type":"STATE_SNAPSHOT"}`, `{"type":"STATE_SNAPSHOT","snapshot":null}`, "missing_payload! /snapshot"},
	{`{"type":"RAW","source":"s"}`, `{"type":"RAW","event":null,"source":"s"}`, "missing_payload! /event"},
	{`{"type":"CUSTOM","name":"n"}`, `{"type":"CUSTOM","name":"n","value":null}`, "missing_payload! /value"},
	{`{"type":"REASONING_MESSAGE_START","messageId":"m"}`, `{"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}`, "missing_constant! /role"},
	{`{"type":"REASONING_MESSAGE_START","messageId":"m","role":"assistant"}`, `{"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}`, "reasoning_role! /role"},
	{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"assistant","toolCalls":[{"id":"c","function":{"name":"f","arguments":"{"}}]}]}`, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{"}}]}]}`,
		"missing_constant! /messages/0/toolCalls/0/type"},
	{`{"type":"RUN_STARTED","runId":"run2","input":{"messages":["Tell me about Paris",{"id":"m","role":"user","content":""}]}}`,
		`{"type":"RUN_STARTED","threadId":"","runId":"run2","input":{"threadId":"","runId":"run2","messages":[{"id":"run2-message-0","role":"user","content":"Tell me about Paris"},{"id":"m","role":"user","content":""}]}}`,
		"missing_thread! /threadId, partial_input! /input/threadId, partial_input! /input/runId, string_message! /input/messages/0"},
	{`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"resume":{"interruptId":"i","payload":{"approved":true}}}}`,
		`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[],"resume":[{"interruptId":"i","status":"resolved","payload":{"approved":true}}]}}`,
		"partial_input! /input/threadId, partial_input! /input/runId, partial_input! /input/messages, single_resume! /input/resume"},
	{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"success"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}`, "outcome_string! /outcome"},
	{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"interrupt","interrupt":{"id":"i","payload":{"functionName":"rm","functionArguments":{"path":"/"}}}}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"function_approval","metadata":{"payload":{"functionName":"rm","functionArguments":{"path":"/"}}}}]}}`, "outcome_string! /outcome"},
	{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"interrupt","interrupt":{"id":"i","payload":{"prompt":"Key?","inputType":"password"}}}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"user_input","metadata":{"payload":{"prompt":"Key?","inputType":"password"}}}]}}`, "outcome_string! /outcome"},
	{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"interrupt","interrupt":{"reason":"x","id":"i"}}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"interrupt","metadata":{"reason":"x"}}]}}`, "outcome_string! /outcome, unknown_key /interrupt/reason"},
	{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"interrupt"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[]}}`, "outcome_string! /outcome, empty_interrupts! /outcome"},
	{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"failed"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"failed"}}`, "outcome_string! /outcome, unknown_member /outcome"},
	{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[]}}`, ``, "empty_interrupts! /outcome/interrupts"},
	{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt"}}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[]}}`, "empty_interrupts! /outcome/interrupts"},
	{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"why":1}}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`, "malformed_optional!specification /outcome"},
	{`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"tool"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`, "message_role!client /role"},
	{`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","role":""}`, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}`, "message_role!client /role"},
	{`{"type":"TEXT_MESSAGE_START","messageId":"m","role":5}`, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`, "malformed_optional! /role"},
	{`{"type":"THINKING_TEXT_MESSAGE_START","subagentRunId":"s"}`, ``, "retired_type"},
	{`{"type":"THINKING_TEXT_MESSAGE_START","subagentRunId":null}`, `{"type":"THINKING_TEXT_MESSAGE_START"}`, "retired_type, null_optional! /subagentRunId"},
	{`{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"a","subagentRunId":5}`, `{"type":"THINKING_TEXT_MESSAGE_CONTENT","delta":"a"}`, "retired_type, malformed_optional! /subagentRunId"},
	{`{"type":"THINKING_TEXT_MESSAGE_END","subagentRunId":{}}`, `{"type":"THINKING_TEXT_MESSAGE_END"}`, "retired_type, malformed_optional! /subagentRunId"},
	{`{"type":"THINKING_START","subagentRunId":null}`, `{"type":"THINKING_START"}`, "retired_type, null_optional! /subagentRunId"},
	{`{"type":"THINKING_END","subagentRunId":null}`, `{"type":"THINKING_END"}`, "retired_type, null_optional! /subagentRunId"},
	{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"binary","mimeType":"image/png","data":"aa","url":"u","filename":"f.png"},{"type":"binary","mimeType":"application/pdf","url":"u","data":""},{"type":"binary","mimeType":"audio/ogg","id":"x"},{"type":"binary","mimeType":"audio/ogg"}]}]}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"image","source":{"type":"data","value":"aa","mimeType":"image/png"},"metadata":{"filename":"f.png"}},{"type":"document","source":{"type":"url","value":"u","mimeType":"application/pdf"}},{"type":"binary","mimeType":"audio/ogg","id":"x"},{"type":"binary","mimeType":"audio/ogg"}]}]}`,
		"binary_part /messages/0/content/0, binary_part /messages/0/content/1, binary_part /messages/0/content/2, malformed_member /messages/0/content/3"},
	{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"binary","mimeType":"image/png","data":"aa","filename":"f"},{"type":"image","source":{"type":"data","value":"aa","mimeType":"image/png"},"metadata":{"filename":"f"}},{"type":"binary","mimeType":"image/png","data":"aa","filename":"g"},{"type":"binary","mimeType":"image/png","data":"aa"}]}]}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":[{"type":"image","source":{"type":"data","value":"aa","mimeType":"image/png"},"metadata":{"filename":"f"}},{"type":"image","source":{"type":"data","value":"aa","mimeType":"image/png"},"metadata":{"filename":"g"}}]}]}`,
		"binary_part /messages/0/content/0, binary_part /messages/0/content/2, binary_part /messages/0/content/3"},
	{`{"type":"ACTIVITY_SNAPSHOT","messageId":"m","activityType":"PLAN","content":["a"]}`, ``, "activity_content! /content"},
	{`{"type":"RUN_ERROR","message":"","timestamp":-1.5}`, `{"type":"RUN_ERROR","message":"","timestamp":-2}`, "fractional_timestamp! /timestamp"},
	{`{"type":"RUN_ERROR","message":"","timestamp":1716400000123.75}`, `{"type":"RUN_ERROR","message":"","timestamp":1716400000123}`, "fractional_timestamp! /timestamp"},
	{`{"type":"STATE_DELTA","delta":[{"op":"move","path":"a","from":"/~2"}]}`, ``, "patch_pointer! /delta/0/path, patch_pointer! /delta/0/from"},
	{`{"type":"RUN_ERROR","message":"","timestamp":"1","code":5,"metadata":[],"usage":[{"inputTokens":-1,"model":"m"},{}],"rawEvent":0}`, `{"type":"RUN_ERROR","message":"","usage":[{"model":"m"},{}],"rawEvent":0}`,
		"malformed_optional! /timestamp, malformed_optional! /metadata, malformed_optional! /code, malformed_optional! /usage/0/inputTokens"},
	{`{"type":"RUN_ERROR","message":"","timestamp":9007199254740992}`, `{"type":"RUN_ERROR","message":""}`, "malformed_optional! /timestamp"},
	{`{"type":"STATE_DELTA","delta":[5,{"op":"add","path":"/a"},{"op":"copy","path":"/a"}]}`, ``, "malformed_member! /delta/0, malformed_member! /delta/1, malformed_member! /delta/2"},
	{`{"type":"MESSAGES_SNAPSHOT","messages":["hi",{"role":"user","content":"no id"},{"id":"2","role":"user","content":["part",{"type":"text"}]}]}`, ``,
		"malformed_member! /messages/0, malformed_member! /messages/1, malformed_member! /messages/2/content/0, malformed_member! /messages/2/content/1"},
}

func TestTolerances(t *testing.T) {
	met := map[event.Tolerance]bool{}
	for _, c := range upgrades {
		if c.want == "" {
			c.want = c.text
		}
		laws(t, []byte(c.text))
		var faults []event.Fault
		e, err := event.Decode([]byte(c.text), event.Tolerant(&faults))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		for _, f := range faults {
			met[f.Tolerance] = true
			if !strings.HasPrefix(f.Message, string(f.Pointer)+" ") && !strings.HasPrefix(f.Message, "the event ") && !strings.HasPrefix(string(f.Tolerance), "malformed") {
				t.Errorf("%s: %s has the message %q", c.text, f.Tolerance, f.Message)
			}
			if f.Offset < 0 || f.Offset >= len(c.text) {
				t.Errorf("%s: %s has the offset %d", c.text, f.Tolerance, f.Offset)
			}
		}
		if diff := cmp.Diff(c.faults, list(faults)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.text, diff)
		}
		if got := event.Append(nil, e); !sameJSON(t, got, []byte(c.want)) {
			t.Errorf("%s is written as\n%s, want\n%s", c.text, got, c.want)
		}
	}
	for _, info := range event.Tolerances() {
		if !met[info.Tolerance] {
			t.Errorf("%s is not tested", info.Tolerance)
		}
		delete(met, info.Tolerance)
	}
	if len(met) > 0 {
		t.Errorf("not described: %v", met)
	}
}

// list returns the faults as one line. An exclamation mark says who ends the run: the
// reference client, the specification, or both.
func list(faults []event.Fault) string {
	var all []string
	for _, f := range faults {
		name := string(f.Tolerance)
		if name == "" {
			name = "refused"
		}
		switch {
		case f.Fatal && f.SpecFatal:
			name += "!"
		case f.Fatal:
			name += "!client"
		case f.SpecFatal:
			name += "!specification"
		}
		all = append(all, strings.TrimSpace(name+" "+string(f.Pointer)))
	}
	return strings.Join(all, ", ")
}

// TestRefusals has events that no decode accepts, with the error of a strict decode.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ text, strict, tolerant string }{
		{``, `json_syntax: the text is empty`, ``},
		{`{"type":"RUN_ERROR","message":"a","message":"b"}`, `json_duplicate_key: the key "message" appears twice in one object`, ``},
		{`{"type":"RUN_ERROR","message":"a","metadata":{"a":1,"\u0061":2}}`, `json_duplicate_key: the key "a" appears twice in one object`, ``},
		{"{\"type\":\"RUN_ERROR\",\"message\":\"\xff\"}", `json_invalid_utf8: byte 0xff is not UTF-8`, ``},
		{`[]`, `event_not_object: the event is an array where an object belongs`, ``},
		{`{}`, `event_type_missing: the event has no type`, ``},
		{`{"type":""}`, `event_type_missing: the type of the event must be a string that is not empty`, ``},
		{`{"type":"\ud800"}`, `event_type_missing: the type of the event must be a string that is not empty`, ``},
		{`{"type":"RUN_ERROR"}`, `RUN_ERROR: /message is missing at byte 0`, ``},
		{`{"type":"RUN_ERROR","metadata":null}`, `RUN_ERROR: /message is missing at byte 0, and 1 more`, ``},
		{`{"type":"RUN_ERROR","message":null}`, `RUN_ERROR: /message is null where a string belongs at byte 30`, ``},
		{` {"type":"RUN_ERROR","code":7}`, `RUN_ERROR: /message is missing at byte 1, and 1 more`, `RUN_ERROR: /message is missing at byte 1, and 1 more`},
		{`{"type":"TEXT_MESSAGE_START","messageId":1,"role":"tool"}`, `TEXT_MESSAGE_START: /messageId is a number where a string belongs at byte 41, and 1 more`, ``},
		{`{"type":"MESSAGES_SNAPSHOT","messages":{}}`, `MESSAGES_SNAPSHOT: /messages is an object where an array belongs at byte 39`, ``},
		{`{"type":"MESSAGES_SNAPSHOT"}`, `MESSAGES_SNAPSHOT: /messages is missing at byte 0`, ``},
		{`{"type":"STATE_DELTA","delta":"no"}`, `STATE_DELTA: /delta is a string where an array belongs at byte 30`, ``},
		{`{"type":"REASONING_MESSAGE_START","messageId":"m","role":"user"}`, `REASONING_MESSAGE_START: /role is "user" and must be reasoning at byte 57`, ``},
		{`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"part","entityId":"","encryptedValue":""}`, `REASONING_ENCRYPTED_VALUE: /subtype is "part" and must be tool-call or message at byte 46`, ``},
	} {
		if c.tolerant == "" {
			c.tolerant = c.strict
		}
		e, err := event.Decode([]byte(c.text))
		if err == nil || e != nil || err.Error() != c.strict {
			t.Errorf("%s: %v, want %s", c.text, err, c.strict)
		}
		var faults []event.Fault
		e, err = event.Decode([]byte(c.text), event.Tolerant(&faults))
		if err == nil || e != nil || faults != nil || err.Error() != c.tolerant {
			t.Errorf("%s: %v (tolerant), want %s", c.text, err, c.tolerant)
		}
		laws(t, []byte(c.text))
	}
}

// TestStrict checks that a strict decode refuses whatever a tolerant one changes.
func TestStrict(t *testing.T) {
	for _, c := range upgrades {
		_, err := event.Decode([]byte(c.text))
		only := strings.Contains(c.faults, "unknown_") && !strings.Contains(strings.NewReplacer("unknown_type", "", "unknown_key", "").Replace(c.faults), "_")
		if (err == nil) != (only && !strings.Contains(c.text, "META")) {
			t.Errorf("%s has the faults %s: %v", c.text, c.faults, err)
		}
	}
}

package compact

import (
	"testing"

	"github.com/p20export/p20export/finding"
)

// TestSnapshotEnds compacts runs that end in different ways.
func TestSnapshotEnds(t *testing.T) {
	for _, test := range []snapshotCase{
		{
			name: "an interrupt and its answer",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"threadId":"t","runId":"1","messages":[{"id":"u","role":"user","content":"delete it"}]}}
				{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"delete"}
				{"type":"TOOL_CALL_END","toolCallId":"c"}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"approval","toolCallId":"c"}]}}
				{"type":"RUN_STARTED","threadId":"t","runId":"2","input":{"threadId":"t","runId":"2","messages":[{"role":"user","id":"u","content":"delete it"},{"id":"c","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"delete","arguments":""}}]}],"resume":[{"interruptId":"i","status":"resolved","payload":{"approved":true}}]}}
				{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"c","content":"deleted"}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2","outcome":{"type":"success"}}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"threadId":"t","runId":"1","messages":[{"id":"u","role":"user","content":"delete it"}]}}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"delete it"},{"id":"c","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"delete","arguments":""}}]}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"approval","toolCallId":"c"}]}}
				{"type":"RUN_STARTED","threadId":"t","runId":"2","input":{"threadId":"t","runId":"2","messages":[],"resume":[{"interruptId":"i","status":"resolved","payload":{"approved":true}}]}}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"delete it"},{"id":"c","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"delete","arguments":""}}]},{"id":"r","toolCallId":"c","role":"tool","content":"deleted"}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2","outcome":{"type":"success"}}`,
		},
		{
			name: "an error while a message and a chunk are open",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"TEXT_MESSAGE_START","messageId":"a"}
				{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"par"}
				{"type":"REASONING_MESSAGE_CHUNK","messageId":"b","delta":"tial"}
				{"type":"RUN_ERROR","message":"broken","code":"x"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2"}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","content":"par"},{"id":"b","role":"reasoning","content":"tial"}]}
				{"type":"RUN_ERROR","message":"broken","code":"x"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2"}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","content":"par"},{"id":"b","role":"reasoning","content":"tial"}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}`,
		},
		{
			name:   "an error alone",
			events: `{"type":"RUN_ERROR","message":"refused"}`,
			want:   `{"type":"RUN_ERROR","message":"refused"}`,
		},
		{
			name: "no terminal events",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"1"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2"}
				{"type":"TEXT_MESSAGE_CHUNK","messageId":"b","delta":"2"}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","content":"1"}]}
				{"type":"RUN_STARTED","threadId":"t","runId":"2"}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","content":"1"},{"id":"b","role":"assistant","content":"2"}]}`,
		},
		{
			name: "events around runs",
			events: `
				{"type":"META","metaType":"m","payload":{}}
				{"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"1"}
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}
				{"type":"CUSTOM","name":"n","value":1}
				{"type":"TEXT_MESSAGE_CHUNK","messageId":"b","delta":"2"}
				{"type":"RUN_ERROR","message":"late"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2","parentRunId":"1"}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}`,
			want: `
				{"type":"META","metaType":"m","payload":{}}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","content":"1"}]}
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","content":"1"}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}
				{"type":"CUSTOM","name":"n","value":1}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","content":"1"},{"id":"b","role":"assistant","content":"2"}]}
				{"type":"RUN_ERROR","message":"late"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2","parentRunId":"1"}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","content":"1"},{"id":"b","role":"assistant","content":"2"}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}`,
		},
		{
			name: "pending tool calls",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"TOOL_CALL_CHUNK","toolCallId":"a","toolCallName":"f"}
				{"type":"TOOL_CALL_CHUNK","toolCallId":"b\"","toolCallName":"f"}
				{"type":"TOOL_CALL_RESULT","messageId":"r","toolCallId":"a","content":""}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1", "result":{} }
				{"type":"RUN_STARTED","threadId":"t","runId":"2"}
				{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f"}
				{"type":"RUN_FINISHED","outcome":{"type":"success","pendingToolCallIds": [ ]},"threadId":"t","runId":"2"}
				{"type":"RUN_STARTED","threadId":"t","runId":"3"}
				{"type":"TOOL_CALL_CHUNK","toolCallId":"d","toolCallName":"f"}
				{"type":"RUN_FINISHED","outcome":null,"threadId":"t","runId":"3"}
				{"type":"RUN_STARTED","threadId":"t","runId":"4"}
				{"type":"TOOL_CALL_CHUNK","toolCallId":"e","toolCallName":"f"}
				{"type":"RUN_FINISHED","outcome":{"type":"success","pendingToolCallIds":["x"]},"threadId":"t","runId":"4"}
				{"type":"RUN_STARTED","threadId":"t","runId":"5"}
				{"type":"TOOL_CALL_CHUNK","toolCallId":"g","toolCallName":"f"}
				{"type":"RUN_FINISHED","outcome":{"type":"cancelled"},"threadId":"t","runId":"5"}
				{"type":"MESSAGES_SNAPSHOT","messages":[]}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"MESSAGES_SNAPSHOT","messages":[` + calling("a") + `,{"id":"r","toolCallId":"a","role":"tool","content":""},` + calling(`b\"`) + `]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1", "result":{} ,"outcome":{"type":"success","pendingToolCallIds":["b\""]}}
				{"type":"RUN_STARTED","threadId":"t","runId":"2"}
				{"type":"MESSAGES_SNAPSHOT","messages":[` + calling("a") + `,{"id":"r","toolCallId":"a","role":"tool","content":""},` + calling(`b\"`) + `,` + calling("c") + `]}
				{"type":"RUN_FINISHED","outcome":{"type":"success","pendingToolCallIds": ["c"]},"threadId":"t","runId":"2"}
				{"type":"RUN_STARTED","threadId":"t","runId":"3"}
				{"type":"MESSAGES_SNAPSHOT","messages":[` + calling("a") + `,{"id":"r","toolCallId":"a","role":"tool","content":""},` + calling(`b\"`) + `,` + calling("c") + `,` + calling("d") + `]}
				{"type":"RUN_FINISHED","outcome":{"type":"success","pendingToolCallIds":["d"]},"threadId":"t","runId":"3"}
				{"type":"RUN_STARTED","threadId":"t","runId":"4"}
				{"type":"MESSAGES_SNAPSHOT","messages":[` + calling("a") + `,{"id":"r","toolCallId":"a","role":"tool","content":""},` + calling(`b\"`) + `,` + calling("c") + `,` + calling("d") + `,` + calling("e") + `]}
				{"type":"RUN_FINISHED","outcome":{"type":"success","pendingToolCallIds":["x"]},"threadId":"t","runId":"4"}
				{"type":"RUN_STARTED","threadId":"t","runId":"5"}
				{"type":"MESSAGES_SNAPSHOT","messages":[` + calling("a") + `,{"id":"r","toolCallId":"a","role":"tool","content":""},` + calling(`b\"`) + `,` + calling("c") + `,` + calling("d") + `,` + calling("e") + `,` + calling("g") + `]}
				{"type":"RUN_FINISHED","outcome":{"type":"cancelled"},"threadId":"t","runId":"5"}
				{"type":"MESSAGES_SNAPSHOT","messages":[]}`,
			codes: []finding.Code{finding.EventAltered}, // the outcome null
		},
	} {
		t.Run(test.name, test.check)
	}
}

// calling is an assistant message with a tool call.
func calling(id string) string {
	return `{"id":"` + id + `","role":"assistant","toolCalls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":""}}]}`
}

// TestSnapshotPlaces compacts runs after which a snapshot alone would leave other messages
// in a client that plays them all.
func TestSnapshotPlaces(t *testing.T) {
	const run1 = `
		{"type":"RUN_STARTED","threadId":"t","runId":"1"}
		{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]},{"id":"b","role":"assistant","content":"wait"},{"id":"r","role":"reasoning","content":"hm"},{"id":"p","role":"activity","activityType":"PLAN","content":{}}]}
		{"type":"RUN_ERROR","message":""}
		{"type":"RUN_STARTED","threadId":"t","runId":"2"}`
	const end = `
		{"type":"RUN_ERROR","message":""}`
	for _, test := range []snapshotCase{
		{
			name: "a result between older messages",
			events: run1 + `
				{"type":"TOOL_CALL_RESULT","messageId":"t1","toolCallId":"c","content":"x","timestamp":1}
				{"type":"TEXT_MESSAGE_CHUNK","messageId":"z","delta":"done"}
				{"type":"CUSTOM","name":"n","value":1}` + end,
			want: run1 + `
				{"type":"CUSTOM","name":"n","value":1}
				{"type":"TOOL_CALL_RESULT","messageId":"t1","toolCallId":"c","content":"x","timestamp":1}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]},{"id":"t1","toolCallId":"c","role":"tool","content":"x"},{"id":"b","role":"assistant","content":"wait"},{"id":"r","role":"reasoning","content":"hm"},{"id":"p","role":"activity","activityType":"PLAN","content":{}},{"id":"z","role":"assistant","content":"done"}]}` + end,
		},
		{
			name: "a result of a call that the run adds to an older message",
			events: run1 + `
				{"type":"TOOL_CALL_CHUNK","toolCallId":"d","toolCallName":"g","parentMessageId":"b"}
				{"type":"TOOL_CALL_RESULT","messageId":"t2","toolCallId":"d","content":"y"}` + end,
			want: run1 + `
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]},{"id":"b","role":"assistant","content":"wait","toolCalls":[{"id":"d","type":"function","function":{"name":"g","arguments":""}}]},{"id":"r","role":"reasoning","content":"hm"},{"id":"p","role":"activity","activityType":"PLAN","content":{}}]}
				{"type":"TOOL_CALL_RESULT","messageId":"t2","toolCallId":"d","content":"y"}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]},{"id":"b","role":"assistant","content":"wait","toolCalls":[{"id":"d","type":"function","function":{"name":"g","arguments":""}}]},{"id":"t2","toolCallId":"d","role":"tool","content":"y"},{"id":"r","role":"reasoning","content":"hm"},{"id":"p","role":"activity","activityType":"PLAN","content":{}}]}` + end,
		},
		{
			name: "a message that is removed and added again",
			events: run1 + `
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"b","role":"assistant","content":"wait"},{"id":"r","role":"reasoning","content":"hm"}]}
				{"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"again"}` + end,
			want: run1 + `
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"b","role":"assistant","content":"wait"},{"id":"r","role":"reasoning","content":"hm"},{"id":"p","role":"activity","activityType":"PLAN","content":{}}]}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"b","role":"assistant","content":"wait"},{"id":"r","role":"reasoning","content":"hm"},{"id":"p","role":"activity","activityType":"PLAN","content":{}},{"id":"a","role":"assistant","content":"again"}]}` + end,
		},
		{
			name: "activities that are removed",
			events: run1 + `
				{"type":"MESSAGES_SNAPSHOT","messages":[],"metadata":{"x":1,"@ag-ui/client":{"y":2,"authoritativeActivityTypes":["PLAN"]}}}` + end,
			want: run1 + `
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"r","role":"reasoning","content":"hm"}],"metadata":{"x":1,"@ag-ui/client":{"y":2,"authoritativeActivityTypes":null}}}` + end,
		},
		{
			name: "what metadata says about activities that stay",
			events: run1 + `
				{"type":"MESSAGES_SNAPSHOT","messages":[],"metadata":{"x":1}}
				{"type":"MESSAGES_SNAPSHOT","messages":[],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":[]}}}` + end,
			want: run1 + `
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"r","role":"reasoning","content":"hm"},{"id":"p","role":"activity","activityType":"PLAN","content":{}}],"metadata":{"x":1}}` + end,
		},
		{
			// An exception: the reducer has p, b, r, a. But no snapshot removes the only
			// reasoning and then adds it behind other messages.
			name: "reasoning that is removed and added again",
			events: run1 + `
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"r","role":"user","content":""}]}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"b","role":"user","content":"wait"}]}
				{"type":"REASONING_MESSAGE_CHUNK","messageId":"r","delta":"hm"}
				{"type":"TEXT_MESSAGE_CHUNK","messageId":"a","delta":"again"}` + end,
			want: run1 + `
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"r","role":"reasoning","content":"hm"},{"id":"p","role":"activity","activityType":"PLAN","content":{}}]}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"r","role":"reasoning","content":"hm"},{"id":"p","role":"activity","activityType":"PLAN","content":{}},{"id":"b","role":"user","content":"wait"},{"id":"a","role":"assistant","content":"again"}]}` + end,
		},
	} {
		t.Run(test.name, test.check)
	}
}

// TestSnapshotState compacts state events.
func TestSnapshotState(t *testing.T) {
	for _, test := range []snapshotCase{
		{
			name: "the state of an input, deltas and snapshots",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"state":{"a":1}}}
				{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a","value":1}],"metadata":{"x":1}}
				{"type":"CUSTOM","name":"n","value":1}
				{"type":"STATE_DELTA","delta":[{"op":"add","path":"/b","value":2}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2"}
				{"type":"STATE_DELTA","delta":[{"op":"add","path":"/c","value":1}],"metadata":{"x":1}}
				{"type":"STATE_SNAPSHOT","snapshot":{"d":9007199254740993},"metadata":{"y":1},"timestamp":5}
				{"type":"STATE_DELTA","delta":[{"op":"add","path":"/e","value":2}]}
				{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/f","value":2}],"metadata":{"x":2}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}
				{"type":"RUN_STARTED","threadId":"t","runId":"3"}
				{"type":"RUN_FINISHED","threadId":"t","runId":"3"}
				{"type":"RUN_STARTED","threadId":"t","runId":"4"}
				{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/e"}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"4"}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"state":{"a":1}}}
				{"type":"CUSTOM","name":"n","value":1}
				{"type":"STATE_SNAPSHOT","snapshot":{"a":1,"b":2},"metadata":{"x":1}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2"}
				{"type":"STATE_SNAPSHOT","snapshot":{"d":9007199254740993,"e":2},"metadata":{"x":2,"y":1}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}
				{"type":"RUN_STARTED","threadId":"t","runId":"3"}
				{"type":"RUN_FINISHED","threadId":"t","runId":"3"}
				{"type":"RUN_STARTED","threadId":"t","runId":"4"}
				{"type":"STATE_SNAPSHOT","snapshot":{"d":9007199254740993}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"4"}`,
			codes: []finding.Code{finding.PatchFailed},
		},
		{
			name: "a delta that does not apply to the empty state",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/a","value":1}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"STATE_SNAPSHOT","snapshot":{}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}`,
			codes: []finding.Code{finding.PatchFailed},
		},
		{
			name: "the state of an input that does not change",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"state":{"a":1}}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2","input":{"state":{"b":1}}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}
				{"type":"RUN_STARTED","threadId":"other","runId":"3","input":{"state":{"c":1}}}
				{"type":"RUN_FINISHED","threadId":"other","runId":"3"}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"state":{"a":1}}}
				{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2","input":{"state":{"b":1}}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}
				{"type":"RUN_STARTED","threadId":"other","runId":"3","input":{"state":{"c":1}}}
				{"type":"STATE_SNAPSHOT","snapshot":{"c":1}}
				{"type":"RUN_FINISHED","threadId":"other","runId":"3"}`,
		},
		{
			name: "a state of null",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"STATE_SNAPSHOT","snapshot":null}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"STATE_SNAPSHOT","snapshot":null}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}`,
		},
	} {
		t.Run(test.name, test.check)
	}
}

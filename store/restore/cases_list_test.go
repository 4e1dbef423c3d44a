package restore_test

import "github.com/p20export/p20export/store/restore"

type testCase struct {
	name   string
	input  restore.Input
	script string
	want   []want
}

// cases returns the cases of TestCases.
func cases() []testCase {
	return []testCase{{
		name: "a run without parentRunId continues the run before it",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			a RUN_FINISHED{"threadId":"t","runId":"r1"}
			b RUN_STARTED{"threadId":"t","runId":"r2"}
			b TEXT_MESSAGE_CHUNK{"messageId":"m2","delta":"two"}
			b RUN_FINISHED{"threadId":"t","runId":"r2"}`,
		want: []want{
			{run: "1", messages: "m1:one", used: "r1"},
			{run: "2", messages: "m1:one m2:two", used: "r1 r2"},
			{position: 1},
			{position: 2, messages: "m1:one"},
			{position: 4, messages: "m1:one", used: "r1 r2"},
		},
	}, {
		name: "branches, and requests that only have the new message",
		script: `
			a input {"runId":"r1","messages":[{"id":"u1","role":"user","content":"hi"}],"state":{"n":1}}
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			a RUN_FINISHED{"threadId":"t","runId":"r1"}
			b input {"runId":"r2","parentRunId":"r1","messages":[{"id":"u2","role":"user","content":"more"}]}
			b RUN_STARTED{"threadId":"t","runId":"r2","parentRunId":"r1"}
			b TEXT_MESSAGE_CHUNK{"messageId":"m2","delta":"two"}
			b STATE_DELTA{"delta":[{"op":"replace","path":"/n","value":2}]}
			b RUN_FINISHED{"threadId":"t","runId":"r2"}
			c input {"runId":"r3","parentRunId":"r1","messages":[{"id":"u1","role":"user","content":"edited"},{"id":"u3","role":"user","content":"else"}],"state":{"n":9}}
			c RUN_STARTED{"threadId":"t","runId":"r3","parentRunId":"r1"}
			c TEXT_MESSAGE_CHUNK{"messageId":"m3","delta":"three"}
			c RUN_FINISHED{"threadId":"t","runId":"r3"}`,
		want: []want{
			{run: "1", messages: "u1:hi m1:one", state: `{"n":1}`, used: "r1"},
			{run: "2", messages: "u1:hi m1:one u2:more m2:two", state: `{"n":2}`, used: "r1 r2"},
			{run: "3", messages: "u1:hi m1:one u3:else m3:three", state: `{"n":9}`, used: "r1 r3"},
			{position: 5, messages: "u1:hi m1:one u2:more", state: `{"n":1}`},
			{position: 10, messages: "u1:hi m1:one u3:else", state: `{"n":9}`, used: "r1 r3"},
		},
	}, {
		name: "a request without parentRunId has the whole conversation but activities, also if it was edited",
		script: `
			a input {"messages":[{"id":"u1","role":"user","content":"hi"}],"state":{"n":1}}
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			a ACTIVITY_SNAPSHOT{"messageId":"p","activityType":"PLAN","content":{}}
			a RUN_FINISHED{"threadId":"t","runId":"r1"}
			b input {"messages":[{"id":"u1","role":"user","content":"hi"},{"id":"m1","role":"assistant","content":"one"},{"id":"u2","role":"user","content":"more"}],"state":null}
			b RUN_STARTED{"threadId":"t","runId":"r2"}
			b RUN_FINISHED{"threadId":"t","runId":"r2"}
			c input {"messages":[{"id":"u1","role":"user","content":"edited"}]}
			c RUN_STARTED{"threadId":"t","runId":"r3"}
			c RUN_FINISHED{"threadId":"t","runId":"r3"}`,
		want: []want{
			{run: "1", messages: "u1:hi m1:one p:{}", state: `{"n":1}`},
			{run: "2", messages: "u1:hi m1:one p:{} u2:more", used: "r2"},
			{run: "3", messages: "u1:edited", used: "r3", codes: "input_omits_history"},
			{position: 9, messages: "u1:edited", used: "r3", codes: "input_omits_history"},
		},
	}, {
		name: "activities stay right behind the message that they follow, and where it is not known behind the request",
		script: `
			a input {"messages":[{"id":"u1","role":"user","content":"hi"}]}
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a ACTIVITY_SNAPSHOT{"messageId":"p1","activityType":"PLAN","content":{}}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			b input {"messages":[{"id":"u1","role":"user","content":"hi"},{"id":"m1","role":"assistant","content":"one"},{"id":"u2","role":"user","content":"more"}]}
			b RUN_STARTED{"threadId":"t","runId":"r2"}
			b ACTIVITY_SNAPSHOT{"messageId":"p2","activityType":"PLAN","content":{"n":1}}
			c input {"messages":[{"id":"u1","role":"user","content":"hi"},{"id":"m1","role":"assistant","content":"one"},{"id":"u2","role":"user","content":"more"}]}
			c RUN_STARTED{"threadId":"t","runId":"r3"}
			c ACTIVITY_DELTA{"messageId":"p2","activityType":"PLAN","patch":[{"op":"replace","path":"/n","value":2}]}
			c ACTIVITY_SNAPSHOT{"messageId":"p3","activityType":"PLAN","content":{}}
			c TEXT_MESSAGE_CHUNK{"messageId":"m3","delta":"three"}
			d input {"messages":[{"id":"u1","role":"user","content":"hi"},{"id":"m1","role":"assistant","content":"one"},{"id":"u2","role":"user","content":"more"},{"id":"m3","role":"assistant","content":"three"},{"id":"u4","role":"user","content":"end"}]}
			d RUN_STARTED{"threadId":"t","runId":"r4"}
			e input {"messages":[{"id":"u1","role":"user","content":"hi"},{"id":"u5","role":"user","content":"else"}]}
			e RUN_STARTED{"threadId":"t","runId":"r5"}
			f input {"messages":[{"id":"u1","role":"user","content":"hi"},{"id":"m1","role":"assistant","content":"one"},{"id":"q","role":"activity","activityType":"PLAN","content":{}}]}
			f RUN_STARTED{"threadId":"t","runId":"r6"}`,
		want: []want{
			{run: "3", messages: `u1:hi p1:{} m1:one u2:more p2:{"n":2} p3:{} m3:three`, used: "r3"},
			{run: "4", messages: `u1:hi p1:{} m1:one u2:more p2:{"n":2} p3:{} m3:three u4:end`, used: "r4"},
			{run: "5", messages: "u1:hi u5:else", used: "r5", codes: "input_omits_history"},
			{run: "6", messages: "u1:hi m1:one q:{}", used: "r6", codes: "input_omits_history"},
		},
	}, {
		name: "activities of runs whose request is not in the log",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			b RUN_STARTED{"threadId":"t","runId":"r2"}
			b ACTIVITY_SNAPSHOT{"messageId":"p2","activityType":"PLAN","content":{}}
			c input {"messages":[{"id":"u1","role":"user","content":"hi"},{"id":"m1","role":"assistant","content":"one"},{"id":"u2","role":"user","content":"more"},{"id":"u3","role":"user","content":"and"},{"id":"u4","role":"user","content":"end"}]}
			c RUN_STARTED{"threadId":"t","runId":"r3"}`,
		want: []want{{run: "3", messages: `u1:hi m1:one u2:more p2:{} u3:and u4:end`, used: "r3"}},
	}, {
		name: "reasoning that a client omits or sends",
		script: `
			a input {"messages":[{"id":"u1","role":"user","content":"hi"}]}
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a REASONING_MESSAGE_CHUNK{"messageId":"h1","delta":"hm"}
			a REASONING_MESSAGE_CHUNK{"delta":"m"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			b input {"messages":[{"id":"u1","role":"user","content":"hi"},{"id":"m1","role":"assistant","content":"one"},{"id":"u2","role":"user","content":"more"}]}
			b RUN_STARTED{"threadId":"t","runId":"r2"}
			c input {"messages":[{"id":"u1","role":"user","content":"hi"},{"id":"m1","role":"assistant","content":"one"},{"id":"h2","role":"reasoning","content":"so"}]}
			c RUN_STARTED{"threadId":"t","runId":"r3"}`,
		want: []want{
			{run: "2", messages: "u1:hi h1:hmm m1:one u2:more", used: "r2"},
			{run: "3", messages: "u1:hi m1:one h2:so", used: "r3", codes: "input_omits_history"},
		},
	}, {
		name:  "activities with requests that have everything",
		input: restore.Full,
		script: `
			a input {"messages":[{"id":"u1","role":"user","content":"hi"}]}
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a ACTIVITY_SNAPSHOT{"messageId":"p1","activityType":"PLAN","content":{}}
			b input {"messages":[{"id":"u1","role":"user","content":"hi"}]}
			b RUN_STARTED{"threadId":"t","runId":"r2"}`,
		want: []want{{run: "2", messages: "u1:hi", used: "r2"}},
	}, {
		name: "a client that gives messages other ids",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			a TOOL_CALL_CHUNK{"toolCallId":"c1","toolCallName":"look","parentMessageId":"m2","delta":"{}"}
			b input {"messages":[{"id":"x1","role":"assistant","content":"one"},{"id":"x2","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]}]}
			b RUN_STARTED{"threadId":"t","runId":"r2"}
			c input {"messages":[{"id":"x1","role":"user","content":"one"},{"id":"x2","role":"assistant","toolCalls":[{"id":"c2","type":"function","function":{"name":"look","arguments":"{}"}}]}]}
			c RUN_STARTED{"threadId":"t","runId":"r3","parentRunId":"r1"}
			d input {"messages":[{"id":"y1","role":"user","content":"one"}]}
			d RUN_STARTED{"threadId":"t","runId":"r4"}`,
		want: []want{
			{run: "2", messages: "x1:one x2:1call", used: "r2"},
			{run: "4", messages: "y1:one", used: "r4", codes: "input_omits_history"},
		},
	}, {
		name: "a request with a parent that repeats the whole conversation with other ids",
		script: `
			a input {"messages":[{"id":"u1","role":"user","content":"hi"}],"state":{"n":1}}
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a REASONING_MESSAGE_CHUNK{"messageId":"h1","delta":"hm"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			b input {"parentRunId":"r1","messages":[{"id":"u1","role":"user","content":"hi"},{"id":"x1","role":"assistant","content":"one"},{"id":"u2","role":"user","content":"more"}]}
			b RUN_STARTED{"threadId":"t","runId":"r2","parentRunId":"r1"}
			b TEXT_MESSAGE_CHUNK{"messageId":"m2","delta":"two"}
			c input {"parentRunId":"r2","messages":[{"id":"u1","role":"user","content":"hi"},{"id":"x1","role":"assistant","content":"one"},{"id":"u2","role":"user","content":"more"},{"id":"x2","role":"assistant","content":"two"}],"state":{}}
			c RUN_STARTED{"threadId":"t","runId":"r3","parentRunId":"r2"}
			d input {"parentRunId":"r1","messages":[{"id":"u3","role":"user","content":"hi"}]}
			d RUN_STARTED{"threadId":"t","runId":"r4","parentRunId":"r1"}`,
		want: []want{
			{position: 5, messages: "u1:hi x1:one u2:more", state: `{"n":1}`, used: "r1 r2"},
			{run: "2", messages: "u1:hi x1:one u2:more m2:two", state: `{"n":1}`, used: "r1 r2"},
			{run: "3", messages: "u1:hi x1:one u2:more x2:two", state: `{}`, used: "r1 r2 r3"},
			{run: "4", messages: "u1:hi h1:hm m1:one u3:hi", state: `{"n":1}`, used: "r1 r4"},
		},
	}, {
		name:  "the same as a normalized request",
		input: restore.Normalized,
		script: `
			a input {"messages":[{"id":"u1","role":"user","content":"hi"}]}
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			b input {"parentRunId":"r1","messages":[{"id":"u1","role":"user","content":"hi"},{"id":"x1","role":"assistant","content":"one"}]}
			b RUN_STARTED{"threadId":"t","runId":"r2","parentRunId":"r1"}`,
		want: []want{{run: "2", messages: "u1:hi m1:one x1:one"}},
	}, {
		name:  "normalized requests without parentRunId",
		input: restore.Normalized,
		script: `
			a input {"messages":[{"id":"u1","role":"user","content":"hi"}]}
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			a RUN_FINISHED{"threadId":"t","runId":"r1"}
			b input {"messages":[{"id":"u2","role":"user","content":"more"}]}
			b RUN_STARTED{"threadId":"t","runId":"r2"}`,
		want: []want{{run: "2", messages: "u1:hi m1:one u2:more", used: "r1 r2"}},
	}, {
		name:  "full requests with parentRunId",
		input: restore.Full,
		script: `
			a input {"messages":[{"id":"u1","role":"user","content":"hi"}]}
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a RUN_FINISHED{"threadId":"t","runId":"r1"}
			b input {"messages":[{"id":"u2","role":"user","content":"more"}]}
			b RUN_STARTED{"threadId":"t","runId":"r2","parentRunId":"r1"}`,
		want: []want{{run: "2", messages: "u2:more", used: "r2", codes: "input_omits_history"}},
	}, {
		name: "the input of RUN_STARTED adds messages, and has the state of the request",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1","input":{"threadId":"t","runId":"r1","messages":[{"id":"u1","role":"user","content":"hi"}],"state":{"n":1}}}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			b RUN_STARTED{"threadId":"t","runId":"r2","input":{"threadId":"t","runId":"r2","messages":[{"id":"u2","role":"user","content":"more"}]}}`,
		want: []want{{run: "2", messages: "u1:hi m1:one u2:more", state: `{"n":1}`, used: "r1 r2"}},
	}, {
		name: "the input of a later exchange replaces the state",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a STATE_SNAPSHOT{"snapshot":{"n":1}}
			a RUN_STARTED{"threadId":"t","runId":"r2","input":{"threadId":"t","runId":"r2","messages":[],"state":{"n":2}}}
			b RUN_STARTED{"threadId":"t","runId":"r3","input":{"threadId":"t","runId":"r3","messages":[],"state":{"n":3}}}
			c input 5
			c RUN_STARTED{"threadId":"t","runId":"r4","input":{"threadId":"t","runId":"r4","messages":[],"state":{"n":4}}}
			d input {"parentRunId":"r4","messages":[]}
			d RUN_STARTED{"threadId":"t","runId":"r5","input":{"threadId":"t","runId":"r5","messages":[],"state":{"n":5}}}`,
		want: []want{
			{run: "2", state: `{"n":1}`}, {run: "3", state: `{"n":3}`},
			{run: "4", state: `{"n":4}`, codes: "request_malformed"}, {run: "5", state: `{"n":4}`, codes: "request_malformed"},
		},
	}, {
		name: "an interrupt, and the run that resumes",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a RUN_FINISHED{"threadId":"t","runId":"r1","outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"ask"}]}}
			b input {"messages":[],"resume":[{"interruptId":"i1","status":"resolved"}]}
			b RUN_STARTED{"threadId":"t","runId":"r2"}
			b RUN_FINISHED{"threadId":"t","runId":"r2"}`,
		want: []want{
			{run: "1", interrupts: `{"id":"i1","reason":"ask"}`},
			{position: 1}, {position: 3}, {position: 4}, {run: "2", used: "r2"},
		},
	}, {
		name: "tool calls that wait for the client",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TOOL_CALL_START{"toolCallId":"c1","toolCallName":"look","parentMessageId":"m1"}
			a TOOL_CALL_ARGS{"toolCallId":"c1","delta":"{}"}
			a TOOL_CALL_END{"toolCallId":"c1"}
			a RUN_FINISHED{"threadId":"t","runId":"r1"}
			b input {"messages":[{"id":"x1","role":"tool","toolCallId":"c1","content":"found"}],"parentRunId":"r1"}
			b RUN_STARTED{"threadId":"t","runId":"r2","parentRunId":"r1"}
			b TOOL_CALL_CHUNK{"toolCallId":"c2","toolCallName":"look","parentMessageId":"m2","delta":"{}"}
			b TOOL_CALL_RESULT{"toolCallId":"c2","messageId":"x2","content":"there"}`,
		want: []want{
			{run: "1", messages: "m1:1call", calls: "c1"},
			{position: 6, messages: "m1:1call x1:found"},
			{position: 8, messages: "m1:1call x1:found m2:1call", calls: "c2"},
			{run: "2", messages: "m1:1call x1:found m2:1call x2:there"},
		},
	}, {
		name: "chunks of a run that was cut off",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"on"}
			a TEXT_MESSAGE_CHUNK{"delta":"e"}
			a end error
			b RUN_STARTED{"threadId":"t","runId":"r2"}
			b TEXT_MESSAGE_CHUNK{"delta":"lost"}`,
		want: []want{
			{run: "1", messages: "m1:one"},
			{position: 4, messages: "m1:one", used: "r1"},
			{run: "2", messages: "m1:one", used: "r1 r2", codes: "event_field_malformed"},
		},
	}, {
		name: "snapshots, activities and reasoning",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			a REASONING_MESSAGE_CHUNK{"messageId":"h1","delta":"hm"}
			a ACTIVITY_SNAPSHOT{"messageId":"p1","activityType":"PLAN","content":{"n":1}}
			b RUN_STARTED{"threadId":"t","runId":"r2"}
			b ACTIVITY_DELTA{"messageId":"p1","activityType":"PLAN","patch":[{"op":"replace","path":"/n","value":2}]}
			b MESSAGES_SNAPSHOT{"messages":[{"id":"m2","role":"assistant","content":"two"}]}
			c RUN_STARTED{"threadId":"t","runId":"r3","parentRunId":"r1"}`,
		want: []want{
			{position: 6, messages: `m1:one h1:hm p1:{"n":2}`},
			{run: "2", messages: `h1:hm p1:{"n":2} m2:two`},
			{run: "3", messages: `m1:one h1:hm p1:{"n":1}`},
		},
	}, {
		name: "the state across runs",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a STATE_DELTA{"delta":[{"op":"add","path":"/n","value":1}]}
			b RUN_STARTED{"threadId":"t","runId":"r2"}
			b STATE_DELTA{"delta":[{"op":"add","path":"/m","value":2}]}
			b STATE_SNAPSHOT{"snapshot":{"k":[1]}}
			c RUN_STARTED{"threadId":"t","runId":"r3"}
			c STATE_DELTA{"delta":[{"op":"add","path":"/k/-","value":2}]}
			c STATE_DELTA{"delta":[{"op":"remove","path":"/gone"}]}
			d input {"parentRunId":"r3","messages":[],"state":{"by":"d"}}
			d RUN_STARTED{"threadId":"t","runId":"r4","parentRunId":"r3"}`,
		want: []want{
			{run: "1", state: `{"n":1}?`},
			{position: 4, state: `{"n":1,"m":2}?`},
			{run: "2", state: `{"k":[1]}`},
			{run: "3", state: `{"k":[1,2]}`, codes: "patch_failed"},
			{run: "4", state: `{"by":"d"}`, codes: "patch_failed"},
		},
	}, {
		name: "interleaved runs: a run continues its parent as it was when the run started",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_START{"messageId":"m1","role":"assistant"}
			a TEXT_MESSAGE_CONTENT{"messageId":"m1","delta":"on"}
			b RUN_STARTED{"threadId":"t","runId":"r2"}
			a TEXT_MESSAGE_CONTENT{"messageId":"m1","delta":"e"}
			b TEXT_MESSAGE_CHUNK{"messageId":"m2","delta":"two"}
			a TEXT_MESSAGE_END{"messageId":"m1"}
			c RUN_STARTED{"threadId":"t","runId":"r3","parentRunId":"r1"}
			b RUN_FINISHED{"threadId":"t","runId":"r2"}`,
		want: []want{
			{run: "1", messages: "m1:one"},
			{run: "2", messages: "m1:on m2:two", used: "r1 r2"},
			{run: "3", messages: "m1:one", used: "r1 r3"},
			{position: 5, messages: "m1:one", used: "r1"},
		},
	}, {
		name: "only the request names the parent",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			b RUN_STARTED{"threadId":"t","runId":"r2"}
			b TEXT_MESSAGE_CHUNK{"messageId":"m2","delta":"two"}
			c input {"parentRunId":"r1","messages":[{"id":"u3","role":"user","content":"hi"}]}
			c RUN_STARTED{"threadId":"t","runId":"r3"}
			d input {"parentRunId":"r1","messages":[{"id":"u4","role":"user","content":"there"}]}
			d RUN_STARTED{"threadId":"t","runId":"r4","parentRunId":"r2"}`,
		want: []want{
			{run: "3", messages: "m1:one u3:hi", used: "r1 r3"},
			{run: "4", messages: "m1:one m2:two u4:there", used: "r1 r2 r4"},
		},
	}, {
		name: "several runs of a stream, and entries that the program added",
		script: `
			a input {"messages":[{"id":"u1","role":"user","content":"hi"}]}
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			a RUN_FINISHED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m9","delta":"late"}
			a RUN_STARTED{"threadId":"t","runId":"r2"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m2","delta":"two"}
			a closing RUN_ERROR{"message":"no owner"}
			a end error`,
		want: []want{
			{run: "1", messages: "u1:hi m1:one m9:late"},
			{run: "2", messages: "u1:hi m1:one m9:late m2:two", used: "r1 r2"},
			{position: 9, messages: "u1:hi m1:one m9:late m2:two"},
		},
	}, {
		name: "ids: an unknown parent, a run that starts twice, and one without an id",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			b input {"parentRunId":"gone","messages":[{"id":"u2","role":"user","content":"hi"}],"state":{"n":1}}
			b RUN_STARTED{"threadId":"t","runId":"r2","parentRunId":"gone"}
			c RUN_STARTED{"threadId":"t","runId":"r1","parentRunId":"r1"}
			c TEXT_MESSAGE_CHUNK{"messageId":"m3","delta":"three"}
			d RUN_STARTED{"threadId":"t","runId":"r3","parentRunId":"r1"}
			e RUN_STARTED{"threadId":"t"}`,
		want: []want{
			{run: "2", messages: "u2:hi", state: `{"n":1}`, used: "r2", codes: "parent_run_unknown"},
			{run: "3", messages: "m1:one m3:three", codes: "run_started_twice"},
			{run: "4", messages: "m1:one m3:three", used: "r1 r1 r3", codes: "run_started_twice"},
			{run: "5", messages: "m1:one m3:three", codes: "run_started_twice run_id_missing"},
		},
	}, {
		name: "a request that cannot be read says nothing",
		script: `
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			b input {"messages":[
			b RUN_STARTED{"threadId":"t","runId":"r2"}
			c input ["no"]
			c RUN_STARTED{"threadId":"t","runId":"r3","parentRunId":"r2"}`,
		want: []want{
			{run: "2", messages: "m1:one", used: "r1 r2", codes: "request_malformed"},
			{run: "3", messages: "m1:one", used: "r1 r2 r3", codes: "request_malformed request_malformed"},
		},
	}, {
		name: "entries of no run, and events that cannot be read",
		script: `
			a input {"messages":[{"id":"u1","role":"user","content":"hi"}]}
			a TEXT_MESSAGE_CHUNK{"messageId":"m0","delta":"early"}
			a RUN_STARTED{"threadId":"t","runId":"r1"}
			a [1]
			a TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			b input {"messages":[{"id":"u2","role":"user","content":"never answered"}]}
			b end error`,
		want: []want{
			{position: 1, messages: "u1:hi"},
			{position: 2},
			{run: "1", messages: "u1:hi m1:one", codes: "event_not_object"},
			{position: 6, messages: "u1:hi m1:one", used: "r1", codes: "event_not_object"},
			{position: 7, messages: "u1:hi m1:one", used: "r1", codes: "event_not_object"},
		},
	}}
}

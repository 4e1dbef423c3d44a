package reduce

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
)

func TestState(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, events, state, warnings string }{
		{"none", `RUN_STARTED{"threadId":"t","runId":"r","input":{"messages":[],"state":null}}`, `{}`, ``},
		{"that of the first input", `
			RUN_STARTED{"threadId":"t","runId":"r","input":{"messages":[],"state":{"a" : 1}}}
			STATE_DELTA{"delta":[{"op":"test","path":"/a","value":1},{"op":"add","path":"/b","value":2}]}
			RUN_FINISHED{"threadId":"t","runId":"r"}
			RUN_STARTED{"threadId":"t","runId":"s","input":{"messages":[],"state":{"no":1}}}`, `{"a":1,"b":2}`, ``},
		{"patches of an empty object", `STATE_DELTA{"delta":[{"op":"add","path":"/a","value":1.50}]}`, `{"a":1.50}`, ``},
		{"a snapshot replaces everything", `
			STATE_SNAPSHOT{"snapshot":{"a":1}}
			STATE_SNAPSHOT{"snapshot":{ "b" : 9007199254740993 }}`, `{"b":9007199254740993}`, ``},
		{"a snapshot of null", `
			STATE_SNAPSHOT{"snapshot":{"a":1}}
			STATE_SNAPSHOT{"snapshot":null}`, `null`, ``},
		{"a snapshot without a state", `
			STATE_SNAPSHOT{"snapshot":0}
			STATE_SNAPSHOT{}`, `null`, `event_altered`},
		{"a patch applies completely or not at all", `
			STATE_SNAPSHOT{"snapshot":{"a":1}}
			STATE_DELTA{"delta":[{"op":"add","path":"/b","value":2},{"op":"remove","path":"/c"}]}
			STATE_DELTA{"delta":[{"op":"add","path":"/d","value":4}]}`, `{"a":1,"d":4}`, `patch_failed`},
		{"malformed patches", `
			STATE_DELTA{}
			STATE_DELTA{"delta":{"op":"add","path":"/a","value":1}}
			STATE_DELTA{"delta":[]}`, `{"a":1}`, `patch_failed event_altered`},
		{"the keys of drafts", `
			STATE_SNAPSHOT{"state":{"a":1}}
			STATE_DELTA{"patch":[{"op":"remove","path":"/a"}]}`, `{}`, `event_altered event_altered`},
		{"unknown operations are left out", `
			STATE_SNAPSHOT{"snapshot":{"count":1}}
			STATE_DELTA{"delta":[{"op":"increment","path":"/count","by":2},{"op":"replace","path":"/count","value":5}]}
			STATE_DELTA{"delta":[{"op":"increment"}]}`, `{"count":5}`, `event_altered event_altered`},
		{"a patch with unknown operations fails as a whole", `
			STATE_SNAPSHOT{"snapshot":{"count":1}}
			STATE_DELTA{"delta":[{"op":"replace","path":"/count","value":5},{"op":"increment"},{"op":"remove","path":"/none"}]}`, `{"count":1}`, `event_altered patch_failed`},
		{"malformed operations are not unknown", `
			STATE_SNAPSHOT{"snapshot":{"count":1}}
			STATE_DELTA{"delta":[{"path":"/count","value":5},{"op":"replace","path":"/count","value":5}]}
			STATE_DELTA{"delta":[{"op":7,"path":"/count"},{"op":"replace","path":"/count","value":5}]}`, `{"count":1}`, `patch_failed patch_failed`},
		{"runs share the state", `
			RUN_STARTED{"threadId":"t","runId":"r"}
			STATE_SNAPSHOT{"snapshot":[1]}
			RUN_FINISHED{"threadId":"t","runId":"r"}
			RUN_STARTED{"threadId":"t","runId":"s"}
			STATE_DELTA{"delta":[{"op":"add","path":"/-","value":2}]}`, `[1,2]`, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := New(Options{})
			found := apply(t, r, events(test.events)...)
			if got := string(r.AppendState(nil)); got != test.state {
				t.Errorf("the state is %s, want %s", got, test.state)
			}
			if diff := cmp.Diff(strings.Fields(test.warnings), codes(found)); diff != "" {
				t.Errorf("warnings: -want +got\n%s", diff)
			}
			if want := strings.Contains(test.events, "STATE_SNAPSHOT") || strings.Contains(test.events, `"state":{`); r.HasState() != want {
				t.Errorf("HasState is %v", !want)
			}
		})
	}
}

// TestUnknownOperations checks the warning, and activities.
func TestUnknownOperations(t *testing.T) {
	t.Parallel()
	for _, dialect := range []Dialect{RFC6902, Client} {
		r := New(Options{Dialect: dialect})
		found := apply(t, r, events(`
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{"count":1}}
			ACTIVITY_DELTA{"messageId":"a","activityType":"p","patch":[{"op":"replace","path":"/count","value":5},{"op":"in\u001bcrement"},{"op":"x"}]}
			ACTIVITY_DELTA{"messageId":"a","activityType":"q","patch":[{"op":"toString","path":""}]}`)...)
		if got, want := string(r.AppendMessages(nil)), `[{"id":"a","role":"activity","activityType":"q","content":{"count":5}}]`; got != want {
			t.Errorf("%s: the messages are %s, want %s", dialect, got, want)
		}
		check(t, r)
		var texts []string
		for _, f := range found {
			texts = append(texts, string(f.Severity)+" "+string(f.Pointer)+" "+f.Message)
		}
		want := []string{
			`warning /patch/1 ACTIVITY_DELTA: /patch/1 is the operation "in\u001bcrement", which JSON Patch does not define; it and 1 more such operations are left out`,
			`warning /patch/0 ACTIVITY_DELTA: /patch/0 is the operation "toString", which JSON Patch does not define; it is left out`,
		}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Errorf("%s: warnings: -want +got\n%s", dialect, diff)
		}
	}
}

// TestDialect checks that the dialect is passed on, and a patch that leaves no value.
func TestDialect(t *testing.T) {
	t.Parallel()
	for dialect, want := range map[Dialect]string{RFC6902: `[1]`, Client: `[1,2]`} {
		r := New(Options{Dialect: dialect})
		apply(t, r, events(`
			STATE_SNAPSHOT{"snapshot":[1]}
			STATE_DELTA{"delta":[{"op":"add","path":"/01","value":2}]}`)...)
		if got := string(r.AppendState(nil)); got != want {
			t.Errorf("%s: the state is %s, want %s", dialect, got, want)
		}
	}
	r := New(Options{Dialect: Client})
	apply(t, r, events(`
		STATE_SNAPSHOT{"snapshot":[1]}
		STATE_DELTA{"delta":[{"op":"copy","from":"/missing","path":""}]}
		ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":{"n":1}}
		ACTIVITY_DELTA{"messageId":"a","activityType":"p","patch":[{"op":"copy","from":"/missing","path":""}]}
		ACTIVITY_DELTA{"messageId":"a","activityType":"q","patch":[{"op":"remove","path":"/missing"}]}`)...)
	if got := string(r.AppendState(nil)); got != "" {
		t.Errorf("the state is %s, want none", got)
	}
	if got, want := string(r.AppendMessages(nil)), `[{"id":"a","role":"activity","activityType":"p"}]`; got != want {
		t.Errorf("the messages are %s, want %s", got, want)
	}
	apply(t, r, events(`
		ACTIVITY_DELTA{"messageId":"a","activityType":"q","patch":[{"op":"add","path":"/n","value":2}]}`)...)
	if got, want := string(r.AppendMessages(nil)), `[{"id":"a","role":"activity","activityType":"q","content":{"n":2}}]`; got != want {
		t.Errorf("the messages are %s, want %s", got, want)
	}
	check(t, r)
	for _, name := range Dialects() {
		if d, err := ParseDialect(name); err != nil || d.String() != name {
			t.Errorf("the dialect %s is %v, %v", name, d, err)
		}
	}
	if _, err := ParseDialect("RFC6902"); err == nil {
		t.Error("an unknown dialect is accepted")
	}
}

// TestPending has the tool calls and interrupts that wait for an answer.
func TestPending(t *testing.T) {
	t.Parallel()
	const calls = `
		RUN_STARTED{"threadId":"t","runId":"r"}
		TOOL_CALL_START{"toolCallId":"t1","toolCallName":"f"}
		TOOL_CALL_RESULT{"messageId":"m","toolCallId":"t2","content":"early"}
		TOOL_CALL_START{"toolCallId":"t2","toolCallName":"f"}
		TOOL_CALL_START{"toolCallId":"t3","toolCallName":"f"}
		TOOL_CALL_START{"toolCallId":"t1","toolCallName":"f"}`
	for _, test := range []struct{ name, events, calls, interrupts string }{
		{"none", ``, ``, `[]`},
		{"calls without a result", calls, `t1 t3`, `[]`},
		{"a run without an outcome", calls + `
			RUN_FINISHED{"threadId":"t","runId":"r"}`, `t1 t3`, `[]`},
		{"calls that the outcome names", calls + `
			RUN_FINISHED{"threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["t9",5]}}`, `t9`, `[]`},
		{"an outcome that names none", calls + `
			RUN_FINISHED{"threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":[]}}`, `t1 t3`, `[]`},
		{"an outcome replaces the calls of an earlier outcome", calls + `
			RUN_FINISHED{"threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["t3","t9","t9"]}}
			RUN_FINISHED{"threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["t8"]}}`, `t8`, `[]`},
		{"a second end without an outcome, and a late result", calls + `
			RUN_FINISHED{"threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["t1","t9"]}}
			TOOL_CALL_RESULT{"messageId":"n","toolCallId":"t1","content":"late"}
			RUN_FINISHED{"threadId":"t","runId":"r"}`, `t9`, `[]`},
		{"a cancelled run has none", calls + `
			RUN_FINISHED{"threadId":"t","runId":"r","outcome":{"type":"cancelled"}}`, ``, `[]`},
		{"the next run has none", calls + `
			RUN_STARTED{"threadId":"t","runId":"s"}`, ``, `[]`},
		{"interrupts outlast the next start", `
			RUN_FINISHED{"threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","subagentRunId":null,"x":[ 1 ]},5]}}
			RUN_STARTED{"threadId":"t","runId":"s"}
			RUN_ERROR{"message":"x"}`, ``, `[{"id":"i"}]`},
		{"any other outcome ends them", `
			RUN_FINISHED{"threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i"}]}}
			RUN_FINISHED{"threadId":"t","runId":"r","outcome":"interrupt"}`, ``, `[]`},
	} {
		r := New(Options{})
		apply(t, r, events(test.events)...)
		check(t, r)
		if got := r.PendingToolCalls(); !slices.Equal(got, strings.Fields(test.calls)) {
			t.Errorf("%s: the tool calls %q are pending, want %s", test.name, got, test.calls)
		}
		if got := string(r.AppendInterrupts(nil)); got != test.interrupts {
			t.Errorf("%s: the interrupts are %s, want %s", test.name, got, test.interrupts)
		}
	}
}

// TestExchange has inputs whose state counts, and inputs of runs whose request is known.
func TestExchange(t *testing.T) {
	t.Parallel()
	start := events(`RUN_STARTED{"threadId":"t","runId":"r","input":{"messages":[],"state":{"input":1}}}`)
	r := New(Options{})
	state := func(want string) {
		t.Helper()
		if got := string(r.AppendState(nil)); got != want {
			t.Errorf("the state is %s, want %s", got, want)
		}
	}
	r.Seed([]byte(`{"messages":[]}`))
	apply(t, r, start...)
	state(`{}`)
	r.Exchange()
	apply(t, r, start...)
	state(`{"input":1}`)
	r.Exchange()
	r.Continue([]byte(`{"messages":[],"state":{"request":1}}`))
	apply(t, r, start...)
	state(`{"request":1}`)
	r.Exchange()
	apply(t, r, events(`RUN_STARTED{"threadId":"t","runId":"r"}`)...)
	state(`{"request":1}`)
	r.Exchange()
	r.Seed([]byte(`[]`)) // not a request
	apply(t, r, start...)
	state(`{"input":1}`)
}

func TestSeed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ request, messages, state, warnings string }{
		{`{"threadId":"t","messages":[{"id":"u","role":"user","content":"x"},{"id":"u","role":"user","content":"y","subagentRunId":null}],"state":{"a":1}}`,
			`[{"id":"u","role":"user","content":"x"},{"id":"u","role":"user","content":"y"}]`, `{"a":1}`, ``},
		{`{"state":null}`, `[]`, `{}`, ``}, // a client takes null for no state
		{` {"messages":["x"]}`, `[]`, `{}`, `event_field_malformed`},
		{`[]`, `[]`, `{}`, `request_malformed`},
		{`{"a":1,"a":2}`, `[]`, `{}`, `json_duplicate_key`},
	} {
		r := New(Options{})
		found := r.Seed([]byte(test.request))
		if got := string(r.AppendMessages(nil)); got != test.messages {
			t.Errorf("%s: the messages are %s, want %s", test.request, got, test.messages)
		}
		if got := string(r.AppendState(nil)); got != test.state || r.HasState() != strings.Contains(test.request, `"state":{`) {
			t.Errorf("%s: the state is %s (%v), want %s", test.request, got, r.HasState(), test.state)
		}
		if diff := cmp.Diff(strings.Fields(test.warnings), codes(found)); diff != "" {
			t.Errorf("%s: warnings: -want +got\n%s", test.request, diff)
		}
		for _, f := range found {
			if f.Severity != finding.Warning || !strings.Contains(f.Message, "request") {
				t.Errorf("%s: %v", test.request, f)
			}
		}
		check(t, r)
	}
}

// TestRestore has texts that are not messages or not a state. They change nothing.
func TestRestore(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		messages, state string
		ok              bool
	}{
		{`[]`, `{}`, true}, {`[{}]`, `null`, true},
		{`[`, `{}`, false}, {``, `{}`, false}, {`{}`, `{}`, false}, {`[1]`, `{}`, false}, {`[]`, `nope`, false}, {`[]`, ``, false},
	} {
		r := New(Options{})
		apply(t, r, events(`
			TEXT_MESSAGE_START{"messageId":"m"}
			STATE_SNAPSHOT{"snapshot":7}`)...)
		err := r.Restore([]byte(test.messages), []byte(test.state))
		wantMessages, wantState := test.messages, test.state
		if !test.ok {
			wantMessages, wantState = `[{"id":"m","role":"assistant","content":""}]`, `7`
		}
		if messages, state := string(r.AppendMessages(nil)), string(r.AppendState(nil)); (err == nil) != test.ok || messages != wantMessages || state != wantState {
			t.Errorf("%s and %s: %v, %s and %s", test.messages, test.state, err, messages, state)
		}
	}
	r := New(Options{})
	if err := r.Restore([]byte(`[]`), nil); err != nil || r.HasState() {
		t.Errorf("no state: %v, %v", err, r.HasState())
	}
}

// TestContinue has requests that continue a conversation with the message m and the state 7.
func TestContinue(t *testing.T) {
	t.Parallel()
	const m = `{"id":"m","role":"assistant","content":"hi"}`
	for _, test := range []struct{ request, messages, state, warnings string }{
		{`{}`, `[` + m + `]`, `7`, ``},
		{`{"messages":[],"state":null}`, `[` + m + `]`, `7`, ``},
		{`{"messages":[{"id":"u","role":"user","content":"x"}],"state":{"a":1}}`, `[` + m + `,{"id":"u","role":"user","content":"x"}]`, `{"a":1}`, ``},
		{`{"messages":[{"id":"m","role":"user","content":"x"}]}`, `[` + m + `]`, `7`, ``},
		{`{"messages":[5]}`, `[` + m + `]`, `7`, `event_field_malformed`},
		{`nope`, `[` + m + `]`, `7`, `json_syntax`},
	} {
		r := New(Options{})
		apply(t, r, events(`
			TEXT_MESSAGE_START{"messageId":"m","role":"assistant"}
			TEXT_MESSAGE_CONTENT{"messageId":"m","delta":"hi"}
			STATE_SNAPSHOT{"snapshot":7}`)...)
		found := r.Continue([]byte(test.request))
		if got := string(r.AppendMessages(nil)); got != test.messages {
			t.Errorf("%s: the messages are %s, want %s", test.request, got, test.messages)
		}
		if got := string(r.AppendState(nil)); got != test.state {
			t.Errorf("%s: the state is %s, want %s", test.request, got, test.state)
		}
		if diff := cmp.Diff(strings.Fields(test.warnings), codes(found)); diff != "" {
			t.Errorf("%s: warnings: -want +got\n%s", test.request, diff)
		}
		check(t, r)
	}
}

// TestMerge has requests of clients that give messages ids of their own.
func TestMerge(t *testing.T) {
	t.Parallel()
	const conversation = `
		RUN_STARTED{"threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"caf\u00e9?"}]}}
		REASONING_MESSAGE_CHUNK{"messageId":"h","delta":"hm"}
		TOOL_CALL_CHUNK{"toolCallId":"c","toolCallName":"look","parentMessageId":"a","delta":"{}"}
		TOOL_CALL_RESULT{"toolCallId":"c","messageId":"f","content":"found"}
		TEXT_MESSAGE_CHUNK{"messageId":"b","delta":"caf\u00e9"}`
	const (
		user   = `{"id":"u","role":"user","content":"café?"}`
		call   = `{"id":"x","role":"assistant","content":"","toolCalls":[{"id":"c","type":"function","function":{"arguments":"{ }","name":"look"}}]}`
		result = `{"id":"y","role":"tool","toolCallId":"c","content":"found"}`
		answer = `{"id":"z","role":"assistant","name":"guide","content":"caf\u00E9"}`
		more   = `{"id":"v","role":"user","content":"more"}`
	)
	for name, test := range map[string]struct{ conversation, messages, want string }{
		"other ids":              {conversation, user + call + result + answer + more, "u x y z v"},
		"nothing new":            {conversation, user + call + result + answer, "u x y z"},
		"a system message first": {conversation, `{"id":"s","role":"system","content":"Be kind."}` + user + call + result + answer, "s u x y z"},
		"an edited message":      {conversation, `{"id":"u","role":"user","content":"tea?"}` + call + result + answer, "u x y z"},
		"no ids":                 {conversation, strings.NewReplacer(`"id":"u",`, ``, `"id":"x",`, ``, `"id":"y",`, ``, `"id":"z",`, ``).Replace(user + call + result + answer), "   "},
		"the same ids":           {conversation, user + strings.Replace(call, `"x"`, `"a"`, 1) + strings.Replace(result, `"y"`, `"f"`, 1) + strings.Replace(answer, `"z"`, `"b"`, 1) + more, "u h a f b v"},
		"only new messages":      {conversation, more, "u h a f b v"},
		"without the answer":     {conversation, user + call + result + more, "u h a f b x y v"},
		"another order":          {conversation, user + call + answer + result, "u x z y"},
		"repeated in history":    {conversation + "\n" + `TEXT_MESSAGE_CHUNK{"messageId":"b2","delta":"café"}`, user + call + result + answer + more, "u x y z v"},
		"under both ids":         {conversation + "\n" + `MESSAGES_SNAPSHOT{"messages":[` + user + `,` + answer + `,{"id":"b","role":"assistant","content":"café"},{"id":"d","role":"assistant","content":"tea"}]}`, user + answer + `{"id":"e","role":"assistant","content":"tea"}`, "u z e"},
		"the agent's system":     {conversation + "\n" + `TEXT_MESSAGE_CHUNK{"messageId":"s","role":"system","delta":"Be kind."}`, user + call + result + answer, "u x y z"},
		"a long answer":          {conversation + "\n" + `TEXT_MESSAGE_CHUNK{"messageId":"l","delta":"This answer is longer than all others."}`, user + call + result + answer, "u h a f b l x y z"},
		"another call":           {conversation, user + strings.Replace(call, `"id":"c"`, `"id":"d"`, 1) + result + answer, "u h a f b x y z"},
		"another result":         {conversation, user + call + strings.Replace(result, `"found"`, `"lost"`, 1) + answer, "u h a f b x y z"},
		"a result of another":    {conversation, user + call + strings.Replace(result, `"c"`, `"d"`, 1) + answer, "u h a f b x y z"},
		"another role":           {conversation, user + call + result + strings.Replace(answer, `"assistant"`, `"user"`, 1), "u h a f b x y z"},
		"other parts":            {conversation, user + call + result + strings.Replace(answer, `"caf\u00E9"`, `[{"type":"text","text":"tea"}]`, 1), "u h a f b x y z"},
		"a user says it again":   {`RUN_STARTED{"input":{"messages":[` + user + `]}}`, `{"id":"w","role":"user","content":"café?"}`, "u w"},
		"no messages yet":        {``, user + more, "u v"},
		"parts and no content": {
			`MESSAGES_SNAPSHOT{"messages":[{"id":"p","role":"user","content":[{"type":"text", "text":"hi"}]},{"id":"n","role":"assistant","content":null}]}`,
			`{"id":"q","role":"user","content":[{"type":"text","text":"hi"}]}{"id":"o","role":"assistant"}`, "q o",
		},
	} {
		r := New(Options{})
		if test.conversation != "" {
			apply(t, r, events(test.conversation)...)
		}
		if found := r.Merge([]byte(`{"messages":[` + strings.ReplaceAll(test.messages, "}{", "},{") + `]}`)); len(found) > 0 {
			t.Errorf("%s: warnings %v", name, found)
		}
		var ids []string
		for m := range r.conversation.All {
			ids = append(ids, m.ID())
		}
		if got := strings.Join(ids, " "); got != test.want {
			t.Errorf("%s: the messages are %q, want %q", name, got, test.want)
		}
		check(t, r)
	}
}

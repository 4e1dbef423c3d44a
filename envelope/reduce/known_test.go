package reduce

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/judge"
)

// TestKnown has messages with what AG-UI does not define, and what is left of them. What the
// reference client leaves of them is in TestClientReduce.
func TestKnown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ message, want, pointer string }{
		{`{"id":"1","role":"user","content":"x","name":"n","encryptedValue":"e","encryptedValueType":"t","subagentRunId":"s","metadata":{"any":1}}`, ``, ``},
		{`{"id":"1","role":"robot","content":"x"}`, `-`, `/0`},
		{`{"id":"1","role":5}`, `-`, `/0`},
		{`{"id":"1","content":"x"}`, `-`, `/0`},
		{`{"a~b":1,"id":"1","role":"user","content":"x","error":"e"}`, `{"id":"1","role":"user","content":"x"}`, `/0/a~0b`},
		{`{"id":"1","role":"tool","content":"x","tool_call_id":"c","error":"e","name":"n"}`, `{"id":"1","role":"tool","content":"x","tool_call_id":"c","error":"e"}`, `/0/name`},
		{`{"id":"1","role":"activity","activityType":"p","content":{"any":[{"x":1}]},"encryptedValue":"e"}`, `{"id":"1","role":"activity","activityType":"p","content":{"any":[{"x":1}]}}`, `/0/encryptedValue`},
		{`{"id":"1","role":"reasoning","content":"x","name":"n"}`, `{"id":"1","role":"reasoning","content":"x"}`, `/0/name`},
		{`{"id":"1","role":"assistant","toolCalls":[5,{"id":"c","type":"function","x":1,"function":{"name":"f","arguments":"","y":2},"encryptedValueType":"t"}]}`,
			`{"id":"1","role":"assistant","toolCalls":[5,{"id":"c","type":"function","function":{"name":"f","arguments":""},"encryptedValueType":"t"}]}`, `/0/toolCalls/1/x`},
		{`{"id":"1","role":"assistant","toolCalls":{"x":1},"content":[{"type":"hologram"}]}`, ``, ``}, // not valid
		{`{"id":"1","role":"user","content":[{"type":"text","text":"a"},{"type":"hologram"},7]}`, `{"id":"1","role":"user","content":[{"type":"text","text":"a"},7]}`, `/0/content/1`},
		{`{"id":"1","role":"user","content":[{"type":"hologram"}]}`, `{"id":"1","role":"user","content":[]}`, `/0/content/0`},
		{`{"id":"1","role":"tool","content":[{"type":"image","id":"i","source":{"type":"url","value":"v","q":1},"metadata":5}],"toolCallId":"c"}`,
			`{"id":"1","role":"tool","content":[{"type":"image","id":"i","source":{"type":"url","value":"v"},"metadata":5}],"toolCallId":"c"}`, `/0/content/0/source/q`},
		{`{"id":"1","role":"user","content":[{"type":"video","source":{"type":"ipfs","value":"v"}},{"type":"video","source":{"type":"file","value":"v","provider":"p"}}]}`,
			`{"id":"1","role":"user","content":[{"type":"video","source":{"type":"file","value":"v","provider":"p"}}]}`, `/0/content/0`},
		{`{"id":"1","role":"user","content":[{"type":"video","source":{"value":"v"}},{"type":"audio","source":"v"}]}`, ``, ``}, // not valid
		{`{"id":"1","role":"user","content":[{"type":"binary","mimeType":"image/png","id":"f"}]}`, `{"id":"1","role":"user","content":[]}`, `/0/content/0`},
	} {
		r := New(Options{})
		found := apply(t, r, `{"type":"MESSAGES_SNAPSHOT","messages":[`+test.message+`]}`)
		want := "[" + strings.TrimPrefix(test.want, "-") + "]"
		if test.want == "" {
			want = "[" + test.message + "]"
		}
		if got := string(r.AppendMessages(nil)); got != want {
			t.Errorf("%s becomes\n%s, want\n%s", test.message, got, want)
		}
		pointer := ""
		for _, f := range found {
			if f.Code == "event_altered" && pointer == "" {
				pointer = strings.TrimPrefix(string(f.Pointer), "/messages")
			}
		}
		if pointer != test.pointer {
			t.Errorf("%s: the warnings are %v, want one at %q", test.message, found, test.pointer)
		}
		check(t, r)
		_, o := read([]byte(test.message))
		v := envelope.Value{Kind: envelope.ObjectValue, Raw: []byte(test.message)}
		if known, ok := Known(v, o); ok != (test.want != "-") || ok && test.want == "" && !sameText(known, v) {
			t.Errorf("%s: Known returns %s, %v", test.message, known.Raw, ok)
		}
	}
}

// TestRemovedFromEvents has events that are left out, and parts of others. Each kind is
// reported once.
func TestRemovedFromEvents(t *testing.T) {
	t.Parallel()
	r := New(Options{})
	found := apply(t, r, events(`
		RUN_STARTED{"threadId":"t","runId":"r","input":{"messages":[{"id":"u","role":"user","content":"x","new":1},{"id":"v","role":"robot"}]}}
		RUN_STARTED{"threadId":"t","runId":"r","input":{"messages":[{"id":"w","role":"user","content":"x","new":1}]}}
		TOOL_CALL_RESULT{"messageId":"m","toolCallId":"c","content":[{"type":"hologram"},{"type":"text","text":"a","new":1}]}
		REASONING_ENCRYPTED_VALUE{"subtype":"step","entityId":"u","encryptedValue":"e"}
		NEWER_MESSAGE{"messageId":"n"}
		MESSAGES_SNAPSHOT{"messages":[{"id":"u","role":"robot","content":"beep"},{"id":"w","role":"user","content":"x"}]}
		TEXT_MESSAGE_CHUNK{"messageId":"u","delta":"new"}`)...)
	want := `[{"id":"w","role":"user","content":"x"},{"id":"u","role":"assistant","content":"new"}]`
	if got := string(r.AppendMessages(nil)); got != want {
		t.Errorf("the messages are %s, want %s", got, want)
	}
	var places []string
	for _, f := range found {
		places = append(places, string(f.Code)+" "+string(f.Pointer))
	}
	wantPlaces := []string{"event_altered /input/messages/0/new", "event_altered /input/messages/1", "event_altered /content/0", "event_altered ", "event_altered /messages/0"}
	if diff := cmp.Diff(wantPlaces, places); diff != "" {
		t.Errorf("warnings: -want +got\n%s", diff)
	}
	check(t, r)
}

// TestKnownAgrees compares what is left of generated messages with package event.
func TestKnownAgrees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		for _, text := range generate(rt, judge.Generator{With: judge.ExtraKeys | judge.UnknownKinds | judge.EncryptedTypes}) {
			r := New(Options{})
			apply(t, r, text)
			for m := range r.All {
				var faults []event.Fault
				if _, err := event.DecodeMessage(m.AppendJSON(nil), event.Tolerant(&faults), event.Under(event.V1Minor1)); err != nil {
					rt.Fatal(err)
				}
				if i := slices.IndexFunc(faults, func(f event.Fault) bool {
					return f.Tolerance == event.UnknownMember || f.Tolerance == event.UnknownKey
				}); i >= 0 {
					rt.Fatalf("%s: %v", m.AppendJSON(nil), faults[i])
				}
			}
		}
	})
}

// TestKnownEvent has an event of each type with everything that AG-UI defines, and with more.
func TestKnownEvent(t *testing.T) {
	t.Parallel()
	const base = `"timestamp":1,"rawEvent":{"x":1},"metadata":{"x":1},`
	for _, text := range []string{
		`{"type":"RUN_STARTED",` + base + `"threadId":"t","runId":"r","parentRunId":"p","protocolVersion":"1.1","input":{"threadId":"t","runId":"r","parentRunId":"p","protocolVersion":"1.0","state":{"x":1},"messages":[{"id":"u","role":"user","content":[{"type":"text","text":"a"}]}],"tools":[{"name":"n","description":"d","parameters":{"x":1},"metadata":{"x":1}}],"context":[{"description":"d","value":"v"}],"forwardedProps":{"x":1},"resume":[{"interruptId":"i","status":"resolved","payload":{"x":1},"metadata":{"x":1}}]}}`,
		`{"type":"RUN_FINISHED",` + base + `"threadId":"t","runId":"r","result":{"x":1},"outcome":{"type":"success","pendingToolCallIds":["c"]},"usage":[{"provider":"p","model":"m","inputTokens":1,"outputTokens":1,"totalTokens":2,"reasoningTokens":0,"cachedInputTokens":0,"cacheWriteInputTokens":0}]}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"subagentRunId":"s","id":"i","reason":"r","message":"m","toolCallId":"c","responseSchema":{"x":1},"expiresAt":"e","metadata":{"x":1}}]}}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}`,
		`{"type":"RUN_ERROR",` + base + `"message":"m","code":"c","usage":[{}]}`,
		`{"type":"SUBAGENT_STARTED",` + base + `"subagentRunId":"s","name":"n","description":"d","parentSubagentRunId":"p","parentToolCallId":"c","parentMessageId":"m"}`,
		`{"type":"SUBAGENT_FINISHED",` + base + `"subagentRunId":"s","result":{"x":1},"outcome":{"type":"suspended","interruptIds":["i"]}}`,
		`{"type":"SUBAGENT_ERROR",` + base + `"subagentRunId":"s","message":"m","code":"c"}`,
	} {
		known := func(text string) string {
			e, err := envelope.ReadEvent([]byte(text))
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return string(KnownEvent(e))
		}
		if _, err := event.Decode([]byte(text)); err != nil {
			t.Errorf("%s is not valid: %v", text, err)
		}
		var faults []event.Fault
		if _, err := event.Decode([]byte(text), event.Tolerant(&faults), event.Under(event.V1Minor1)); err != nil || len(faults) > 0 {
			t.Errorf("%s: %v %v", text, faults, err)
		}
		if got := known(text); got != text {
			t.Errorf("%s becomes\n%s", text, got)
		}
		// In each object that is not open.
		more := strings.NewReplacer(`{"x":1}`, `{"x":1}`, `{"`, `{"_new":[1],"`).Replace(text)
		if got := known(more); got != text {
			t.Errorf("%s becomes\n%s", more, got)
		}
	}
	for text, want := range map[string]string{
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"paused"}}`:                            `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"interrupt"}`:                                  `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":"interrupt"}`,
		`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"messages":[{"id":"u","role":"robot"},"text"]}}`: `{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"messages":["text"]}}`,
		`{"type":"CUSTOM","name":"n","value":1,"new":1}`:                                                            `{"type":"CUSTOM","name":"n","value":1,"new":1}`,
	} {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(KnownEvent(e)); got != want {
			t.Errorf("%s becomes\n%s, want\n%s", text, got, want)
		}
	}
}

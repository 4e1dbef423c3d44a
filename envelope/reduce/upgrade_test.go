package reduce

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// TestUpgrades has what events of AG-UI 0.x and of drafts, and damaged ones, become, and
// the places of the findings.
func TestUpgrades(t *testing.T) {
	t.Parallel()
	const binary = `{"type":"binary","mimeType":"image/png","data":"QQ=="}`
	const image = `{"type":"image","source":{"type":"data","value":"QQ==","mimeType":"image/png"}}`
	for _, test := range []struct{ name, events, messages, state, interrupts, found string }{
		{"binary parts of messages", `
			MESSAGES_SNAPSHOT{"messages":[{"x":1,"id":"a","role":"user","content":[` + binary + `],"name":null},{"role":"tool","id":"b","toolCallId":"t","content":[` + binary + `,{"type":"binary","mimeType":"image/png","id":"f"}]}]}
			RUN_STARTED{"threadId":"t","runId":"r","input":{"messages":[{"id":"c","role":"user","content":[{"text":"\u0061","type":"text"},{"type":"\u0062inary","mimeType":"text/plain","url":"u"}]}]}}`, `
			{"id":"a","role":"user","content":[` + image + `],"name":null}
			{"role":"tool","id":"b","toolCallId":"t","content":[` + image + `]}
			{"id":"c","role":"user","content":[{"type":"text","text":"a"},{"type":"document","source":{"type":"url","value":"u","mimeType":"text/plain"}}]}`, `{}`, `[]`,
			"/messages/0/x /messages/0/content/0 /messages/1/content/1 /input/messages/0/content/1"},
		{"binary parts with an equal part, and contents that only look like them", `
			MESSAGES_SNAPSHOT{"messages":[{"id":"a","role":"user","content":[` + binary + `,` + image + `]},{"id":"d","role":"user","content":[{"text":"\u0061 binary","type":"text"}]}]}`, `
			{"id":"a","role":"user","content":[` + image + `]}
			{"id":"d","role":"user","content":[{"text":"\u0061 binary","type":"text"}]}`, `{}`, `[]`, "/messages/0/content/0"},
		{"binary parts of a result", `
			TOOL_CALL_RESULT{"messageId":"m","toolCallId":"t","content":[` + binary + `]}`, `
			{"id":"m","toolCallId":"t","role":"tool","content":[` + image + `]}`, `{}`, `[]`, "/content/0"},
		{"names in snake case", `
			TEXT_MESSAGE_START{"message_id":"m"}
			TEXT_MESSAGE_CONTENT{"message_id":"m","delta":"Hi"}
			TEXT_MESSAGE_CONTENT{"message_id":"m","delta":"!"}`, `
			{"id":"m","role":"assistant","content":"Hi!"}`, `{}`, `[]`, "/message_id /message_id"},
		{"roles", `
			REASONING_MESSAGE_START{"messageId":"m","role":"assistant"}
			REASONING_MESSAGE_START{"messageId":"n"}
			TEXT_MESSAGE_START{"messageId":"o","role":"tool"}`, `
			{"id":"m","role":"reasoning","content":""}
			{"id":"n","role":"reasoning","content":""}
			{"id":"o","role":"assistant","content":""}`, `{}`, `[]`, "/role /role /role"},
		{"patches", `
			ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"p","content":["x"]}
			ACTIVITY_DELTA{"messageId":"a","activityType":"p","delta":[{"op":"add","path":"/-","value":1}]}
			STATE_DELTA{"patch":{"op":"add","path":"/a","value":1.50}}
			STATE_SNAPSHOT{"state":{"b":1e400}}`, `
			{"id":"a","role":"activity","activityType":"p","content":["x",1]}`, `{"b":1e400}`, `[]`, "/content /delta /patch /patch /state"},
		{"an outcome of a draft", `
			RUN_FINISHED{"threadId":"t","runId":"r","outcome":"interrupt","interrupt":{"id":"i","payload":{"prompt":"?"}},"result":null}`, ``, `{}`,
			`[{"id":"i","reason":"user_input","metadata":{"payload":{"prompt":"?"}}}]`, "/outcome"},
		{"fields that are not read", `
			TEXT_MESSAGE_START{"messageId":"m","rawEvent":null,"timestamp":"x","extra":null}`, `
			{"id":"m","role":"assistant","content":""}`, `{}`, `[]`, ""},
		{"THINKING events with fields that they do not have", `
			THINKING_TEXT_MESSAGE_START{"subagentRunId":"s","messageId":"no"}
			THINKING_TEXT_MESSAGE_CONTENT{"delta":"x","timestamp":null}`, `
			{"id":"thinking-0-1","role":"reasoning","content":"x","subagentRunId":"s"}`, `{}`, `[]`, "-"},
		{"strings as messages", `
			RUN_STARTED{"runId":"r","input":{"messages":["a",{"id":"b","role":"user","content":null},"c",5]}}`, `
			{"role":"user","id":"r-message-0","content":"a"}
			{"id":"b","role":"user","content":null}
			{"role":"user","id":"r-message-2","content":"c"}`, `{}`, `[]`, "/input/messages/0 event_field_malformed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := New(Options{})
			var places []string
			for _, f := range apply(t, r, events(test.events)...) {
				switch {
				case f.Code != finding.EventAltered:
					places = append(places, string(f.Code))
				case f.Pointer == "":
					places = append(places, "-")
				default:
					places = append(places, string(f.Pointer))
				}
				if f.Severity != finding.Warning || f.Offset == nil {
					t.Errorf("%v has severity %v and offset %v", f, f.Severity, f.Offset)
				}
			}
			if diff := cmp.Diff(test.found, strings.Join(places, " ")); diff != "" {
				t.Errorf("findings: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(messages(test.messages), string(r.AppendMessages(nil))); diff != "" {
				t.Errorf("messages: -want +got\n%s", diff)
			}
			if got := string(r.AppendState(nil)); got != test.state {
				t.Errorf("the state is %s, want %s", got, test.state)
			}
			if got := string(r.AppendInterrupts(nil)); got != test.interrupts {
				t.Errorf("the interrupts are %s, want %s", got, test.interrupts)
			}
			check(t, r)
		})
	}
}

// TestUpgradesAgree checks that an event and what a tolerant decode makes of it have the same
// effect. Messages in lists are kept as they are, so their events are not replaced.
func TestUpgradesAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r, upgraded := New(Options{}), New(Options{})
		var up event.Upgrader
		for _, text := range judge.Generate(rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)), judge.Generator{With: judge.Legacy | judge.ExtraKeys}) {
			e, err := envelope.ReadEvent([]byte(text))
			if err != nil {
				rt.Fatal(err)
			}
			r.Event(e)
			typed, err := event.Decode(e.Data, event.Tolerant(nil))
			if err != nil {
				rt.Fatal(err)
			}
			if typed = up.Upgrade(typed); !strings.HasPrefix(e.Type, "MESSAGES_") && !strings.HasPrefix(e.Type, "RUN_") {
				if e, err = envelope.ReadEvent(event.Append(nil, typed)); err != nil {
					rt.Fatal(err)
				}
			}
			for _, f := range upgraded.Event(e) {
				if f.Code == finding.EventAltered && e.Type != eventnames.MessagesSnapshot && e.Type != eventnames.RunStarted && e.Type != eventnames.RunFinished {
					rt.Fatalf("%s: %v", e.Data, f)
				}
			}
		}
		for _, text := range []func(r *Reducer) []byte{
			func(r *Reducer) []byte { return r.AppendMessages(nil) },
			func(r *Reducer) []byte { return r.AppendState(nil) },
		} {
			if a, b := string(text(r)), string(text(upgraded)); !judge.Equal(a, b) {
				rt.Fatalf("\n%s\n%s", a, b)
			}
		}
	})
}

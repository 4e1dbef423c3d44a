package compact

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

// lines returns the lines of a text, without empty ones and indents.
func lines(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// snapshot compacts events in ModeSnapshot, and returns the codes of the findings.
func snapshot(t testing.TB, l limits, events []string) (compacted []string, codes []finding.Code, err error) {
	t.Helper()
	report := func(f finding.Finding) { codes = append(codes, f.Code) }
	c := newSnapshots(Options{Mode: ModeSnapshot, Report: report}, emitTo(t, &compacted), l)
	err = feed(t, c, events)
	return compacted, codes, err
}

// snapshotFrom is like snapshot for a client that holds a request, unless it is nil.
func snapshotFrom(t testing.TB, o Options, request []byte, events []string) (compacted []string, codes []finding.Code, err error) {
	t.Helper()
	o.Mode, o.Report = ModeSnapshot, func(f finding.Finding) { codes = append(codes, f.Code) }
	c := New(o, emitTo(t, &compacted))
	if request != nil {
		if err := c.Seed(request); err != nil {
			return nil, codes, err
		}
	}
	err = feed(t, c.mode, events)
	return compacted, codes, err
}

// emitTo returns a function that appends events to a list.
func emitTo(t testing.TB, list *[]string) func([]byte) error {
	return func(data []byte) error {
		if _, err := envelope.ReadEvent(data); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		*list = append(*list, string(data))
		return nil
	}
}

// feed compacts events to their end, or to the first error.
func feed(t testing.TB, c compaction, events []string) error {
	t.Helper()
	for i, text := range events {
		e := event(t, text)
		e.Index = i
		if err := c.event(e); err != nil {
			return err
		}
		for i := range e.Data { // the compaction must not retain it
			e.Data[i] = 'x'
		}
	}
	return c.end()
}

// snapshotCase is a stream, what it becomes, and the codes of the findings. Compacting
// again changes nothing.
type snapshotCase struct {
	name, events, want string
	codes              []finding.Code
}

func (test snapshotCase) check(t *testing.T) {
	got, codes, err := snapshot(t, defaultLimits, lines(test.events))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lines(test.want), got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if !slices.Equal(codes, test.codes) {
		t.Errorf("the findings are %v, want %v", codes, test.codes)
	}
	again, _, err := snapshot(t, defaultLimits, got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("compacting again changes it: first -, then +:\n%s", diff)
	}
}

func TestSnapshot(t *testing.T) {
	for _, test := range []snapshotCase{
		{
			name: "a message and the state",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"TEXT_MESSAGE_START","messageId":"msg1","role":"user"}
				{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg1","delta":"Hello "}
				{"type":"STATE_SNAPSHOT","snapshot":{}}
				{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg1","delta":"world"}
				{"type":"TEXT_MESSAGE_END","messageId":"msg1"}
				{"type":"STATE_DELTA","delta":[{"op":"add","path":"/foo","value":1}]}
				{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/foo","value":2}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"msg1","role":"user","content":"Hello world"}]}
				{"type":"STATE_SNAPSHOT","snapshot":{"foo":2}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}`,
		},
		{
			name: "no run",
			events: `
				{"type":"TEXT_MESSAGE_START","messageId":"msg1","role":"user"}
				{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg1","delta":"Hello "}
				{"type":"TEXT_MESSAGE_END","messageId":"msg1"}
				{"type":"STATE_DELTA","delta":[{"op":"add","path":"/foo","value":1}]}
				{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/foo","value":2}]}`,
			want: `
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"msg1","role":"user","content":"Hello "}]}
				{"type":"STATE_SNAPSHOT","snapshot":{"foo":2}}`,
		},
		{
			name: "a run with nothing to say about messages has no snapshot",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"threadId":"t","runId":"1","messages":[]}}
				{"type":"CUSTOM","name":"x","value":1}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"threadId":"t","runId":"1","messages":[]}}
				{"type":"CUSTOM","name":"x","value":1}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}`,
		},
		{
			name: "a conversation that became empty",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"messages":[{"id":"u","role":"user","content":"a"}]}}
				{"type":"MESSAGES_SNAPSHOT","messages":[],"metadata":{"a":1}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"messages":[{"id":"u","role":"user","content":"a"}]}}
				{"type":"MESSAGES_SNAPSHOT","messages":[],"metadata":{"a":1}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}`,
		},
		{
			name: "tool calls, results, reasoning and activities",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"STEP_STARTED","stepName":"s"}
				{"type":"REASONING_START","messageId":"r"}
				{"type":"REASONING_MESSAGE_START","messageId":"r","role":"reasoning"}
				{"type":"REASONING_MESSAGE_CONTENT","messageId":"r","delta":"hm"}
				{"type":"REASONING_MESSAGE_END","messageId":"r"}
				{"type":"REASONING_END","messageId":"r"}
				{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":"r","encryptedValue":"x"}
				{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"look","parentMessageId":"a"}
				{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"q\":"}
				{"type":"RAW","event":{"any":1}}
				{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"1}"}
				{"type":"TOOL_CALL_END","toolCallId":"c","metadata":{"ms":5}}
				{"type":"TOOL_CALL_RESULT","messageId":"t1","toolCallId":"c","content":"found"}
				{"type":"TOOL_CALL_RESULT","messageId":"t2","toolCallId":"unknown","content":"lost"}
				{"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"PLAN","content":{"n":1}}
				{"type":"ACTIVITY_DELTA","messageId":"p","activityType":"PLAN","patch":[{"op":"replace","path":"/n","value":2}]}
				{"type":"TEXT_MESSAGE_CHUNK","messageId":"b","delta":"do"}
				{"type":"TEXT_MESSAGE_CHUNK","delta":"ne"}
				{"type":"STEP_FINISHED","stepName":"s"}
				{"type":"META","metaType":"m","payload":{}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1","result":1,"usage":[{"inputTokens":1}]}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1"}
				{"type":"STEP_STARTED","stepName":"s"}
				{"type":"RAW","event":{"any":1}}
				{"type":"STEP_FINISHED","stepName":"s"}
				{"type":"META","metaType":"m","payload":{}}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"r","role":"reasoning","content":"hm","encryptedValue":"x"},{"id":"a","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"look","arguments":"{\"q\":1}"},"metadata":{"ms":5}}]},{"id":"t1","toolCallId":"c","role":"tool","content":"found"},{"id":"t2","toolCallId":"unknown","role":"tool","content":"lost"},{"id":"p","role":"activity","activityType":"PLAN","content":{"n":2}},{"id":"b","role":"assistant","content":"done"}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1","result":1,"usage":[{"inputTokens":1}]}`,
		},
		{
			name: "the input of the second run repeats the first",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"messages":[{"id":"msg1","role":"user","content":"Hello"}]}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2","input":{"messages":[{"id":"msg1","role":"user","content":"Hello"},{"id":"msg2","role":"user","content":"How are you?"}]}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"messages":[{"id":"msg1","role":"user","content":"Hello"}]}}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"msg1","role":"user","content":"Hello"}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2","input":{"messages":[{"id":"msg2","role":"user","content":"How are you?"}]}}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"msg1","role":"user","content":"Hello"},{"id":"msg2","role":"user","content":"How are you?"}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}`,
		},
		{
			name: "a changed message stays in the input",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"messages":[{"id":"u","role":"user","content":"a"}]}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2","input":{"messages":[{"id":"u","role":"user","content":"b"}]}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"messages":[{"id":"u","role":"user","content":"a"}]}}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"a"}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2","input":{"messages":[{"id":"u","role":"user","content":"b"}]}}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"a"}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}`,
			codes: []finding.Code{finding.InputMessageDiffers},
		},
		{
			name: "branches",
			events: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"messages":[{"id":"u1","role":"user","content":"Tell me about Paris"}]}}
				{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2","parentRunId":"1","input":{"messages":[{"id":"u2","role":"user","content":"More"}]}}
				{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}
				{"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"PLAN","content":{}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}
				{"type":"RUN_STARTED","threadId":"t","runId":"3","parentRunId":"1","input":{"messages":[{"id":"u1","role":"user","content":"Tell me about Paris"},{"id":"u3","role":"user","content":"London instead"}]}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"3"}
				{"type":"RUN_STARTED","threadId":"t","runId":"4"}
				{"type":"STATE_DELTA","delta":[{"op":"add","path":"/m","value":4}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"4"}
				{"type":"RUN_STARTED","threadId":"t","runId":"5","parentRunId":"2"}
				{"type":"RUN_FINISHED","threadId":"t","runId":"5"}
				{"type":"RUN_STARTED","threadId":"other","runId":"6"}
				{"type":"RUN_FINISHED","threadId":"other","runId":"6"}
				{"type":"RUN_STARTED","threadId":"t","runId":"7","parentRunId":"6"}
				{"type":"STATE_DELTA","delta":[{"op":"add","path":"/m","value":7}]}
				{"type":"RUN_FINISHED","threadId":"t","runId":"7"}`,
			want: `
				{"type":"RUN_STARTED","threadId":"t","runId":"1","input":{"messages":[{"id":"u1","role":"user","content":"Tell me about Paris"}]}}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"Tell me about Paris"}]}
				{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"1"}
				{"type":"RUN_STARTED","threadId":"t","runId":"2","parentRunId":"1","input":{"messages":[{"id":"u2","role":"user","content":"More"}]}}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"Tell me about Paris"},{"id":"u2","role":"user","content":"More"},{"id":"p","role":"activity","activityType":"PLAN","content":{}}]}
				{"type":"STATE_SNAPSHOT","snapshot":{"n":2}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"2"}
				{"type":"RUN_STARTED","threadId":"t","runId":"3","parentRunId":"1","input":{"messages":[{"id":"u3","role":"user","content":"London instead"}]}}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"Tell me about Paris"},{"id":"u3","role":"user","content":"London instead"}],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":null}}}
				{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"3"}
				{"type":"RUN_STARTED","threadId":"t","runId":"4"}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"Tell me about Paris"},{"id":"u3","role":"user","content":"London instead"}]}
				{"type":"STATE_SNAPSHOT","snapshot":{"n":1,"m":4}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"4"}
				{"type":"RUN_STARTED","threadId":"t","runId":"5","parentRunId":"2"}
				{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"Tell me about Paris"},{"id":"u2","role":"user","content":"More"},{"id":"p","role":"activity","activityType":"PLAN","content":{}}]}
				{"type":"STATE_SNAPSHOT","snapshot":{"n":2}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"5"}
				{"type":"RUN_STARTED","threadId":"other","runId":"6"}
				{"type":"STATE_SNAPSHOT","snapshot":{}}
				{"type":"RUN_FINISHED","threadId":"other","runId":"6"}
				{"type":"RUN_STARTED","threadId":"t","runId":"7","parentRunId":"6"}
				{"type":"STATE_SNAPSHOT","snapshot":{"m":7}}
				{"type":"RUN_FINISHED","threadId":"t","runId":"7"}`,
			codes: []finding.Code{finding.ParentRunUnknown},
		},
	} {
		t.Run(test.name, test.check)
	}
}

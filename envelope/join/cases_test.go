package join_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/reduce"
)

// A joinCase is a run and the prelude of a client that joins where the script has a line with
// three dashes. Lines are events, such as RUN_STARTED{"runId":"r"}.
type joinCase struct{ name, script, prelude string }

const run = `RUN_STARTED{"threadId":"t","runId":"r"}
`

func joinCases() []joinCase {
	return []joinCase{{
		name: "text messages, with their role and name",
		script: run + `TEXT_MESSAGE_START{"messageId":"m1","role":"developer","name":"D","metadata":{"a":1}}
			TEXT_MESSAGE_CONTENT{"messageId":"m1","delta":"Hel"}
			TEXT_MESSAGE_START{"messageId":"m2"}
			---
			TEXT_MESSAGE_CONTENT{"messageId":"m1","delta":"lo","metadata":{"a":2}}
			TEXT_MESSAGE_END{"messageId":"m1"}
			TEXT_MESSAGE_END{"messageId":"m2"}
			RUN_FINISHED{"threadId":"t","runId":"r"}`,
		prelude: run + `MESSAGES_SNAPSHOT{"messages":[{"id":"m1","role":"developer","content":"Hel","name":"D","metadata":{"a":1}},{"id":"m2","role":"assistant","content":""}]}
			TEXT_MESSAGE_START{"messageId":"m1","role":"developer","name":"D"}
			TEXT_MESSAGE_START{"messageId":"m2","role":"assistant"}`,
	}, {
		name: "tool calls, with and without a parent",
		script: run + `TEXT_MESSAGE_START{"messageId":"m1","subagentRunId":"s"}
			TOOL_CALL_START{"toolCallId":"c1","toolCallName":"look","parentMessageId":"m1"}
			TOOL_CALL_ARGS{"toolCallId":"c1","delta":"{\"a\":"}
			TEXT_MESSAGE_END{"messageId":"m1"}
			TOOL_CALL_START{"toolCallId":"c2","toolCallName":"find"}
			---
			TOOL_CALL_ARGS{"toolCallId":"c1","delta":"1}","subagentRunId":"s"}
			TOOL_CALL_END{"toolCallId":"c1"}
			TOOL_CALL_END{"toolCallId":"c2"}
			RUN_FINISHED{"threadId":"t","runId":"r"}`,
		prelude: run + `MESSAGES_SNAPSHOT{"messages":[{"id":"m1","role":"assistant","content":"","subagentRunId":"s","toolCalls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"a\":"}}]},{"id":"c2","role":"assistant","toolCalls":[{"id":"c2","type":"function","function":{"name":"find","arguments":""}}]}]}
			TOOL_CALL_START{"toolCallId":"c1","toolCallName":"look","parentMessageId":"m1","subagentRunId":"s"}
			TOOL_CALL_START{"toolCallId":"c2","toolCallName":"find"}`,
	}, {
		name: "steps of the run and of a subagent",
		script: run + `STEP_STARTED{"stepName":"plan"}
			STEP_STARTED{"stepName":"plan","subagentRunId":"s"}
			STEP_STARTED{"stepName":"done"}
			STEP_FINISHED{"stepName":"done"}
			---
			STEP_FINISHED{"stepName":"plan","subagentRunId":"s"}
			STEP_FINISHED{"stepName":"plan"}
			RUN_FINISHED{"threadId":"t","runId":"r"}`,
		prelude: run + `MESSAGES_SNAPSHOT{"messages":[]}
			STEP_STARTED{"stepName":"plan"}
			STEP_STARTED{"stepName":"plan","subagentRunId":"s"}`,
	}, {
		name: "a span and its message of a subagent",
		script: run + `REASONING_START{"messageId":"p","subagentRunId":"s"}
			REASONING_MESSAGE_START{"messageId":"h","role":"reasoning","subagentRunId":"s"}
			REASONING_MESSAGE_CONTENT{"messageId":"h","delta":"Hm"}
			---
			REASONING_MESSAGE_CONTENT{"messageId":"h","delta":"m","subagentRunId":"s"}
			REASONING_MESSAGE_END{"messageId":"h"}
			REASONING_END{"messageId":"p","subagentRunId":"s"}
			RUN_FINISHED{"threadId":"t","runId":"r"}`,
		prelude: run + `MESSAGES_SNAPSHOT{"messages":[{"id":"h","role":"reasoning","content":"Hm","subagentRunId":"s"}]}
			REASONING_START{"messageId":"p","subagentRunId":"s"}
			REASONING_MESSAGE_START{"messageId":"h","role":"reasoning","subagentRunId":"s"}`,
	}, {
		name: "subagents, also those that have ended, because a later one can name them as its parent",
		script: run + `SUBAGENT_STARTED{"subagentRunId":"a","name":"A","description":"first"}
			SUBAGENT_STARTED{"subagentRunId":"b","name":"B","parentSubagentRunId":"a"}
			SUBAGENT_FINISHED{"subagentRunId":"a","result":1}
			SUBAGENT_STARTED{"subagentRunId":"c","name":"C"}
			SUBAGENT_ERROR{"subagentRunId":"c","message":"no"}
			TEXT_MESSAGE_START{"messageId":"m1","subagentRunId":"b"}
			---
			SUBAGENT_STARTED{"subagentRunId":"d","name":"D","parentSubagentRunId":"c"}
			SUBAGENT_STARTED{"subagentRunId":"e","name":"E","parentSubagentRunId":"a"}
			TEXT_MESSAGE_CONTENT{"messageId":"m1","delta":"x","subagentRunId":"b"}
			TEXT_MESSAGE_END{"messageId":"m1"}
			SUBAGENT_FINISHED{"subagentRunId":"b"}
			SUBAGENT_FINISHED{"subagentRunId":"d"}
			SUBAGENT_FINISHED{"subagentRunId":"e"}
			RUN_FINISHED{"threadId":"t","runId":"r"}`,
		prelude: run + `MESSAGES_SNAPSHOT{"messages":[{"id":"m1","role":"assistant","content":"","subagentRunId":"b"}]}
			SUBAGENT_STARTED{"subagentRunId":"a","name":"A","description":"first"}
			SUBAGENT_STARTED{"subagentRunId":"b","name":"B","parentSubagentRunId":"a"}
			SUBAGENT_FINISHED{"subagentRunId":"a","result":1}
			SUBAGENT_STARTED{"subagentRunId":"c","name":"C"}
			SUBAGENT_ERROR{"subagentRunId":"c","message":"no"}
			TEXT_MESSAGE_START{"messageId":"m1","role":"assistant","subagentRunId":"b"}`,
	}, {
		name: "chunks, one stream for each agent",
		script: run + `TEXT_MESSAGE_CHUNK{"messageId":"m1","name":"N","delta":"Hel","metadata":{"a":1}}
			TOOL_CALL_CHUNK{"toolCallId":"c1","toolCallName":"look","parentMessageId":"m2","delta":"{","subagentRunId":"s"}
			REASONING_MESSAGE_CHUNK{"messageId":"h1","delta":"Hm","subagentRunId":"u"}
			---
			TEXT_MESSAGE_CHUNK{"delta":"lo"}
			TOOL_CALL_CHUNK{"delta":"}","parentMessageId":"m2"}
			REASONING_MESSAGE_CHUNK{"delta":"m","subagentRunId":"u"}
			TEXT_MESSAGE_CHUNK{"messageId":"m1","role":"assistant","name":"N","delta":"!"}
			RUN_FINISHED{"threadId":"t","runId":"r"}`,
		prelude: run + `MESSAGES_SNAPSHOT{"messages":[{"id":"m1","role":"assistant","content":"Hel","name":"N","metadata":{"a":1}},{"id":"m2","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{"}}],"subagentRunId":"s"},{"id":"h1","role":"reasoning","content":"Hm","subagentRunId":"u"}]}
			TEXT_MESSAGE_CHUNK{"messageId":"m1","role":"assistant","name":"N"}
			TOOL_CALL_CHUNK{"toolCallId":"c1","toolCallName":"look","parentMessageId":"m2","subagentRunId":"s"}
			REASONING_MESSAGE_CHUNK{"messageId":"h1","subagentRunId":"u"}`,
	}, {
		name: "the state, which a patch changed",
		script: run + `STATE_SNAPSHOT{"snapshot":{"n":1}}
			STATE_DELTA{"delta":[{"op":"replace","path":"/n","value":2}]}
			---
			STATE_DELTA{"delta":[{"op":"add","path":"/m","value":3}]}`,
		prelude: run + `MESSAGES_SNAPSHOT{"messages":[]}
			STATE_SNAPSHOT{"snapshot":{"n":2}}`,
	}, {
		name: "THINKING, whose ids the client invents",
		script: run + `THINKING_START{"title":"T"}
			THINKING_TEXT_MESSAGE_START{}
			THINKING_TEXT_MESSAGE_CONTENT{"delta":"one"}
			THINKING_TEXT_MESSAGE_END{}
			TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"Hi"}
			THINKING_TEXT_MESSAGE_START{"metadata":{"a":1}}
			THINKING_TEXT_MESSAGE_CONTENT{"delta":"tw"}
			---
			THINKING_TEXT_MESSAGE_CONTENT{"delta":"o"}
			THINKING_TEXT_MESSAGE_END{}
			THINKING_END{}
			RUN_FINISHED{"threadId":"t","runId":"r"}`,
		prelude: run + forgets + `MESSAGES_SNAPSHOT{"messages":[{"id":"thinking-1-1","role":"reasoning","content":"one"},{"id":"m1","role":"assistant","content":"Hi"}],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":null}}}
			THINKING_START{}
			THINKING_TEXT_MESSAGE_START{"metadata":{"a":1}}
			THINKING_TEXT_MESSAGE_CONTENT{"delta":"tw"}`,
	}, {
		name: "RUN_STARTED with a part of the messages",
		script: `RUN_STARTED{"threadId":"t","runId":"q"}
			TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
			RUN_FINISHED{"threadId":"t","runId":"q"}
			RUN_STARTED{"threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[{"id":"u2","role":"user","content":"more"}]}}
			TEXT_MESSAGE_CHUNK{"messageId":"m2","delta":"tw"}
			---
			TEXT_MESSAGE_CHUNK{"delta":"o"}
			RUN_FINISHED{"threadId":"t","runId":"r"}`,
		prelude: `RUN_STARTED{"threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[{"id":"u2","role":"user","content":"more"}]}}
			` + forgets + `MESSAGES_SNAPSHOT{"messages":[{"id":"m1","role":"assistant","content":"one"},{"id":"u2","role":"user","content":"more"},{"id":"m2","role":"assistant","content":"tw"}],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":null}}}
			TEXT_MESSAGE_CHUNK{"messageId":"m2","role":"assistant"}`,
	}, {
		name: "activities, of which the client keeps others",
		script: run + `ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"PLAN","content":{"n":1}}
			ACTIVITY_DELTA{"messageId":"a","activityType":"PLAN","patch":[{"op":"replace","path":"/n","value":2}]}
			---
			ACTIVITY_DELTA{"messageId":"a","activityType":"PLAN","patch":[{"op":"add","path":"/m","value":3}]}`,
		prelude: run + `MESSAGES_SNAPSHOT{"messages":[{"id":"a","role":"activity","activityType":"PLAN","content":{"n":2}}],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":[]}}}`,
	}, {
		name: "activities of a type of which the agent sent all",
		script: run + `ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"PLAN","content":{}}
			ACTIVITY_SNAPSHOT{"messageId":"b","activityType":"CARD","content":{}}
			MESSAGES_SNAPSHOT{"messages":[],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":["PLAN"]}}}
			---
			RUN_FINISHED{"threadId":"t","runId":"r"}`,
		prelude: run + `MESSAGES_SNAPSHOT{"messages":[{"id":"b","role":"activity","activityType":"CARD","content":{}}],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":["PLAN"]}}}`,
	}, {
		name: "an activity whose content is no object",
		script: run + `ACTIVITY_SNAPSHOT{"messageId":"a","activityType":"PLAN","content":{},"metadata":{"k":1}}
			ACTIVITY_DELTA{"messageId":"a","activityType":"PLAN","patch":[{"op":"replace","path":"","value":[1]}]}
			---
			ACTIVITY_DELTA{"messageId":"a","activityType":"PLAN","patch":[{"op":"add","path":"/-","value":2}]}`,
		prelude: run + `MESSAGES_SNAPSHOT{"messages":[{"id":"a","role":"activity","activityType":"PLAN","metadata":{"k":1},"content":{}}],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":[]}}}
			ACTIVITY_DELTA{"messageId":"a","activityType":"PLAN","patch":[{"op":"replace","path":"","value":[1]}]}`,
	}, {
		name: "a tool result between messages that a client may have",
		script: run + `TOOL_CALL_START{"toolCallId":"c1","toolCallName":"look"}
			TOOL_CALL_END{"toolCallId":"c1"}
			TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"Hi"}
			TOOL_CALL_RESULT{"messageId":"x","toolCallId":"c1","content":"found"}
			---
			RUN_FINISHED{"threadId":"t","runId":"r"}`,
		prelude: run + forgets + `MESSAGES_SNAPSHOT{"messages":[{"id":"c1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"look","arguments":""}}]},{"id":"x","toolCallId":"c1","role":"tool","content":"found"},{"id":"m1","role":"assistant","content":"Hi"}],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":null}}}`,
	}, {
		name: "a snapshot of the agent that removes what is open, and renames a tool call",
		script: run + `TEXT_MESSAGE_START{"messageId":"m1","subagentRunId":"s"}
			TOOL_CALL_START{"toolCallId":"c1","toolCallName":"look"}
			TOOL_CALL_START{"toolCallId":"c2","toolCallName":"look","subagentRunId":"s"}
			MESSAGES_SNAPSHOT{"messages":[{"id":"m9","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"other","arguments":""}}]}]}
			---
			TEXT_MESSAGE_CONTENT{"messageId":"m1","delta":"lost","subagentRunId":"s"}
			TOOL_CALL_ARGS{"toolCallId":"c1","delta":"{}"}
			TOOL_CALL_ARGS{"toolCallId":"c2","delta":"lost","subagentRunId":"s"}
			TEXT_MESSAGE_END{"messageId":"m1"}
			TOOL_CALL_END{"toolCallId":"c1"}
			TOOL_CALL_END{"toolCallId":"c2"}
			RUN_FINISHED{"threadId":"t","runId":"r"}`,
		prelude: run + `TEXT_MESSAGE_START{"messageId":"m1","subagentRunId":"s"}
			TOOL_CALL_START{"toolCallId":"c1","toolCallName":"other","parentMessageId":"m9"}
			TOOL_CALL_START{"toolCallId":"c2","toolCallName":"","subagentRunId":"s"}
			` + forgets + `MESSAGES_SNAPSHOT{"messages":[{"id":"m9","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"other","arguments":""}}]}],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":null}}}`,
	}, {
		name: "a run that has ended",
		script: run + `SUBAGENT_STARTED{"subagentRunId":"a","name":"A"}
			TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"Hi"}
			SUBAGENT_FINISHED{"subagentRunId":"a"}
			RUN_FINISHED{"threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"ask"}]}}
			---`,
		prelude: run + `MESSAGES_SNAPSHOT{"messages":[{"id":"m1","role":"assistant","content":"Hi"}]}
			RUN_FINISHED{"threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"ask"}]}}`,
	}, {
		name: "a run that failed after its end, with a message open",
		script: run + `RUN_FINISHED{"threadId":"t","runId":"r"}
			RUN_ERROR{"message":"late"}
			---
			RUN_STARTED{"threadId":"t","runId":"r2"}
			TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"Hi"}
			RUN_ERROR{"message":"no"}`,
		prelude: run + `MESSAGES_SNAPSHOT{"messages":[]}
			RUN_FINISHED{"threadId":"t","runId":"r"}
			RUN_ERROR{"message":"late"}`,
	}}
}

// forgets are the events with which a client forgets all messages.
const forgets = `MESSAGES_SNAPSHOT{"messages":[{"id":"p20export.join","role":"reasoning","content":""}],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":null}}}
			ACTIVITY_SNAPSHOT{"messageId":"p20export.join","activityType":"p20export.join","content":{}}
			`

// events returns the events of a script, and the number of those before its dashes.
func events(script string) (list []string, cut int) {
	for line := range strings.Lines(script) {
		switch name, members, ok := strings.Cut(strings.TrimSpace(line), "{"); {
		case name == "---":
			cut = len(list)
		case ok && members == "}":
			list = append(list, fmt.Sprintf(`{"type":%q}`, name))
		case ok:
			list = append(list, fmt.Sprintf(`{"type":%q,%s`, name, members))
		}
	}
	return list, cut
}

func TestCases(t *testing.T) {
	for _, c := range joinCases() {
		t.Run(c.name, func(t *testing.T) {
			list, cut := events(c.script)
			want, _ := events(c.prelude)
			whole := reduce.New(reduce.Options{Dialect: reduce.Client})
			for _, e := range list {
				whole.Event(read(t, e))
			}
			if f := breaches(t, list); f != "" {
				t.Fatal(f)
			}
			s := newServer()
			for i, e := range list {
				s.take(t, e)
				if prelude := s.prelude(t); i+1 == cut {
					if diff := cmp.Diff(want, prelude); diff != "" {
						t.Errorf("(-want +got)\n%s", diff)
					}
				}
				for seen := range i + 2 {
					old := newServer()
					for _, e := range list[:seen] {
						old.take(t, e)
					}
					if problem := checkCut(t, s, old.reducer, list[i+1:], ends(t, whole)); problem != "" {
						t.Fatalf("cut %d, seen %d: %s", i+1, seen, problem)
					}
				}
			}
		})
	}
}

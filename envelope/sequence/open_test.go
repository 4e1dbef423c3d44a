package sequence_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/sequence"
)

// TestOpen lists what is open after each event.
func TestOpen(t *testing.T) {
	c := sequence.New(sequence.Options{})
	for i, test := range []struct{ event, want string }{
		{`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, ``},
		{`{"type":"TEXT_MESSAGE_START","messageId":"m"}`, `TEXT_MESSAGE_START m`},
		{`{"type":"STEP_STARTED","stepName":"p","subagentRunId":""}`, `TEXT_MESSAGE_START m, STEP_STARTED p of ""`},
		{`{"type":"TEXT_MESSAGE_END","messageId":"m"}`, `STEP_STARTED p of ""`},
		{`{"type":"TEXT_MESSAGE_CONTENT","messageId":"gone","delta":""}`, `STEP_STARTED p of ""`},
		{`{"type":"SUBAGENT_STARTED","subagentRunId":"a","name":"A"}`, `STEP_STARTED p of "", SUBAGENT_STARTED a of "a"`},
		{`{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","subagentRunId":"a","delta":"{"}`,
			`STEP_STARTED p of "", SUBAGENT_STARTED a of "a", TOOL_CALL_START c of "a" {"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"f","subagentRunId":"a"}`},
		{`{"type":"SUBAGENT_FINISHED","subagentRunId":"a"}`, `STEP_STARTED p of ""`},
		{`{"type":"STEP_FINISHED","stepName":"p","subagentRunId":""}`, ``},
		{`{"type":"REASONING_START","messageId":"h","subagentRunId":"a"}`, `REASONING_START h of "a"`},
		{`{"type":"REASONING_MESSAGE_CHUNK","messageId":"h","delta":"x"}`, `REASONING_START h of "a", REASONING_MESSAGE_START h of "a" {"type":"REASONING_MESSAGE_CHUNK","messageId":"h"}`},
		{`{"type":"REASONING_END","messageId":"h"}`, ``},
		{`{"type":"THINKING_START"}`, `REASONING_START (thinking)`},
		{`{"type":"THINKING_TEXT_MESSAGE_START"}`, `REASONING_START (thinking), REASONING_MESSAGE_START (thinking)`},
		{`{"type":"THINKING_START","subagentRunId":"b"}`, `REASONING_MESSAGE_START (thinking), REASONING_START (thinking) of "b"`},
		{`{"type":"THINKING_END"}`, `REASONING_MESSAGE_START (thinking)`},
		{`{"type":"RUN_ERROR","message":"no"}`, ``},
	} {
		e := read(t, i, test.event)
		c.Event(e)
		var got []string
		for _, o := range c.Open() {
			text := o.Type + " " + o.ID
			if o.Thinking {
				text += "(thinking)"
			}
			if o.Tagged {
				text += fmt.Sprintf(" of %q", o.Subagent)
			}
			if o.Chunk != nil {
				text += " " + string(o.Chunk)
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("after %s: (-want +got)\n%s", test.event, diff)
		}
	}
	if c.Full() {
		t.Error("the run exceeds a limit")
	}
}

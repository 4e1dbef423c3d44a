package artifact_test

import (
	"strings"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
)

// smuggling are keys that stand for an AG-UI event family, in several spellings.
var smuggling = []string{
	"STATE_SNAPSHOT", "STATE_DELTA", "RAW", "CUSTOM", "MESSAGES_SNAPSHOT", "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR",
	"STEP_STARTED", "STEP_FINISHED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TEXT_MESSAGE_CHUNK",
	"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK", "TOOL_CALL_RESULT",
	"ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_START", "REASONING_END", "REASONING_MESSAGE_START",
	"REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_MESSAGE_CHUNK", "REASONING_ENCRYPTED_VALUE",
	"SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR",
	"THINKING_START", "THINKING_END", "THINKING_TEXT_MESSAGE_START", "THINKING_TEXT_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_END", "META",
	"state_delta", "stateDelta", "State-Delta", "statedelta", "__state__", "raw-event",
	"state", "State", "STATE", "states", "events", "event", "rawEvent", "delta", "patch", "snapshot",
	"toolCalls", "tool_calls", "tool-calls", "toolCallId", "tool_call_id", "toolCallName", "toolCallResult", "parentMessageId",
	"activity", "activities", "activityType", "reasoning", "encryptedValue", "encrypted_content", "thinking",
	"step", "steps", "stepName", "subagent", "subagents", "subagentRunId", `st\u0061te`,
}

// innocent are keys outside the contract that do not stand for an event family.
var innocent = []string{
	"x", "metadata", "custom_field", "interstate", "estate", "stateful", "raws", "type", "timestamp", "input", "result", "outcome",
	"state.delta", "state delta", "ſtate", strings.Repeat("_", 60) + "state",
}

func TestFamiliesAnywhere(t *testing.T) {
	for _, key := range smuggling {
		name := strings.ReplaceAll(key, `\u0061`, "a")
		for _, tt := range []struct {
			old, new string
			want     []string
		}{
			{`"schema"`, `^"` + key + `":{"events":[{"state":1}]},"schema"`, []string{"extra_event_family /" + name}},
			{`"hi"`, `"hi",^"` + key + `":[]`, []string{"extra_event_family /messages/0/" + name}},
			{`"schema"`, `^"x":[0,{"y":{^"` + key + `":null}}],"schema"`, []string{"key_unknown /x", "extra_event_family /x/1/y/" + name}},
			{`"hi"`, `^{^"` + key + `":1}`, []string{"wrong_type /messages/0/content", "extra_event_family /messages/0/content/" + name}},
			{`[{"id":"m1","role":"user","content":"hi"}]`, `^{^"` + key + `":1}`, []string{"wrong_type /messages", "extra_event_family /messages/" + name}},
			{`"user"`, `^"` + key + `"`, []string{"extra_event_family /messages/0/role"}},
		} {
			mustFind(t, with(t, base, tt.old, tt.new), artifact.V1, tt.want...)
		}
		_, findings := artifact.Decode([]byte(with(t, base, `"RUN_FINISHED"`, `"`+key+`"`)), artifact.V1)
		own := key == "RUN_FINISHED" || key == "RUN_ERROR"
		if finding.Has(findings, finding.ExtraEventFamily) == own {
			t.Errorf("%s as terminal value: %v", key, findings)
		}
	}
	for _, key := range innocent {
		mustFind(t, with(t, base, `"schema"`, `^"`+key+`":{"`+key+`":1},"schema"`), artifact.V1, "key_unknown /"+key)
		mustFind(t, with(t, base, `"hi"`, `"hi",^"`+key+`":1`), artifact.V1, "key_unknown /messages/0/"+key)
		mustFind(t, with(t, base, `"user"`, `^"`+key+`"`), artifact.V1, "wrong_value /messages/0/role")
		mustFind(t, with(t, base, `"RUN_FINISHED"`, `^"`+key+`"`), artifact.V1, "wrong_value /terminal_event")
	}
}

// The values of strings are not searched.
func TestFamiliesInTextAreFine(t *testing.T) {
	for _, word := range smuggling {
		text := with(t, failed, `"hi"`, `"`+word+`","name":"`+word+`"`)
		text = with(t, text, `"boom"`, `"`+word+`","error_code":"`+word+`"`)
		text = with(t, text, `"m1"`, `"`+word+`"`)
		text = with(t, text, `"t"`, `"`+word+`"`)
		mustFind(t, text, artifact.Assay)
	}
}

// Package eventnames lists the AG-UI event types. It is the only such list in the
// program.
//
// It must not know what the events mean.
package eventnames

import (
	"slices"
	"sync"
)

// The event types of AG-UI 1.0.
const (
	RunStarted              = "RUN_STARTED"
	RunFinished             = "RUN_FINISHED"
	RunError                = "RUN_ERROR"
	StepStarted             = "STEP_STARTED"
	StepFinished            = "STEP_FINISHED"
	TextMessageStart        = "TEXT_MESSAGE_START"
	TextMessageContent      = "TEXT_MESSAGE_CONTENT"
	TextMessageEnd          = "TEXT_MESSAGE_END"
	TextMessageChunk        = "TEXT_MESSAGE_CHUNK"
	ToolCallStart           = "TOOL_CALL_START"
	ToolCallArgs            = "TOOL_CALL_ARGS"
	ToolCallEnd             = "TOOL_CALL_END"
	ToolCallChunk           = "TOOL_CALL_CHUNK"
	ToolCallResult          = "TOOL_CALL_RESULT"
	StateSnapshot           = "STATE_SNAPSHOT"
	StateDelta              = "STATE_DELTA"
	MessagesSnapshot        = "MESSAGES_SNAPSHOT"
	ActivitySnapshot        = "ACTIVITY_SNAPSHOT"
	ActivityDelta           = "ACTIVITY_DELTA"
	Raw                     = "RAW"
	Custom                  = "CUSTOM"
	ReasoningStart          = "REASONING_START"
	ReasoningEnd            = "REASONING_END"
	ReasoningMessageStart   = "REASONING_MESSAGE_START"
	ReasoningMessageContent = "REASONING_MESSAGE_CONTENT"
	ReasoningMessageEnd     = "REASONING_MESSAGE_END"
	ReasoningMessageChunk   = "REASONING_MESSAGE_CHUNK"
	ReasoningEncryptedValue = "REASONING_ENCRYPTED_VALUE"
	SubagentStarted         = "SUBAGENT_STARTED"
	SubagentFinished        = "SUBAGENT_FINISHED"
	SubagentError           = "SUBAGENT_ERROR"
)

// The event types of AG-UI 0.x that AG-UI 1.0 removed.
const (
	ThinkingStart              = "THINKING_START"
	ThinkingEnd                = "THINKING_END"
	ThinkingTextMessageStart   = "THINKING_TEXT_MESSAGE_START"
	ThinkingTextMessageContent = "THINKING_TEXT_MESSAGE_CONTENT"
	ThinkingTextMessageEnd     = "THINKING_TEXT_MESSAGE_END"
)

// The event type that exists only in a draft of AG-UI.
const (
	Meta = "META"
)

// released lists the event types of AG-UI 1.0 and of earlier releases.
var released = []string{
	RunStarted,
	RunFinished,
	RunError,
	StepStarted,
	StepFinished,
	TextMessageStart,
	TextMessageContent,
	TextMessageEnd,
	TextMessageChunk,
	ToolCallStart,
	ToolCallArgs,
	ToolCallEnd,
	ToolCallChunk,
	ToolCallResult,
	StateSnapshot,
	StateDelta,
	MessagesSnapshot,
	ActivitySnapshot,
	ActivityDelta,
	Raw,
	Custom,
	ReasoningStart,
	ReasoningEnd,
	ReasoningMessageStart,
	ReasoningMessageContent,
	ReasoningMessageEnd,
	ReasoningMessageChunk,
	ReasoningEncryptedValue,
	SubagentStarted,
	SubagentFinished,
	SubagentError,
	ThinkingStart,
	ThinkingEnd,
	ThinkingTextMessageStart,
	ThinkingTextMessageContent,
	ThinkingTextMessageEnd,
}

// Released returns the event types of AG-UI 1.0 and of earlier releases.
func Released() []string { return slices.Clone(released) }

// All returns the event types that Released returns and those that were only in
// drafts.
func All() []string { return append(Released(), Meta) }

var byName = sync.OnceValue(func() map[string]string {
	all := make(map[string]string, len(released))
	for _, name := range released {
		all[name] = name
	}
	return all
})

// Intern returns the released event type with the given name without allocating,
// or "" if there is none.
func Intern(name []byte) string { return byName()[string(name)] }

// IsReleased reports whether a release of AG-UI has the event type.
func IsReleased(name string) bool { return byName()[name] != "" }

// Count returns the number of event types in Released.
func Count() int { return len(released) }

package chunk

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event/names"
)

// The keys of a chunk, apart from those of all events.
const (
	messageID       = "messageId"
	toolCallID      = "toolCallId"
	toolCallName    = "toolCallName"
	parentMessageID = "parentMessageId"
	role            = "role"
	name            = "name"
	delta           = "delta"
	subagentRunID   = "subagentRunId"
	metadata        = "metadata"
	rawEvent        = "rawEvent"
)

// shape describes the chunks of one type.
type shape struct {
	chunk, start, content, end string // event types
	noun                       string // what a stream of such chunks is
	id                         string // the key of the stream's id
	repeated                   [2]string
	needed                     string // another key that the first chunk must have
	role                       string // the role of START if the chunk has none
}

var (
	textShape = &shape{
		chunk: names.TextMessageChunk, start: names.TextMessageStart, content: names.TextMessageContent, end: names.TextMessageEnd,
		noun: "text message", id: messageID, repeated: [2]string{role, name}, role: `"assistant"`,
	}
	toolShape = &shape{
		chunk: names.ToolCallChunk, start: names.ToolCallStart, content: names.ToolCallArgs, end: names.ToolCallEnd,
		noun: "tool call", id: toolCallID, repeated: [2]string{toolCallName, parentMessageID}, needed: toolCallName,
	}
	reasoningShape = &shape{
		chunk: names.ReasoningMessageChunk, start: names.ReasoningMessageStart, content: names.ReasoningMessageContent, end: names.ReasoningMessageEnd,
		noun: "reasoning message", id: messageID, role: `"reasoning"`,
	}
)

// describes reports whether AG-UI 1.0 defines the key for chunks of the shape.
func (s *shape) describes(m envelope.Member) bool {
	if m.Is("type", "timestamp", rawEvent, metadata, subagentRunID, delta, s.id) {
		return true
	}
	return s != reasoningShape && m.Is(s.repeated[:]...)
}

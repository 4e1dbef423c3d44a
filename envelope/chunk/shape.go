package chunk

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/eventnames"
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
		chunk: eventnames.TextMessageChunk, start: eventnames.TextMessageStart, content: eventnames.TextMessageContent, end: eventnames.TextMessageEnd,
		noun: "text message", id: messageID, repeated: [2]string{role, name}, role: `"assistant"`,
	}
	toolShape = &shape{
		chunk: eventnames.ToolCallChunk, start: eventnames.ToolCallStart, content: eventnames.ToolCallArgs, end: eventnames.ToolCallEnd,
		noun: "tool call", id: toolCallID, repeated: [2]string{toolCallName, parentMessageID}, needed: toolCallName,
	}
	reasoningShape = &shape{
		chunk: eventnames.ReasoningMessageChunk, start: eventnames.ReasoningMessageStart, content: eventnames.ReasoningMessageContent, end: eventnames.ReasoningMessageEnd,
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

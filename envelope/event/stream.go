package event

import (
	"slices"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

var speakers = []string{RoleDeveloper, RoleSystem, RoleAssistant, RoleUser}

var speakerRole kind[string] = textKind{values: speakers}

// speaker visits the role of a streamed message.
func speaker(f *fields, p *Optional[string]) {
	if f.d != nil {
		v, _ := f.object.Get("role")
		if role, _ := v.Text(); v.Kind == strictjson.String && !slices.Contains(speakers, role) {
			v, _ = f.find("role")
			f.d.report(MessageRole, "role", v.Start, "is %s and must be %s", finding.Quote(role), strings.Join(speakers, " or "))
			return
		}
	}
	may(f, "role", p, speakerRole)
}

// TextMessageStart begins a streamed message. Its text follows in TextMessageContent
// events, and TextMessageEnd ends it.
type TextMessageStart struct {
	Base
	SubagentRunID Optional[string]
	MessageID     string
	// Role is developer, system, assistant or user. Absent means assistant.
	Role Optional[string]
	// Name is the name of the author.
	Name Optional[string]
}

// Type returns TEXT_MESSAGE_START.
func (*TextMessageStart) Type() string { return eventnames.TextMessageStart }

func (e *TextMessageStart) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "messageId", &e.MessageID, text)
	speaker(f, &e.Role)
	may(f, "name", &e.Name, text)
}

// TextMessageContent adds text to a message.
type TextMessageContent struct {
	Base
	SubagentRunID Optional[string]
	MessageID     string
	// Delta may be empty, and may begin or end with half a surrogate pair.
	Delta string
}

// Type returns TEXT_MESSAGE_CONTENT.
func (*TextMessageContent) Type() string { return eventnames.TextMessageContent }

func (e *TextMessageContent) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "messageId", &e.MessageID, text)
	must(f, "delta", &e.Delta, text)
}

// TextMessageEnd ends a message.
type TextMessageEnd struct {
	Base
	SubagentRunID Optional[string]
	MessageID     string
}

// Type returns TEXT_MESSAGE_END.
func (*TextMessageEnd) Type() string { return eventnames.TextMessageEnd }

func (e *TextMessageEnd) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "messageId", &e.MessageID, text)
}

// TextMessageChunk stands for TextMessageStart, TextMessageContent and TextMessageEnd.
// The first chunk of a message has its id; later ones may leave it out.
type TextMessageChunk struct {
	Base
	SubagentRunID Optional[string]
	MessageID     Optional[string]
	// Role and Delta are as in TextMessageStart and TextMessageContent.
	Role, Delta, Name Optional[string]
}

// Type returns TEXT_MESSAGE_CHUNK.
func (*TextMessageChunk) Type() string { return eventnames.TextMessageChunk }

func (e *TextMessageChunk) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	may(f, "messageId", &e.MessageID, text)
	speaker(f, &e.Role)
	may(f, "delta", &e.Delta, text)
	may(f, "name", &e.Name, text)
}

// ToolCallStart begins a call of a tool. Its arguments follow in ToolCallArgs events.
type ToolCallStart struct {
	Base
	SubagentRunID Optional[string]
	ToolCallID    string
	// ToolCallName is the name of the tool.
	ToolCallName string
	// ParentMessageID is the assistant message that makes the call. If it is absent,
	// the call gets a message of its own.
	ParentMessageID Optional[string]
}

// Type returns TOOL_CALL_START.
func (*ToolCallStart) Type() string { return eventnames.ToolCallStart }

func (e *ToolCallStart) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "toolCallId", &e.ToolCallID, text)
	must(f, "toolCallName", &e.ToolCallName, text)
	may(f, "parentMessageId", &e.ParentMessageID, text)
}

// ToolCallArgs adds text to the arguments of a call.
type ToolCallArgs struct {
	Base
	SubagentRunID Optional[string]
	ToolCallID    string
	// Delta is part of a text that is usually JSON, which nothing enforces.
	Delta string
}

// Type returns TOOL_CALL_ARGS.
func (*ToolCallArgs) Type() string { return eventnames.ToolCallArgs }

func (e *ToolCallArgs) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "toolCallId", &e.ToolCallID, text)
	must(f, "delta", &e.Delta, text)
}

// ToolCallEnd says that the arguments of a call are complete, not that the tool ran.
type ToolCallEnd struct {
	Base
	SubagentRunID Optional[string]
	ToolCallID    string
}

// Type returns TOOL_CALL_END.
func (*ToolCallEnd) Type() string { return eventnames.ToolCallEnd }

func (e *ToolCallEnd) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "toolCallId", &e.ToolCallID, text)
}

// ToolCallChunk stands for ToolCallStart, ToolCallArgs and ToolCallEnd. The first chunk
// of a call has its id and name; later ones may leave them out.
type ToolCallChunk struct {
	Base
	SubagentRunID                             Optional[string]
	ToolCallID, ToolCallName, ParentMessageID Optional[string]
	Delta                                     Optional[string]
}

// Type returns TOOL_CALL_CHUNK.
func (*ToolCallChunk) Type() string { return eventnames.ToolCallChunk }

func (e *ToolCallChunk) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	may(f, "toolCallId", &e.ToolCallID, text)
	may(f, "toolCallName", &e.ToolCallName, text)
	may(f, "parentMessageId", &e.ParentMessageID, text)
	may(f, "delta", &e.Delta, text)
}

// ToolCallResult is what a tool returned. It makes a new message with the role tool.
type ToolCallResult struct {
	Base
	SubagentRunID Optional[string]
	// MessageID is the id of the new message.
	MessageID, ToolCallID string
	Content               Content
	// Role is tool, if it is present.
	Role Optional[string]
}

// Type returns TOOL_CALL_RESULT.
func (*ToolCallResult) Type() string { return eventnames.ToolCallResult }

func (e *ToolCallResult) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "messageId", &e.MessageID, text)
	must(f, "toolCallId", &e.ToolCallID, text)
	must(f, "content", &e.Content, contentKind{})
	may(f, "role", &e.Role, toolRole)
}

var toolRole kind[string] = textKind{values: []string{RoleTool}}

// ReasoningStart begins a span of reasoning, which can have any number of messages.
type ReasoningStart struct {
	Base
	SubagentRunID Optional[string]
	// MessageID identifies the span. A message may have the same id.
	MessageID string
}

// Type returns REASONING_START.
func (*ReasoningStart) Type() string { return eventnames.ReasoningStart }

func (e *ReasoningStart) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "messageId", &e.MessageID, text)
}

// ReasoningEnd ends a span of reasoning.
type ReasoningEnd struct {
	Base
	SubagentRunID Optional[string]
	MessageID     string
}

// Type returns REASONING_END.
func (*ReasoningEnd) Type() string { return eventnames.ReasoningEnd }

func (e *ReasoningEnd) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "messageId", &e.MessageID, text)
}

var reasoningRole kind[string] = textKind{values: []string{RoleReasoning}}

// ReasoningMessageStart begins a streamed message with the role reasoning.
type ReasoningMessageStart struct {
	Base
	SubagentRunID Optional[string]
	MessageID     string
}

// Type returns REASONING_MESSAGE_START.
func (*ReasoningMessageStart) Type() string { return eventnames.ReasoningMessageStart }

func (e *ReasoningMessageStart) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "messageId", &e.MessageID, text)
	if f.d != nil {
		if v, _ := f.object.Get("role"); v.Is(RoleAssistant) {
			v, _ = f.find("role")
			f.d.report(ReasoningRole, "role", v.Start, "is assistant and must be reasoning")
			return
		}
	}
	constant(f, "role", RoleReasoning, reasoningRole)
}

// ReasoningMessageContent adds text to a reasoning message.
type ReasoningMessageContent struct {
	Base
	SubagentRunID Optional[string]
	MessageID     string
	// Delta is as in TextMessageContent.
	Delta string
}

// Type returns REASONING_MESSAGE_CONTENT.
func (*ReasoningMessageContent) Type() string { return eventnames.ReasoningMessageContent }

func (e *ReasoningMessageContent) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "messageId", &e.MessageID, text)
	must(f, "delta", &e.Delta, text)
}

// ReasoningMessageEnd ends a reasoning message.
type ReasoningMessageEnd struct {
	Base
	SubagentRunID Optional[string]
	MessageID     string
}

// Type returns REASONING_MESSAGE_END.
func (*ReasoningMessageEnd) Type() string { return eventnames.ReasoningMessageEnd }

func (e *ReasoningMessageEnd) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "messageId", &e.MessageID, text)
}

// ReasoningMessageChunk stands for the three events of a reasoning message. See
// TextMessageChunk.
type ReasoningMessageChunk struct {
	Base
	SubagentRunID    Optional[string]
	MessageID, Delta Optional[string]
}

// Type returns REASONING_MESSAGE_CHUNK.
func (*ReasoningMessageChunk) Type() string { return eventnames.ReasoningMessageChunk }

func (e *ReasoningMessageChunk) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	may(f, "messageId", &e.MessageID, text)
	may(f, "delta", &e.Delta, text)
}

// ReasoningEncryptedValue adds a value that only the provider can read, and that a client
// returns on a later turn, to a message or tool call.
type ReasoningEncryptedValue struct {
	Base
	SubagentRunID Optional[string]
	// Subtype is tool-call or message, and EntityID the id of the tool call or message.
	Subtype, EntityID string
	EncryptedValue    string
	// EncryptedValueType says what kind of value it is, in words of the producer. It is new
	// in AG-UI 1.1. A client stores it with the value, and an event without it removes it.
	EncryptedValueType Optional[string]
}

var encryptedSubtype kind[string] = textKind{values: []string{"tool-call", "message"}}

// Type returns REASONING_ENCRYPTED_VALUE.
func (*ReasoningEncryptedValue) Type() string { return eventnames.ReasoningEncryptedValue }

func (e *ReasoningEncryptedValue) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "subtype", &e.Subtype, encryptedSubtype)
	must(f, "entityId", &e.EntityID, text)
	must(f, "encryptedValue", &e.EncryptedValue, text)
	encryptedType(f, &e.EncryptedValueType)
}

// The THINKING events of AG-UI 0.x are what became the REASONING events. They have no
// ids. No producer is known to write SubagentRunID, but the reference client reads it.
// See Upgrader.
type (
	// ThinkingStart begins a span of reasoning.
	ThinkingStart struct {
		Base
		SubagentRunID Optional[string]
		Title         Optional[string]
	}
	// ThinkingEnd ends a span of reasoning.
	ThinkingEnd struct {
		Base
		SubagentRunID Optional[string]
	}
	// ThinkingTextMessageStart begins a reasoning message.
	ThinkingTextMessageStart struct {
		Base
		SubagentRunID Optional[string]
	}
	// ThinkingTextMessageContent adds text to a reasoning message.
	ThinkingTextMessageContent struct {
		Base
		SubagentRunID Optional[string]
		Delta         string
	}
	// ThinkingTextMessageEnd ends a reasoning message.
	ThinkingTextMessageEnd struct {
		Base
		SubagentRunID Optional[string]
	}
)

// Type returns THINKING_START.
func (*ThinkingStart) Type() string { return eventnames.ThinkingStart }

// Type returns THINKING_END.
func (*ThinkingEnd) Type() string { return eventnames.ThinkingEnd }

// Type returns THINKING_TEXT_MESSAGE_START.
func (*ThinkingTextMessageStart) Type() string { return eventnames.ThinkingTextMessageStart }

// Type returns THINKING_TEXT_MESSAGE_CONTENT.
func (*ThinkingTextMessageContent) Type() string { return eventnames.ThinkingTextMessageContent }

// Type returns THINKING_TEXT_MESSAGE_END.
func (*ThinkingTextMessageEnd) Type() string { return eventnames.ThinkingTextMessageEnd }

func (e *ThinkingStart) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	may(f, "title", &e.Title, text)
}

func (e *ThinkingEnd) visit(f *fields) { may(f, "subagentRunId", &e.SubagentRunID, text) }

func (e *ThinkingTextMessageStart) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
}

func (e *ThinkingTextMessageContent) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "delta", &e.Delta, text)
}

func (e *ThinkingTextMessageEnd) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
}

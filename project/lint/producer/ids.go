package producer

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// kind is a kind of what an id names.
type kind string

// The kinds.
const (
	textMessage      kind = "text message"
	toolCall         kind = "tool call"
	step             kind = "step"
	reasoningSpan    kind = "reasoning span"
	reasoningMessage kind = "reasoning message"
	subagent         kind = "subagent"
	resultMessage    kind = "tool result"
	runID            kind = "run"
)

// key identifies something of a stream. The owner is only set for steps.
type key struct {
	kind      kind
	id, owner string
}

// key returns the key for an id.
func (c *Checker) key(k kind, id string) key { return key{kind: k, id: id} }

// state is the result of adding a key to what is known.
type state int

// The results.
const (
	isNew state = iota
	again
	full // there is no room
)

// known has the ids that a stream used.
type known struct {
	ids              map[key]bool
	bytes            int
	maxIDs, maxBytes int
}

// add adds a key.
func (n *known) add(k key) state {
	if n.ids[k] {
		return again
	}
	if len(n.ids) >= n.maxIDs || n.bytes+len(k.id)+len(k.owner) > n.maxBytes {
		return full
	}
	if n.ids == nil {
		n.ids = make(map[key]bool)
	}
	n.ids[k] = true
	n.bytes += len(k.id) + len(k.owner)
	return isNew
}

// messageIsKnown reports whether a message with an id was streamed or added by a result.
func (n *known) messageIsKnown(id string) bool {
	return n.ids[key{kind: textMessage, id: id}] || n.ids[key{kind: reasoningMessage, id: id}] || n.ids[key{kind: resultMessage, id: id}]
}

// checkResult checks TOOL_CALL_RESULT.
func (c *Checker) checkResult(e *envelope.Event) {
	if call, ok := text(e, "toolCallId"); ok && !c.lost && !c.unchecked && !c.known.ids[c.key(toolCall, call)] && !c.reducer.HasToolCall(call) {
		c.found(e, "W6", "toolCallId", "", "TOOL_CALL_RESULT names tool call %s, which neither the stream nor the messages have", finding.Quote(call))
	}
	id, ok := text(e, "messageId")
	if !ok {
		return
	}
	if c.known.messageIsKnown(id) {
		c.found(e, "W11", "messageId", string(resultMessage), "TOOL_CALL_RESULT has the messageId %s of an earlier message of the stream", finding.Quote(id))
	}
	if c.known.add(c.key(resultMessage, id)) == full {
		c.limit(e)
	}
}

// begin handles an event that opens a message or a tool call. A chunk may go on with what
// was open before.
func (c *Checker) begin(e *envelope.Event, k kind, name string) {
	id, ok := text(e, name)
	if !ok {
		return
	}
	key := c.key(k, id)
	isChunk := e.Type == eventnames.TextMessageChunk || e.Type == eventnames.ToolCallChunk || e.Type == eventnames.ReasoningMessageChunk
	switch used := c.known.ids[key] || k != toolCall && c.known.messageIsKnown(id); {
	case isChunk, !used, c.open.has(key):
	case k == toolCall:
		c.found(e, "W12", name, "", "%s has the toolCallId %s of a tool call that ended earlier in the stream", e.Type, finding.Quote(id))
	default:
		c.found(e, "W11", name, string(k), "%s has the messageId %s of an earlier message of the stream", e.Type, finding.Quote(id))
	}
	if c.known.add(key) == full {
		c.limit(e)
	}
}

package reduce

import (
	"iter"
	"slices"

	"github.com/p20export/p20export/envelope"
)

// A Conversation is a list of messages with a limited size, in which messages are found
// by their ids. A Reducer has one. A program with rules of its own for text messages
// may fill one without a Reducer.
type Conversation struct {
	messages list
	byID     map[string]*node // the first message with an id
	calls    callIndex
	history  int // how many messages isHistory
	bytes    int // of all messages
	limit    int // 0: none
}

// NewConversation returns an empty conversation. The limit is the maximum size of its
// messages in bytes, including their overhead, or 0.
func NewConversation(limit int) *Conversation { return &Conversation{limit: limit} }

// Len returns the number of messages.
func (c *Conversation) Len() int { return c.messages.len }

// BeginText adds a text message and returns it, or returns the first message with the
// id. An empty name is no name. BeginText returns nil if the message does not fit.
func (c *Conversation) BeginText(id, role, name string) *Message {
	n := c.find(id)
	if n == nil {
		m := newText(id, role, name)
		m.number = c.Len()
		if n = c.add(m); n == nil {
			return nil
		}
	}
	return n.Message
}

// Append appends the value of a string to the text of a message, and reports whether it
// fits. A content that is not a text is lost.
func (c *Conversation) Append(m *Message, delta envelope.Value) bool {
	if !c.reserve(len(delta.Raw)) {
		return false
	}
	text, changed := &m.text, 0
	if m.object != nil {
		text, changed = m.open().text(contentKey)
	}
	before := text.Len()
	text.Append(delta)
	c.bytes -= len(delta.Raw)
	c.account(m, changed+text.Len()-before)
	return true
}

// Find returns the first message with an id, or nil.
func (c *Conversation) Find(id string) *Message {
	if n := c.find(id); n != nil {
		return n.Message
	}
	return nil
}

// All calls yield for each message, in order.
func (c *Conversation) All(yield func(m *Message) bool) {
	for n := range c.messages.all {
		if !yield(n.Message) {
			return
		}
	}
}

// find returns the first message with an id, or nil.
func (c *Conversation) find(id string) *node { return c.byID[id] }

// add appends a message if it fits.
func (c *Conversation) add(m *Message) *node {
	if !c.reserve(m.bytes) {
		return nil
	}
	return c.push(m)
}

// push appends a message whose size is accounted for.
func (c *Conversation) push(m *Message) *node {
	n := c.messages.push(m)
	c.countHistory(m, 1)
	if c.byID == nil {
		c.byID = make(map[string]*node)
	}
	if _, ok := c.byID[m.id]; !ok {
		c.byID[m.id] = n
	}
	for i, call := range m.toolCalls() {
		c.calls.add(call.id, callRef{n, i})
	}
	return n
}

// insertResult inserts a tool result behind a node and the tool results that follow it.
func (c *Conversation) insertResult(at *node, m *Message) *node {
	n := c.messages.insertResult(at, m)
	c.countHistory(m, 1)
	if first := c.byID[m.id]; first == nil || n.before(first) {
		c.byID[m.id] = n
	}
	return n
}

// replace replaces the message of a node by one with the same id, whose size is
// accounted for.
func (c *Conversation) replace(n *node, m *Message) {
	c.bytes -= n.bytes
	c.calls.remove(n)
	c.countHistory(n.Message, -1)
	c.countHistory(m, 1)
	c.messages.replace(n, m)
}

// countHistory adds n to the number of messages that are history if m is.
func (c *Conversation) countHistory(m *Message, n int) {
	if m.isHistory() {
		c.history += n
	}
}

// size returns the size of all messages.
func (c *Conversation) size() (bytes int) {
	return sizeOf(c.All)
}

// sizeOf returns the size of messages. It counts repeated messages once.
func sizeOf(messages iter.Seq[*Message]) (bytes int) {
	seen := make(map[*Message]bool)
	for m := range messages {
		if m.extra != nil && m.repeats > 0 {
			if seen[m] {
				continue
			}
			seen[m] = true
		}
		bytes += m.bytes
	}
	return bytes
}

// replaceAll replaces all messages.
func (c *Conversation) replaceAll(messages []*Message) {
	c.bytes += sizeOf(slices.Values(messages)) - c.size()
	c.messages, c.calls, c.byID, c.history = list{}, callIndex{}, nil, 0
	for _, m := range messages {
		c.push(m)
	}
}

// reserve accounts for n more bytes, and reports whether they fit.
func (c *Conversation) reserve(n int) bool {
	if c.limit > 0 && c.bytes+n > c.limit {
		return false
	}
	c.bytes += n
	return true
}

// account adds n to the size of a message.
func (c *Conversation) account(m *Message, n int) {
	m.bytes += n
	c.bytes += n
}

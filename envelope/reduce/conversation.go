package reduce

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
)

// A Conversation is a list of messages with a limited size, in which messages are found
// by their ids. A Reducer has one.
type Conversation struct {
	messages list
	byID     map[string]*node // the first message with an id
	calls    callIndex
	history  int // how many messages isHistory
	bytes    int // of all messages
	limit    int // 0: none
	runs     int // how many RUN_STARTED there were
}

// Len returns the number of messages.
func (c *Conversation) Len() int { return c.messages.len }

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
	text.Append(delta.Raw)
	c.bytes -= len(delta.Raw)
	c.account(m, changed+text.Len()-before)
	return true
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
	c.settle(m)
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
	c.settle(m)
	n := c.messages.insertResult(at, m)
	c.countHistory(m, 1)
	if first := c.byID[m.id]; first == nil || n.before(first) {
		c.byID[m.id] = n
	}
	return n
}

// settle notes the run of a message that is new.
func (c *Conversation) settle(m *Message) {
	if m.run == 0 {
		m.run = c.runs + 1
	}
}

// replace replaces the message of a node by one with the same id, whose size is
// accounted for.
func (c *Conversation) replace(n *node, m *Message) {
	m.run = n.run
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

// repeatedBy reports whether messages repeat the whole conversation, as Merge defines it. It
// takes no time if no message of an assistant has a new id. Otherwise it looks no further
// than the first message that they lack.
func (c *Conversation) repeatedBy(messages []*Message) bool {
	isNew := func(m *Message) bool { return m.id == noID || c.find(m.id) == nil }
	if !slices.ContainsFunc(messages, func(m *Message) bool { return m.role == event.RoleAssistant && isNew(m) }) {
		return false
	}
	ids, longest := make(map[string]bool), 0
	contents := make(map[said]bool) // whether a message with a new id has the content
	for _, m := range messages {
		s, _ := m.said(math.MaxInt)
		longest = max(longest, len(s.text), len(s.parts))
		contents[s] = contents[s] || isNew(m)
		if !isNew(m) {
			ids[m.id] = true
		}
	}
	repeated := false
	for m := range c.All {
		switch m.role {
		case event.RoleUser, event.RoleAssistant, event.RoleTool:
		default:
			continue
		}
		if ids[m.id] {
			continue
		}
		s, short := m.said(longest)
		again, has := contents[s]
		if !short || !has {
			return false
		}
		repeated = repeated || again && m.role == event.RoleAssistant
	}
	return repeated
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

// list is the list of messages: a treap in the order of the conversation. Inserting
// a tool result behind those of the same assistant message, and comparing the places
// of two messages, take logarithmic time, however many messages and results there
// are.
type list struct {
	root, last *node
	len        int
}

// node is the place of a message.
type node struct {
	*Message
	up, left, right *node
	priority        uint32
	other           bool // the subtree contains a message that is not a tool result
}

// all calls yield for each node in order.
func (l *list) all(yield func(n *node) bool) {
	for n := l.root.leftmost(); n != nil; n = n.next() {
		if !yield(n) {
			return
		}
	}
}

// push appends a message.
func (l *list) push(m *Message) *node {
	n := l.newNode(m)
	if l.last == nil {
		l.root = n
	} else {
		l.last.right, n.up = n, l.last
	}
	l.last = n
	l.settle(n)
	return n
}

// insertResult inserts a message behind n and the tool results that follow n.
func (l *list) insertResult(n *node, m *Message) *node {
	before := n.nextOther()
	if before == nil {
		return l.push(m)
	}
	x := l.newNode(m)
	if before.left == nil {
		before.left, x.up = x, before
	} else {
		at := before.left
		for at.right != nil {
			at = at.right
		}
		at.right, x.up = x, at
	}
	l.settle(x)
	return x
}

// replace replaces the message of a node.
func (l *list) replace(n *node, m *Message) {
	n.Message = m
	for ; n != nil; n = n.up {
		n.update()
	}
}

func (l *list) newNode(m *Message) *node {
	l.len++
	return &node{Message: m, priority: rand.Uint32()}
}

// settle restores the order of priorities after n was added as a leaf.
func (l *list) settle(n *node) {
	n.update()
	for n.up != nil && n.up.priority < n.priority {
		l.rotate(n)
	}
	for up := n.up; up != nil && n.other && !up.other; up = up.up {
		up.other = true
	}
	if n.up == nil {
		l.root = n
	}
}

// rotate exchanges n and its parent.
func (l *list) rotate(n *node) {
	up := n.up
	var moved *node
	if up.left == n {
		moved = n.right
		up.left, n.right = moved, up
	} else {
		moved = n.left
		up.right, n.left = moved, up
	}
	if moved != nil {
		moved.up = up
	}
	n.up, up.up = up.up, n
	switch {
	case n.up == nil:
	case n.up.left == up:
		n.up.left = n
	default:
		n.up.right = n
	}
	up.update()
	n.update()
}

func (n *node) update() {
	n.other = !n.isResult() || n.left != nil && n.left.other || n.right != nil && n.right.other
}

func (n *node) leftmost() *node {
	for n != nil && n.left != nil {
		n = n.left
	}
	return n
}

func (n *node) next() *node {
	if n.right != nil {
		return n.right.leftmost()
	}
	for n.up != nil && n.up.right == n {
		n = n.up
	}
	return n.up
}

// nextOther returns the first node after n that is not a tool result, or nil.
func (n *node) nextOther() *node {
	if n.right != nil && n.right.other {
		return n.right.firstOther()
	}
	for n.up != nil {
		from := n
		n = n.up
		if n.left != from {
			continue
		}
		if !n.isResult() {
			return n
		}
		if n.right != nil && n.right.other {
			return n.right.firstOther()
		}
	}
	return nil
}

// firstOther returns the first node in a subtree that is not a tool result. There is
// one.
func (n *node) firstOther() *node {
	for {
		switch {
		case n.left != nil && n.left.other:
			n = n.left
		case !n.isResult():
			return n
		default:
			n = n.right
		}
	}
}

// before reports whether n precedes o, which is another node of the list.
func (n *node) before(o *node) bool {
	depth := func(n *node) (d int) {
		for ; n.up != nil; n = n.up {
			d++
		}
		return d
	}
	a, b := n, o
	da, db := depth(a), depth(b)
	var fromA, fromB *node // the last step
	for ; da > db; da-- {
		fromA, a = a, a.up
	}
	for ; db > da; db-- {
		fromB, b = b, b.up
	}
	for a != b {
		fromA, a = a, a.up
		fromB, b = b, b.up
	}
	switch {
	case fromA == nil: // n is above o
		return a.right == fromB
	default:
		return a.left == fromA
	}
}

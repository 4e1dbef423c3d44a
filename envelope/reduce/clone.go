package reduce

import (
	"maps"
	"slices"
)

// Clone returns a Reducer that has all that r has. Events of one have no effect on the other.
//
// The two share messages and the state until one of them changes these, so a clone takes time
// and memory in proportion to the number of messages, not to their sizes. They may be used by
// different goroutines.
func (r *Reducer) Clone() *Reducer {
	c := &Reducer{
		options: r.options, chunks: *r.chunks.Clone(), conversation: r.conversation.clone(), run: r.run.clone(),
		upgrades:  upgrades{thinking: r.upgrades.thinking, reported: maps.Clone(r.upgrades.reported)},
		requested: r.requested, patches: r.patches, merges: r.merges, changes: r.changes, full: r.full,
	}
	c.changes.Activities = slices.Clone(r.changes.Activities)
	r.state.shared, r.removed.shared = true, true
	c.state, c.removed = r.state, r.removed
	return c
}

// clone returns a copy that shares interrupts, which never change.
func (r *run) clone() run {
	c := *r
	c.interrupts = slices.Clone(r.interrupts)
	c.calls.started = slices.Clone(r.calls.started)
	c.calls.byID = maps.Clone(r.calls.byID)
	for id, p := range c.calls.byID {
		again := *p
		c.calls.byID[id] = &again
	}
	return c
}

// clone returns a copy that shares the messages, and marks them.
func (c *Conversation) clone() Conversation {
	again := *c
	nodes := make(map[*node]*node, c.Len())
	again.messages.root = c.messages.root.clone(nil, nodes)
	again.messages.last = nodes[c.messages.last]
	again.byID = maps.Clone(c.byID)
	for id, n := range again.byID {
		again.byID[id] = nodes[n]
	}
	again.calls.byID = maps.Clone(c.calls.byID)
	for id, at := range again.calls.byID {
		again.calls.byID[id] = callRef{nodes[at.node], at.index}
	}
	again.calls.more = maps.Clone(c.calls.more)
	for id, list := range again.calls.more {
		list = slices.Clone(list)
		for i, at := range list {
			list[i].node = nodes[at.node]
		}
		again.calls.more[id] = list
	}
	return again
}

// clone returns a copy of a subtree, and notes the copy of each node.
func (n *node) clone(up *node, nodes map[*node]*node) *node {
	if n == nil {
		return nil
	}
	n.share()
	c := &node{Message: n.Message, up: up, priority: n.priority, other: n.other}
	nodes[n] = c
	c.left, c.right = n.left.clone(c, nodes), n.right.clone(c, nodes)
	return c
}

// share marks the message as shared. Only a Reducer that shares it with nobody writes to it.
func (m *Message) share() {
	if !m.shared {
		m.shared = true
	}
}

// own prepares the message of a node for changes: if the message is shared, the Conversation
// gets a copy, in all places where it has the message.
func (c *Conversation) own(n *node) {
	old := n.Message
	if !old.shared {
		return
	}
	m := old.copy()
	if m.extra == nil || m.repeats == 0 {
		n.Message = m
		return
	}
	for at := range c.messages.all {
		if at.Message == old {
			at.Message = m
		}
	}
}

// copy returns a copy of the message that is not shared. They share texts, which a copy never
// changes in place.
func (m *Message) copy() *Message {
	c := *m
	c.shared = false
	c.text = m.text.copy()
	if m.extra != nil {
		x := *m.extra
		x.calls = make([]*call, len(m.calls))
		c.extra = &x
		for i, of := range m.calls {
			x.calls[i] = &call{record: *of.record.copy(m, &c), id: of.id}
		}
	}
	if m.object != nil {
		c.object = m.object.copy(m, &c)
	}
	return &c
}

// copy returns a copy of a record of a message for a copy of the message.
func (r *record) copy(from, to *Message) *record {
	c := &record{raw: r.raw}
	for name, v := range r.members.All {
		switch of := v.(type) {
		case *Text:
			text := &to.text
			if of != &from.text {
				text = new(Text)
				*text = of.copy()
			}
			v = text
		case *record:
			v = of.copy(from, to)
		case *content:
			v = &content{*of.Clone()}
		case *callList:
			v = &callList{to.extra}
		}
		c.members.Set(name, v)
	}
	return c
}

// copy returns a text that shares memory with t until it grows. No more can be appended to t.
func (t *Text) copy() Text { return Text{slices.Clip(t.bytes)} }

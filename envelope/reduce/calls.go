package reduce

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// callRef is the place of a tool call: its message and its index in it.
type callRef struct {
	node  *node
	index int
}

// callIndex finds the first tool call with an id. Events never create a second call
// with an id, but snapshots may contain several.
type callIndex struct {
	byID map[string]callRef
	more map[string][]callRef // the others, in order
}

// add adds a tool call behind all others.
func (x *callIndex) add(id string, c callRef) {
	if x.byID == nil {
		x.byID = make(map[string]callRef)
	}
	if _, ok := x.byID[id]; !ok {
		x.byID[id] = c
		return
	}
	if x.more == nil {
		x.more = make(map[string][]callRef)
	}
	x.more[id] = append(x.more[id], c)
}

// first returns the first tool call with an id.
func (x *callIndex) first(id string) (callRef, bool) {
	c, ok := x.byID[id]
	return c, ok
}

// remove removes the tool calls of the message of a node.
func (x *callIndex) remove(n *node) {
	for _, c := range n.toolCalls() {
		if x.byID[c.id].node != n {
			continue // the index finds another call, or this was repeated in n
		}
		delete(x.byID, c.id)
		for more := x.more[c.id]; len(more) > 0; {
			next := more[0]
			more = more[1:]
			x.more[c.id] = more
			if next.node != n && next.index < len(next.node.toolCalls()) && next.node.calls[next.index].id == c.id {
				x.byID[c.id] = next
				break
			}
		}
	}
}

// open returns the tool call for changes. The Conversation must own the node.
func (c callRef) open() *record {
	c.node.openCalls()
	object := &c.node.calls[c.index].record
	object.open()
	return object
}

// callStart handles TOOL_CALL_START. If the tool call exists, its name may change.
// Otherwise it is added to the assistant message that is its parent, to a new one with
// the id of the parent or, if there is no parent or it has another role, to a new one
// with the id of the tool call.
func (r *Reducer) callStart(e *envelope.Event) {
	id, ok := r.string(e, callIDKey)
	if !ok {
		return
	}
	name, ok := r.string(e, "toolCallName")
	if !ok {
		return
	}
	r.start(e, id)
	if c, ok := r.conversation.calls.first(id); ok {
		r.renameCall(e, c, name)
		r.fold(e, c.node, &c)
		return
	}
	n := r.callParent(e, id)
	size := entryBytes + len(id) + len(name)
	if n == nil || !r.reserve(e, size) {
		return
	}
	r.conversation.own(n)
	n.openCalls()
	n.bytes += size
	function := new(record)
	function.members.Set(nameKey, name)
	function.members.Set(argumentsKey, new(Text))
	c := &call{id: id}
	c.members.Set(idKey, id)
	c.members.Set("type", functionKey)
	c.members.Set(functionKey, function)
	n.calls = append(n.calls, c)
	at := callRef{n, len(n.calls) - 1}
	r.conversation.calls.add(id, at)
	r.fold(e, n, &at)
}

// callParent returns the message for a new tool call.
func (r *Reducer) callParent(e *envelope.Event, id string) *node {
	parent, _ := r.optional(e, "parentMessageId")
	if parent != "" {
		switch n := r.conversation.find(parent); {
		case n == nil:
			id = parent
		case n.role == event.RoleAssistant:
			return n
		default:
			r.warn(e, finding.ParentNotAssistant, "the parent %s of tool call %s has the role %s, so the tool call gets a message of its own", finding.Quote(parent), finding.Quote(id), finding.Quote(n.role))
		}
	}
	m := newMessage(id, event.RoleAssistant, idKey, id, roleKey, event.RoleAssistant)
	m.openCalls()
	if r.conversation.find(id) == nil {
		r.setTag(m, e)
	}
	return r.add(e, m)
}

// renameCall gives a tool call the name in a repeated TOOL_CALL_START.
func (r *Reducer) renameCall(e *envelope.Event, c callRef, name string) {
	r.conversation.own(c.node)
	function, added := c.open().record(functionKey)
	r.conversation.account(c.node.Message, added)
	if function.is(nameKey, name) || !r.reserve(e, len(name)) {
		return
	}
	old, _ := function.string(nameKey)
	r.warn(e, finding.ToolCallRenamed, "tool call %s begins again: its name was %s and is now %s", finding.Quote(c.node.calls[c.index].id), finding.Quote(old), finding.Quote(name))
	function.members.Set(nameKey, name)
	c.node.bytes += len(name)
	r.conversation.account(c.node.Message, -len(old))
}

// callContinue handles TOOL_CALL_ARGS and TOOL_CALL_END.
func (r *Reducer) callContinue(e *envelope.Event) {
	id, ok := r.string(e, callIDKey)
	if !ok {
		return
	}
	c, ok := r.conversation.calls.first(id)
	if !ok {
		r.unknown(e, "tool call", id)
		return
	}
	if e.Type == eventnames.ToolCallArgs {
		delta, ok := r.delta(e)
		if !ok || !r.reserve(e, len(delta.Raw)) {
			return
		}
		r.conversation.own(c.node)
		function, opened := c.open().record(functionKey)
		arguments, changed := function.text(argumentsKey)
		before := arguments.Len()
		arguments.Append(delta.Raw)
		r.conversation.bytes -= len(delta.Raw)
		r.conversation.account(c.node.Message, opened+changed+arguments.Len()-before)
	}
	r.fold(e, c.node, &c)
}

// callResult handles TOOL_CALL_RESULT. The result follows the message with the tool
// call and the results that follow it already.
func (r *Reducer) callResult(e *envelope.Event) {
	id, ok := r.string(e, messageIDKey)
	if !ok {
		return
	}
	callID, ok := r.string(e, callIDKey)
	if !ok {
		return
	}
	value, ok := e.Get(contentKey)
	if !ok {
		r.warn(e, finding.EventFieldMalformed, "%s has no content and is ignored", e.Type)
		return
	}
	if value.Kind == envelope.ArrayValue {
		s := stripper{path: []step{{name: []byte(`"content"`)}}}
		known := s.list(value, s.part)
		r.reportRemoved(e, "", value, &s)
		value = known
	}
	r.answer(e, callID)
	role, _ := r.optional(e, roleKey)
	if role == "" {
		role = event.RoleTool
	}
	m := newMessage(id, role, idKey, id, callIDKey, callID, roleKey, role)
	m.object.members.Set(contentKey, compact(value.Raw))
	m.bytes += len(callID) + len(value.Raw)
	r.setTag(m, e)
	if !r.reserve(e, m.bytes) {
		return
	}
	r.added(id)
	var n *node
	if c, ok := r.conversation.calls.first(callID); ok {
		n = r.conversation.insertResult(c.node, m)
		r.changes.Moved = r.changes.Moved || n.next() != nil
	} else {
		n = r.conversation.push(m)
	}
	r.fold(e, n, nil)
}

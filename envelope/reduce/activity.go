package reduce

import (
	"math"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/internal/jsonpatch"
	"github.com/p20export/p20export/finding"
)

// activitySnapshot handles ACTIVITY_SNAPSHOT. It creates an activity or, unless replace
// is false, replaces the content of one or a message of another role.
func (r *Reducer) activitySnapshot(e *envelope.Event) {
	id, ok := r.string(e, messageIDKey)
	if !ok {
		return
	}
	kind, ok := r.string(e, activityTypeKey)
	if !ok {
		return
	}
	value, ok := e.Get(contentKey)
	if !ok {
		r.warn(e, finding.EventFieldMalformed, "%s has no content and is ignored", e.Type)
		return
	}
	replace, _ := e.Get("replace")
	n := r.conversation.find(id)
	switch {
	case n == nil:
		if n = r.add(e, r.newActivity(e, id, kind, value)); n == nil {
			return
		}
	case replace.Kind == envelope.FalseValue && n.role != event.RoleActivity:
		return
	case replace.Kind == envelope.FalseValue:
	case n.role == event.RoleActivity:
		if !r.replaceActivity(e, n, kind, value) {
			return
		}
	default:
		m := r.newActivity(e, id, kind, value)
		if !r.reserve(e, m.bytes) {
			return
		}
		r.conversation.separate(n)
		r.conversation.replace(n, m)
	}
	r.fold(e, n, nil)
}

// newActivity returns a new activity.
func (r *Reducer) newActivity(e *envelope.Event, id, kind string, value envelope.Value) *Message {
	m := newMessage(id, event.RoleActivity, idKey, id, roleKey, event.RoleActivity, activityTypeKey, kind)
	m.more().activityType = kind
	m.object.members.Set(contentKey, compact(value.Raw))
	m.bytes += len(kind) + len(value.Raw)
	r.setTag(m, e)
	return m
}

// replaceActivity replaces the type, the content and the subagent of an activity, and
// reports whether they fit. Its metadata stays.
func (r *Reducer) replaceActivity(e *envelope.Event, n *node, kind string, value envelope.Value) bool {
	tag, tagged := r.optional(e, subagentKey)
	most := len(kind) + len(value.Raw) + len(tag)
	if !r.reserve(e, most) {
		return false
	}
	r.conversation.separate(n)
	members := &n.open().members
	added := n.setType(kind)
	added += n.object.set(contentKey, compact(value.Raw))
	added += len(tag) - size(n.object.get(subagentKey))
	if tagged {
		members.Set(subagentKey, tag)
	} else {
		members.Delete(subagentKey)
	}
	r.conversation.bytes -= most
	r.conversation.account(n.Message, added)
	return true
}

// setType sets the type of an activity, and returns the change in size.
func (m *Message) setType(kind string) (added int) {
	added = len(kind) - size(m.open().get(activityTypeKey))
	m.object.members.Set(activityTypeKey, kind)
	m.more().activityType = kind
	return added
}

// separate prepares the message of a node for changes, and gives the node a message of its
// own if the message is repeated.
func (c *Conversation) separate(n *node) {
	c.own(n)
	if n.extra != nil && n.repeats > 0 {
		n.repeats--
		v, o := read(n.append(nil))
		run := n.run
		n.Message = readMessage(v, o, math.MaxInt)
		n.run = run
		c.bytes += n.bytes
	}
}

// activityDelta handles ACTIVITY_DELTA.
func (r *Reducer) activityDelta(e *envelope.Event) {
	id, ok := r.string(e, messageIDKey)
	if !ok {
		return
	}
	kind, ok := r.string(e, activityTypeKey)
	if !ok {
		return
	}
	n := r.conversation.find(id)
	switch {
	case n == nil:
		r.unknown(e, "activity", id)
		return
	case n.role != event.RoleActivity:
		r.warn(e, finding.MessageUnknown, "message %s has the role %s, so %s is ignored", finding.Quote(id), finding.Quote(n.role), e.Type)
		return
	}
	r.fold(e, n, nil) // even if the patch does not apply
	ops, _ := e.Get("patch")
	most := len(ops.Raw) + len(kind)
	if !r.reserve(e, most) {
		return
	}
	r.conversation.bytes -= most
	r.conversation.separate(n)
	doc, err := r.document(n.Message)
	if err == nil {
		err = r.applyTo(e, doc, n.Message, ops)
	}
	if err != nil {
		r.patchFailed(e, err)
		return
	}
	r.conversation.account(n.Message, n.setType(kind))
}

// document returns the content of an activity as a document.
func (r *Reducer) document(m *Message) (*content, error) {
	switch v := m.open().get(contentKey).(type) {
	case *content:
		v.Budget = &r.patches
		return v, nil
	case rawJSON:
		doc := &content{jsonpatch.Document{Budget: &r.patches}}
		if err := doc.Reset(v.value()); err != nil {
			return nil, err
		}
		r.conversation.account(m, doc.Size()-len(v))
		m.object.members.Set(contentKey, doc)
		return doc, nil
	}
	doc := &content{jsonpatch.Document{Budget: &r.patches}}
	m.object.members.Set(contentKey, doc)
	return doc, doc.Reset(envelope.Value{}) // missing
}

// applyTo applies a patch to the content of an activity. A content that is null or has
// no value is patched like an empty object.
func (r *Reducer) applyTo(e *envelope.Event, doc *content, m *Message, ops envelope.Value) error {
	before := doc.Size()
	old := doc.Document
	if doc.Missing() || doc.Value() == nil {
		doc.Document = jsonpatch.Document{Budget: &r.patches}
		_ = doc.Reset(rawJSON("{}").value()) // an empty object exceeds no limit
	}
	err := r.patch(e, &doc.Document, "/patch", ops)
	if err != nil && (old.Missing() || old.Value() == nil) {
		doc.Document = old
	}
	r.conversation.account(m, doc.Size()-before)
	return err
}

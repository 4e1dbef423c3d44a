package reduce

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/jsonpatch"
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
	case replace.Kind == envelope.FalseValue && n.role != activityRole:
		return
	case replace.Kind == envelope.FalseValue:
	case n.role == activityRole:
		n.separate()
		if !r.set(e, n.Message, n.open(), contentKey, value) {
			return
		}
		n.setType(kind)
		n.object.members.Delete(subagentKey)
		r.setTag(n.Message, e)
	default:
		m := r.newActivity(e, id, kind, value)
		if !r.reserve(e, m.bytes) {
			return
		}
		r.conversation.replace(n, m)
	}
	r.fold(e, n.Message, nil)
}

// newActivity returns a new activity.
func (r *Reducer) newActivity(e *envelope.Event, id, kind string, value envelope.Value) *Message {
	m := newMessage(id, activityRole, idKey, id, roleKey, activityRole, activityTypeKey, kind)
	m.more().activityType = kind
	m.object.members.Set(contentKey, compact(value.Raw))
	m.bytes += len(kind) + len(value.Raw)
	r.setTag(m, e)
	return m
}

func (m *Message) setType(kind string) {
	m.open().members.Set(activityTypeKey, kind)
	m.more().activityType = kind
}

// separate gives a node a message of its own if the message is repeated.
func (n *node) separate() {
	if n.extra != nil && n.repeated {
		raw := rawJSON(n.append(nil))
		n.Message = readMessage(read(raw))
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
	case n.role != activityRole:
		r.warn(e, finding.MessageUnknown, "message %s has the role %s, so %s is ignored", finding.Quote(id), finding.Quote(n.role), e.Type)
		return
	}
	r.fold(e, n.Message, nil) // even if the patch does not apply
	ops, ok := e.Get("patch")
	if !ok {
		if ops, ok = e.Get("delta"); !ok { // drafts
			ops = rawJSON("[]").value()
		}
	}
	n.separate()
	doc, added, err := n.document()
	if err == nil {
		before := doc.Size()
		err = doc.Apply(ops, jsonpatch.Dialect(r.options.Dialect))
		r.conversation.account(n.Message, added+doc.Size()-before)
	}
	if err != nil {
		r.patchFailed(e, err)
		return
	}
	n.setType(kind)
}

// document returns the content of an activity as a document, and the change in size.
func (m *Message) document() (doc *content, added int, err error) {
	raw := rawJSON("{}")
	switch v := m.open().get(contentKey).(type) {
	case *content:
		return v, 0, nil
	case rawJSON:
		if v[0] != 'n' { // null
			raw = v
		}
		added = -len(v)
	}
	doc = new(content)
	if err := doc.Reset(raw.value()); err != nil {
		return nil, 0, err
	}
	m.object.members.Set(contentKey, doc)
	return doc, added + doc.Size(), nil
}

package reduce

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// textStart handles TEXT_MESSAGE_START.
func (r *Reducer) textStart(e *envelope.Event) {
	if id, ok := r.string(e, messageIDKey); ok {
		name, named := r.optional(e, nameKey)
		m := newText(id, Role(e), name)
		if named && name == "" {
			m.open().members.Set(nameKey, name)
		}
		r.begin(e, id, m)
	}
}

// reasoningStart handles REASONING_MESSAGE_START.
func (r *Reducer) reasoningStart(e *envelope.Event) {
	if id, ok := r.string(e, messageIDKey); ok {
		r.begin(e, id, newText(id, event.RoleReasoning, ""))
	}
}

// begin adds a message. If there is one with the id, it goes on instead, whatever its
// role, unless it is an activity.
func (r *Reducer) begin(e *envelope.Event, id string, m *Message) {
	n := r.conversation.find(id)
	if n == nil {
		r.setTag(m, e)
		if n = r.add(e, m); n == nil {
			return
		}
	} else if r.isActivity(e, n) {
		return
	}
	r.fold(e, n, nil)
}

// setTag sets the subagent of a new message.
func (r *Reducer) setTag(m *Message, e *envelope.Event) {
	if tag, ok := r.optional(e, subagentKey); ok {
		m.open().members.Set(subagentKey, tag)
		m.bytes += len(tag)
	}
}

// isActivity reports whether the message is an activity, whose content text would
// destroy.
func (r *Reducer) isActivity(e *envelope.Event, n *node) bool {
	if n.role == event.RoleActivity {
		r.warn(e, finding.ActivityIDReused, "message %s is an activity, so %s is ignored", finding.Quote(n.id), e.Type)
		return true
	}
	return false
}

// textContinue handles the CONTENT and END of text and reasoning messages.
func (r *Reducer) textContinue(e *envelope.Event) {
	if id, ok := r.string(e, messageIDKey); ok {
		r.proceed(e, id)
	}
}

// proceed continues or ends a text.
func (r *Reducer) proceed(e *envelope.Event, id string) {
	n := r.conversation.find(id)
	switch {
	case n == nil:
		r.unknown(e, "message", id)
		return
	case r.isActivity(e, n):
		return
	}
	switch e.Type {
	case eventnames.TextMessageContent, eventnames.ReasoningMessageContent:
		delta, ok := r.delta(e)
		r.conversation.own(n)
		if !ok || !r.fits(e, r.conversation.Append(n.Message, delta)) {
			return
		}
	}
	r.fold(e, n, nil)
}

// unknown warns that an event names a message or tool call that does not exist, unless
// that may be because of the limit.
func (r *Reducer) unknown(e *envelope.Event, what, id string) {
	if !r.full {
		r.warn(e, finding.MessageUnknown, "%s names %s %s, which does not exist; the event is ignored", e.Type, what, finding.Quote(id))
	}
}

// encryptedValue handles REASONING_ENCRYPTED_VALUE. The type of the value is stored with it;
// without one, the type of an older value is removed (AG-UI 1.1, Reasoning).
func (r *Reducer) encryptedValue(e *envelope.Event) {
	id, ok := r.string(e, "entityId")
	if !ok {
		return
	}
	if _, ok := r.string(e, encryptedKey); !ok {
		return
	}
	var m *Message
	var object *record
	switch subtype, _ := e.Get("subtype"); {
	case subtype.Is("tool-call"):
		c, ok := r.conversation.calls.first(id)
		if !ok {
			r.unknown(e, "tool call", id)
			return
		}
		r.conversation.own(c.node)
		m, object = c.node.Message, c.open()
	case subtype.Is("message"):
		n := r.conversation.find(id)
		if n == nil {
			r.unknown(e, "message", id)
			return
		}
		if r.isActivity(e, n) {
			return
		}
		r.conversation.own(n)
		m, object = n.Message, n.open()
	default:
		r.warn(e, finding.EventAltered, "the subtype of %s is not one that AG-UI defines; the event is ignored", e.Type)
		return
	}
	value, _ := e.Get(encryptedKey)
	if !r.set(e, m, object, encryptedKey, value) {
		return
	}
	if kind, ok := e.Get(encryptedTypeKey); ok && kind.Kind == envelope.StringValue && r.set(e, m, object, encryptedTypeKey, kind) {
		return
	} else if ok && kind.Kind != envelope.NullValue && kind.Kind != envelope.StringValue {
		r.warn(e, finding.EventFieldMalformed, "the %s of %s is not a string and is ignored", encryptedTypeKey, e.Type)
	}
	r.conversation.account(m, object.remove(encryptedTypeKey))
}

// set sets a member of a message, or of one of its tool calls, and reports whether the
// value fits.
func (r *Reducer) set(e *envelope.Event, m *Message, object *record, key string, v envelope.Value) bool {
	most := len(key) + len(v.Raw) + memberBytes
	if !r.reserve(e, most) {
		return false
	}
	r.conversation.bytes -= most
	r.conversation.account(m, object.set(key, compact(v.Raw)))
	return true
}

// fold folds the metadata of an event into that of the message of a node or, if c is not nil,
// of one of its tool calls. Values of keys that exist are replaced.
func (r *Reducer) fold(e *envelope.Event, n *node, c *callRef) {
	v, _ := e.Get(metadataKey)
	switch v.Kind {
	case 0, envelope.NullValue:
		return
	case envelope.ObjectValue:
	default:
		r.warn(e, finding.EventFieldMalformed, "the metadata of %s is not an object and is ignored", e.Type)
		return
	}
	_, incoming := read(v.Raw)
	most := len(v.Raw) + incoming.Len()*memberBytes
	if !r.reserve(e, most) {
		return
	}
	r.conversation.own(n)
	var object *record
	if c != nil {
		object = c.open()
	} else {
		object = n.open()
	}
	metadata, added := object.record(metadataKey)
	for member := range incoming.All {
		name, _ := member.Name.Text()
		added += metadata.set(name, compact(member.Value.Raw))
	}
	r.conversation.bytes -= most
	r.conversation.account(n.Message, added)
}

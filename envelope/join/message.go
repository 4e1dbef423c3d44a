package join

import (
	"slices"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// message is a message of the conversation. Its members are JSON texts.
type message struct {
	id, role                                   string
	name, tag, activityType, content, metadata []byte
}

// call is a tool call of a message.
type call struct {
	of   *message
	name []byte
}

// message remembers what a prelude needs of a message, and returns its text in the snapshot,
// which is empty if the snapshot does not have it.
func (c *conversation) message(v strictjson.Value, o *strictjson.Object, thinking *bool) []byte {
	role, _ := o.Get("role")
	activity, reasoning := role.Is(event.RoleActivity), role.Is(event.RoleReasoning)
	if *thinking && reasoning && o.Text("id") == c.changes.Message {
		c.thinking, *thinking = readMessage(o), false
		return nil
	}
	c.hasActivity = c.hasActivity || activity
	c.hasReasoning = c.hasReasoning || reasoning
	if len(c.input) > 0 {
		c.differs = c.differs || c.input[0] != o.Text("id")
		c.input = c.input[1:]
	}
	if len(c.messages) > 0 {
		id := o.Text("id")
		if known, needed := c.messages[id]; needed && known == nil {
			c.messages[id] = readMessage(o)
		}
	}
	if len(c.calls) > 0 {
		c.callsOf(o)
	}
	switch {
	case activity:
		return c.activity(v, o)
	case isPlain(o):
		return v.Raw
	}
	return repaired(v.Raw)
}

// readMessage reads the members of a message.
func readMessage(o *strictjson.Object) *message {
	get := func(name string) []byte {
		v, _ := o.Get(name)
		return v.Raw
	}
	return &message{
		id: o.Text("id"), role: o.Text("role"), name: get("name"), tag: get("subagentRunId"),
		activityType: get("activityType"), content: get("content"), metadata: get("metadata"),
	}
}

// callsOf remembers the tool calls of a message that are open.
func (c *conversation) callsOf(o *strictjson.Object) {
	calls, _ := o.Get("toolCalls")
	var of *message
	// The messages were read before, so there is no error.
	_ = strictjson.Elements(calls, func(_ int, _ strictjson.Value, one *strictjson.Object) error {
		id := one.Text("id")
		if known, needed := c.calls[id]; needed && known == nil {
			if of == nil {
				of = readMessage(o)
			}
			function, _ := one.Get("function")
			name, _ := function.Member("name")
			c.calls[id] = &call{of, name.Raw}
		}
		return nil
	})
}

// activity returns the text of an activity in the snapshot, with an object as its content.
func (c *conversation) activity(v strictjson.Value, o *strictjson.Object) []byte {
	content, ok := o.Get("content")
	if content.Kind == strictjson.ObjectStart {
		return repaired(v.Raw)
	}
	if ok {
		c.odd = append(c.odd, readMessage(o))
	}
	var b strictjson.Builder
	for member := range o.All {
		if !member.Is("content") {
			b.AddMember(member)
		}
	}
	b.Add("content", strictjson.Value{Kind: strictjson.ObjectStart, Raw: []byte("{}")})
	text, _ := b.Object()
	return repaired(text)
}

// isPlain reports whether a message has only a text and strings. Most have.
func isPlain(o *strictjson.Object) bool {
	for m := range o.All {
		switch {
		case m.Is("id", "role", "content", "name", "subagentRunId", "toolCallId", "encryptedValue", "encryptedValueType"):
			if m.Value.Kind != strictjson.String {
				return false
			}
		case m.Is("metadata"):
			if m.Value.Kind != strictjson.ObjectStart {
				return false
			}
		default:
			return false
		}
	}
	role, _ := o.Get("role")
	_, hasContent := o.Get("content")
	_, hasID := o.Get("id")
	_, hasCall := o.Get("toolCallId")
	return hasID && hasContent && hasCall == role.Is(event.RoleTool)
}

// repaired returns the text of a message without what a client refuses, such as null for an
// optional member. Requests of other clients can have that. The result is empty if a client
// would still refuse the message.
func repaired(text []byte) []byte {
	if accepted(text) {
		return text
	}
	m, err := event.DecodeMessage(text, event.Tolerant(nil))
	if err != nil {
		return nil
	}
	if text = event.AppendMessage(nil, m); !accepted(text) {
		return nil
	}
	return text
}

// accepted reports whether a client accepts a message in a snapshot. It removes members that
// it does not know.
func accepted(text []byte) bool {
	var faults []event.Fault
	_, err := event.DecodeMessage(text, event.Tolerant(&faults))
	return err == nil && !slices.ContainsFunc(faults, func(f event.Fault) bool { return f.Fatal })
}

// holds reports whether a snapshot with the message says whose a thing is that an event of
// the type opens and that has the same id.
func (m *message) holds(start string) bool {
	if start == eventnames.TextMessageStart {
		return m.role != event.RoleReasoning && m.role != event.RoleActivity
	}
	return m.role == event.RoleReasoning
}

// isText reports whether TEXT_MESSAGE_START may have the role of the message.
func (m *message) isText() bool {
	switch m.role {
	case event.RoleAssistant, event.RoleUser, event.RoleSystem, event.RoleDeveloper:
		return true
	}
	return false
}

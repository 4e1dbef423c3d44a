package join

import (
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/event/names"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// conversation is what a prelude needs of a conversation.
type conversation struct {
	changes reduce.Changes
	state   []byte // empty if there is none
	// messages and calls are the first ones with the ids of what is open.
	messages map[string]*message
	calls    map[string]*call
	// thinking is the message that THINKING events have open. It is not in the snapshot.
	thinking *message
	// odd are activities whose content is not an object, as a snapshot must have it. In the
	// snapshot it is empty.
	odd                       []*message
	hasActivity, hasReasoning bool   // in the snapshot
	list                      []byte // the messages of the snapshot
	// input are the ids of the messages in RUN_STARTED that are not found yet, and differs
	// means that they are not those with which the snapshot begins.
	input   []string
	differs bool
}

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

// read reads the messages of a conversation of which some things are open. It is that of a
// run whose RUN_STARTED is given.
func read(from *reduce.Reducer, open []sequence.Open, started []byte) *conversation {
	c := &conversation{changes: from.Changes(), messages: make(map[string]*message), calls: make(map[string]*call)}
	thinking := false
	for _, o := range open {
		switch {
		case o.Thinking:
			thinking = thinking || o.Type == names.ReasoningMessageStart
		case o.Type == names.ToolCallStart:
			c.calls[o.ID] = nil
		case o.Type != names.StepStarted && o.Type != names.SubagentStarted:
			c.messages[o.ID] = nil
		}
	}
	if c.changes.State {
		c.state = from.AppendState(nil)
	}
	messages := from.AppendMessages(nil)
	var o strictjson.Object
	// The Reducer wrote the text, so there is no error.
	list, _ := strictjson.ReadText(&o, new(strictjson.Decoder), messages)
	c.input = inputOf(started)
	c.list = append(make([]byte, 0, len(messages)), '[')
	_ = strictjson.Elements(list, func(_ int, v strictjson.Value, o *strictjson.Object) error {
		m := readMessage(o)
		if thinking && m.id == c.changes.Message && m.role == event.RoleReasoning {
			c.thinking, thinking = m, false
			return nil
		}
		c.note(m, o)
		if len(c.list) > 1 {
			c.list = append(c.list, ',')
		}
		c.list = c.append(c.list, m, v, o)
		return nil
	})
	c.list = append(c.list, ']')
	c.differs = c.differs || len(c.input) > 0
	return c
}

// inputOf returns the ids of the messages in the input of RUN_STARTED.
func inputOf(started []byte) (ids []string) {
	var o strictjson.Object
	_, _ = strictjson.ReadText(&o, new(strictjson.Decoder), started) // it was read before
	input, _ := o.Get("input")
	list, _ := input.Member("messages")
	_ = strictjson.Elements(list, func(_ int, _ strictjson.Value, o *strictjson.Object) error {
		ids = append(ids, o.Text("id"))
		return nil
	})
	return ids
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

// note remembers what a prelude needs of a message.
func (c *conversation) note(m *message, o *strictjson.Object) {
	c.hasActivity = c.hasActivity || m.role == event.RoleActivity
	c.hasReasoning = c.hasReasoning || m.role == event.RoleReasoning
	if len(c.input) > 0 {
		c.differs = c.differs || c.input[0] != m.id
		c.input = c.input[1:]
	}
	if known, needed := c.messages[m.id]; needed && known == nil {
		c.messages[m.id] = m
	}
	if len(c.calls) == 0 {
		return
	}
	calls, _ := o.Get("toolCalls")
	// The messages were read before, so there is no error.
	_ = strictjson.Elements(calls, func(_ int, _ strictjson.Value, o *strictjson.Object) error {
		id := o.Text("id")
		if known, needed := c.calls[id]; needed && known == nil {
			function, _ := o.Get("function")
			name, _ := function.Member("name")
			c.calls[id] = &call{m, name.Raw}
		}
		return nil
	})
}

// append appends a message to those of the snapshot.
func (c *conversation) append(dst []byte, m *message, v strictjson.Value, o *strictjson.Object) []byte {
	if content, _ := o.Get("content"); m.role != event.RoleActivity || content.Kind == strictjson.ObjectStart {
		return append(dst, v.Raw...)
	}
	var b strictjson.Builder
	for member := range o.All {
		if !member.Is("content") {
			b.AddMember(member)
		}
	}
	b.Add("content", strictjson.Value{Kind: strictjson.ObjectStart, Raw: []byte("{}")})
	text, _ := b.Object()
	if len(m.content) > 0 {
		c.odd = append(c.odd, m)
	}
	return append(dst, text...)
}

// lacks reports whether the conversation lacks a message or a tool call that is open: a
// snapshot of the agent has removed it. What opens it would create it.
func (c *conversation) lacks(open []sequence.Open) bool {
	for _, o := range open {
		switch o.Type {
		case names.ToolCallStart:
			if o.Chunk == nil && c.calls[o.ID] == nil {
				return true
			}
		case names.TextMessageStart, names.ReasoningMessageStart:
			if o.Chunk == nil && (o.Thinking && c.thinking == nil || !o.Thinking && c.messages[o.ID] == nil) {
				return true
			}
		}
	}
	return false
}

// replaces reports whether a client may not end with the right messages after a snapshot,
// which leaves what a client has in its order. A client has the messages in RUN_STARTED, and
// it may have older ones of the thread.
func (c *conversation) replaces() bool {
	return c.differs || c.changes.Moved || c.changes.Repeated || c.changes.Thinking || c.changes.Reasoning && !c.hasReasoning
}

// holds reports whether a snapshot with the message says whose a thing is that an event of
// the type opens and that has the same id.
func (m *message) holds(start string) bool {
	if start == names.TextMessageStart {
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

// fields is the text of a JSON object that is being written.
type fields []byte

// add adds a member whose value is a JSON text, unless it is empty.
func (f fields) add(name string, value []byte) fields {
	if len(value) == 0 {
		return f
	}
	next := byte(',')
	if len(f) == 0 {
		next = '{'
	}
	return append(append(append(append(f, next, '"'), name...), '"', ':'), value...)
}

// str adds a member whose value is a string.
func (f fields) str(name, value string) fields {
	return f.add(name, jsonvalue.AppendString(nil, value))
}

// object returns the object.
func (f fields) object() []byte { return append(f, '}') }

// texts returns a list of strings as a JSON array.
func texts(list []string) string {
	text := []byte("[")
	for i, s := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = jsonvalue.AppendString(text, s)
	}
	return string(append(text, ']'))
}

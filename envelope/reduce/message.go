package reduce

import (
	"errors"
	"math"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// The keys of messages, tool calls and events.
const (
	idKey            = "id"
	roleKey          = "role"
	nameKey          = "name"
	contentKey       = "content"
	callsKey         = "toolCalls"
	functionKey      = "function"
	argumentsKey     = "arguments"
	metadataKey      = "metadata"
	encryptedKey     = "encryptedValue"
	encryptedTypeKey = "encryptedValueType"
	activityTypeKey  = "activityType"
	subagentKey      = "subagentRunId"
	messageIDKey     = "messageId"
	callIDKey        = "toolCallId"
	messagesKey      = "messages"
)

// noID is the id of a message without an id. It is not the value of a JSON string,
// because it is not WTF-8.
const noID = "\xff"

// A Message is one message of a conversation.
type Message struct {
	id, role, name string
	// text is the content of a message that a stream began.
	text Text
	// object has all members. It is nil while the message has only an id, a role, a
	// text and perhaps a name.
	object *record
	bytes  int // its size, with overhead
	run    int // one more than Run, or 0 if it is not in a conversation yet
	// shared means that a View or another Reducer has the message too, so it must not change.
	// See Conversation.own.
	shared bool
	*extra // nil if it would be empty
}

// extra has what only some messages have.
type extra struct {
	activityType string
	calls        []*call // the elements of the member toolCalls
	// repeats is how many further places the message has in the list: a snapshot
	// replaced several messages with its id.
	repeats int
}

// ID returns the id of the message, or "" if it has none.
func (m *Message) ID() string {
	if m.id == noID {
		return ""
	}
	return m.id
}

// Role returns the role of the message.
func (m *Message) Role() string { return m.role }

// Run returns the number of RUN_STARTED events that the Reducer got before the message was
// added.
func (m *Message) Run() int { return m.run - 1 }

// AppendJSON appends the JSON text of the message to dst.
func (m *Message) AppendJSON(dst []byte) []byte { return m.append(dst) }

// Text returns the content of the message, and whether it is a string. Half a surrogate
// pair is encoded as three bytes.
func (m *Message) Text() (text string, ok bool) {
	if m.object == nil {
		return m.text.String(), true
	}
	return m.readable().open().string(contentKey)
}

// readable returns the message or, if it is shared, a copy whose members can be read: that may
// need changes.
func (m *Message) readable() *Message {
	if m.shared {
		return m.copy()
	}
	return m
}

// call is one tool call of an assistant message.
type call struct {
	record
	id string
}

// callList is the value of the member toolCalls of a message whose tool calls changed.
type callList struct{ of *extra }

// newText returns a message with a text. An empty name is no name.
func newText(id, role, name string) *Message {
	return &Message{id: id, role: role, name: name, bytes: entryBytes + len(id) + len(name)}
}

// newMessage returns a message. The pairs are the names and values of its first members.
func newMessage(id, role string, pairs ...string) *Message {
	m := &Message{id: id, role: role, bytes: entryBytes + len(id), object: new(record)}
	for i := 0; i < len(pairs); i += 2 {
		m.object.members.Set(pairs[i], pairs[i+1])
	}
	return m
}

// readMessages reads a list of messages that AppendMessages wrote. It skips elements that
// are not objects, and reports whether there are any.
func readMessages(list envelope.Value) (messages []*Message, skipped bool) {
	// The list was read before, so there is no error.
	_ = strictjson.Elements(list, func(_ int, v strictjson.Value, o *strictjson.Object) error {
		if v.Kind == strictjson.ObjectStart {
			messages = append(messages, readMessage(v, o, math.MaxInt))
		} else {
			skipped = true
		}
		return nil
	})
	return messages, skipped
}

var errTooLarge = errors.New("the messages are too large")

// readMessage reads a message of a snapshot, of an input or of a request. It does not read
// the tool calls of a message that are beyond the limit.
func readMessage(v envelope.Value, o *envelope.Object, limit int) *Message {
	m := &Message{object: &record{raw: compact(v.Raw)}, id: noID, role: o.Text(roleKey)}
	if id, ok := o.Get(idKey); ok && id.Kind == envelope.StringValue {
		m.id, _ = id.Text()
	}
	m.bytes = entryBytes + len(m.object.raw)
	switch m.role {
	case event.RoleActivity:
		m.more().activityType = o.Text(activityTypeKey)
	case event.RoleAssistant:
		m.readCalls(limit)
	}
	if tag, ok := o.Get(subagentKey); ok && tag.Kind == envelope.NullValue {
		m.open().members.Delete(subagentKey)
	}
	return m
}

// readCalls reads the tool calls of a message that is not open.
func (m *Message) readCalls(limit int) {
	_, o := read(m.object.raw)
	list, _ := o.Get(callsKey)
	_ = strictjson.Elements(list, func(_ int, v strictjson.Value, o *strictjson.Object) error {
		c := &call{record: record{raw: v.Raw}, id: noID}
		if id, ok := o.Get(idKey); ok && v.Kind == strictjson.ObjectStart && id.Kind == strictjson.String {
			c.id, _ = id.Text()
		}
		m.more().calls = append(m.calls, c)
		if m.bytes += entryBytes; m.bytes > limit {
			return errTooLarge
		}
		return nil
	})
}

// more returns the extra of the message.
func (m *Message) more() *extra {
	if m.extra == nil {
		m.extra = new(extra)
	}
	return m.extra
}

// open returns the members of the message for changes.
func (m *Message) open() *record {
	if m.object == nil {
		m.object = new(record)
		m.object.members.Set(idKey, m.id)
		m.object.members.Set(roleKey, m.role)
		m.object.members.Set(contentKey, &m.text)
		if m.name != "" {
			m.object.members.Set(nameKey, m.name)
		}
	}
	m.object.open()
	return m.object
}

// openCalls prepares the message for changes of its tool calls.
func (m *Message) openCalls() {
	object := m.open()
	if _, ok := object.get(callsKey).(*callList); !ok {
		object.members.Set(callsKey, &callList{m.more()})
	}
}

// append appends the JSON text of the message.
func (m *Message) append(dst []byte) []byte {
	if m.object != nil {
		return m.object.append(dst)
	}
	dst = jsonvalue.AppendString(append(dst, `{"id":`...), m.id)
	dst = jsonvalue.AppendString(append(dst, `,"role":`...), m.role)
	dst = jsonvalue.AppendBytes(append(dst, `,"content":`...), m.text.bytes)
	if m.name != "" {
		dst = jsonvalue.AppendString(append(dst, `,"name":`...), m.name)
	}
	return append(dst, '}')
}

// toolCalls returns the tool calls of the message.
func (m *Message) toolCalls() []*call {
	if m.extra == nil {
		return nil
	}
	return m.calls
}

// said is the content of a message, without its id and name.
type said struct {
	role, text, parts string // a content has a text or parts; an empty one is like none
	callID, calls     string
}

// said returns what the message says. It reports false if the content is longer than a
// limit, without copying it.
func (m *Message) said(limit int) (s said, ok bool) {
	m = m.readable()
	o := m.open()
	s.role = m.role
	switch v := o.get(contentKey).(type) {
	case string:
		s.text = v
	case *Text:
		if v.Len() > limit {
			return s, false
		}
		s.text = v.String()
	case rawJSON:
		if len(v)/len(`\u0000`) > limit { // even if all characters are escaped
			return s, false
		}
		var isText bool
		if s.text, isText = o.string(contentKey); !isText && string(v) != "null" && string(v) != "[]" {
			s.parts = string(v)
		}
	}
	s.callID, _ = o.string(callIDKey)
	var calls []byte
	for _, c := range m.toolCalls() {
		calls = jsonvalue.AppendString(calls, c.id)
	}
	s.calls = string(calls)
	return s, true
}

// isHistory reports whether every snapshot that omits the message removes it. Clients do
// not send activities and reasoning, so a sender may not know of them.
func (m *Message) isHistory() bool {
	return m.role != event.RoleActivity && m.role != event.RoleReasoning
}

// isResult reports whether the message is a tool result.
func (m *Message) isResult() bool { return m.role == event.RoleTool }

// Text is a text that is streamed in deltas. The zero value is empty.
type Text struct {
	bytes []byte
}

// halfBytes is the length of half of a surrogate pair, which is encoded as in WTF-8.
const halfBytes = 3

// AppendPlain appends a delta, the text of a JSON string that has no escapes.
func (t *Text) AppendPlain(delta []byte) { t.bytes = append(t.bytes, delta[1:len(delta)-1]...) }

// Append appends a delta, the text of a JSON string. If the text ends with half of a
// surrogate pair and the delta begins with the other half, they become one character.
func (t *Text) Append(delta []byte) {
	n := len(t.bytes)
	t.bytes, _ = strictjson.AppendUnquoted(t.bytes, delta)
	if n < halfBytes || len(t.bytes) < n+halfBytes || t.bytes[n-halfBytes] != 0xed || t.bytes[n] != 0xed {
		return
	}
	if pair, joined := strictjson.JoinSurrogates(string(t.bytes[n-halfBytes : n+halfBytes])); joined {
		rest := t.bytes[n+halfBytes:]
		t.bytes = append(append(t.bytes[:n-halfBytes], pair...), rest...)
	}
}

// Bytes returns the text like String. The result is valid until the text changes.
func (t *Text) Bytes() []byte { return t.bytes }

// Settled returns the part of the text that a further delta cannot change: it omits half
// of a surrogate pair at the end. The result is valid until the text changes.
func (t *Text) Settled() []byte {
	if n := len(t.bytes) - halfBytes; n >= 0 && t.bytes[n] == 0xed && t.bytes[n+1] >= 0xa0 {
		return t.bytes[:n]
	}
	return t.bytes
}

// Discard removes the first n bytes of the text.
func (t *Text) Discard(n int) { t.bytes = append(t.bytes[:0], t.bytes[n:]...) }

// Release moves the text to memory of its own size, and returns an empty text that has its
// memory.
func (t *Text) Release() Text {
	memory := t.bytes[:0]
	t.bytes = append([]byte(nil), t.bytes...)
	return Text{memory}
}

// Len returns the length of the text in bytes.
func (t *Text) Len() int { return len(t.bytes) }

// String returns the text. It is valid UTF-8 unless it contains half of a surrogate
// pair, which is encoded as three bytes as in WTF-8.
func (t *Text) String() string { return string(t.bytes) }

// HasRole reports whether Role returns role.
func HasRole(e *envelope.Event, role string) bool {
	v, _ := e.Get(roleKey)
	return v.Is(role) || v.Kind != envelope.StringValue && Role(e) == role
}

// Role returns the role of the message that a TEXT_MESSAGE_START or TEXT_MESSAGE_CHUNK
// begins. If the event has none, the role is assistant (AG-UI 1.0). If the role is not
// a string, it is empty.
func Role(e *envelope.Event) string {
	v, _ := e.Get(roleKey)
	if v.Kind == 0 || v.Kind == envelope.NullValue {
		return event.RoleAssistant
	}
	role, _ := v.Text()
	return role
}

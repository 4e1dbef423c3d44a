package event

import (
	"strconv"

	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// The roles of messages.
const (
	RoleDeveloper = "developer"
	RoleSystem    = "system"
	RoleAssistant = "assistant"
	RoleUser      = "user"
	RoleTool      = "tool"
	RoleActivity  = "activity"
	RoleReasoning = "reasoning"
)

// Message is a message of a conversation: a pointer to one of the Message types of this
// package.
type Message interface {
	// Role returns the role of the message as it is written.
	Role() string
	// Common returns the fields that all messages have.
	Common() *MessageBase

	visit(f *fields)
}

// MessageBase has the fields of every message.
type MessageBase struct {
	ID string
	// SubagentRunID is the invocation of a subagent to which the message belongs. See
	// StepStarted.
	SubagentRunID Optional[string]
	// Metadata is an object with extra information.
	Metadata JSON
	// Extra has the members that AG-UI does not define. See Base.
	Extra JSON
	// Raw is the text that was decoded, or nil. AppendMessage ignores it.
	Raw []byte
}

// Common returns the fields that all messages have.
func (b *MessageBase) Common() *MessageBase { return b }

func (b *MessageBase) visit(f *fields) {
	must(f, "id", &b.ID, text)
	may(f, "subagentRunId", &b.SubagentRunID, text)
	mayList(f, "metadata", &b.Metadata, anyObject)
}

// The types of messages. Name is the name of the author. EncryptedValue is for the
// provider of the model, and cannot be read by others. EncryptedValueType says what kind of
// value it is, in words of the producer; it is new in AG-UI 1.1.
type (
	// DeveloperMessage has instructions of the developer of the application.
	DeveloperMessage struct {
		MessageBase
		Content              string
		Name, EncryptedValue Optional[string]
		EncryptedValueType   Optional[string]
	}
	// SystemMessage has instructions of the system.
	SystemMessage struct {
		MessageBase
		Content              string
		Name, EncryptedValue Optional[string]
		EncryptedValueType   Optional[string]
	}
	// AssistantMessage is a message of the agent. It may have only tool calls.
	AssistantMessage struct {
		MessageBase
		Content   Optional[string]
		ToolCalls []ToolCall
		// Name, EncryptedValue and EncryptedValueType are as in the other messages.
		Name, EncryptedValue Optional[string]
		EncryptedValueType   Optional[string]
	}
	// UserMessage is a message of the user.
	UserMessage struct {
		MessageBase
		Content              Content
		Name, EncryptedValue Optional[string]
		EncryptedValueType   Optional[string]
	}
	// ToolMessage is what a tool returned.
	ToolMessage struct {
		MessageBase
		Content    Content
		ToolCallID string
		// Error says why the call failed.
		Error              Optional[string]
		EncryptedValue     Optional[string]
		EncryptedValueType Optional[string]
	}
	// ActivityMessage shows progress. It is not sent to the model.
	ActivityMessage struct {
		MessageBase
		// ActivityType is defined by the application, such as PLAN.
		ActivityType string
		// Content is an object.
		Content JSON
	}
	// ReasoningMessage is a part of the agent's reasoning.
	ReasoningMessage struct {
		MessageBase
		Content            string
		EncryptedValue     Optional[string]
		EncryptedValueType Optional[string]
	}
	// UnknownMessage is a message that AG-UI 1.0 does not define. Only a tolerant
	// decode returns it. Of MessageBase, it has the ID, if it is a string, and Raw.
	UnknownMessage struct {
		MessageBase
		// JSON is the message, which can be any value.
		JSON JSON
	}
)

// Role returns developer.
func (*DeveloperMessage) Role() string { return RoleDeveloper }

// Role returns system.
func (*SystemMessage) Role() string { return RoleSystem }

// Role returns assistant.
func (*AssistantMessage) Role() string { return RoleAssistant }

// Role returns user.
func (*UserMessage) Role() string { return RoleUser }

// Role returns tool.
func (*ToolMessage) Role() string { return RoleTool }

// Role returns activity.
func (*ActivityMessage) Role() string { return RoleActivity }

// Role returns reasoning.
func (*ReasoningMessage) Role() string { return RoleReasoning }

// Role returns the role of the message, or "" if it is not a string.
func (m *UnknownMessage) Role() string {
	role, _ := m.JSON.Get("role")
	text, _ := role.Text()
	return text
}

func (m *DeveloperMessage) visit(f *fields) {
	must(f, "content", &m.Content, text)
	may(f, "name", &m.Name, text)
	may(f, "encryptedValue", &m.EncryptedValue, text)
	encryptedType(f, &m.EncryptedValueType)
}

func (m *SystemMessage) visit(f *fields) {
	must(f, "content", &m.Content, text)
	may(f, "name", &m.Name, text)
	may(f, "encryptedValue", &m.EncryptedValue, text)
	encryptedType(f, &m.EncryptedValueType)
}

func (m *AssistantMessage) visit(f *fields) {
	may(f, "content", &m.Content, text)
	mayList(f, "toolCalls", &m.ToolCalls, toolCallList)
	may(f, "name", &m.Name, text)
	may(f, "encryptedValue", &m.EncryptedValue, text)
	encryptedType(f, &m.EncryptedValueType)
}

func (m *UserMessage) visit(f *fields) {
	must(f, "content", &m.Content, contentKind{})
	may(f, "name", &m.Name, text)
	may(f, "encryptedValue", &m.EncryptedValue, text)
	encryptedType(f, &m.EncryptedValueType)
}

func (m *ToolMessage) visit(f *fields) {
	must(f, "content", &m.Content, contentKind{})
	must(f, "toolCallId", &m.ToolCallID, text)
	may(f, "error", &m.Error, text)
	may(f, "encryptedValue", &m.EncryptedValue, text)
	encryptedType(f, &m.EncryptedValueType)
}

func (m *ActivityMessage) visit(f *fields) {
	must(f, "activityType", &m.ActivityType, text)
	must(f, "content", &m.Content, anyObject)
}

func (m *ReasoningMessage) visit(f *fields) {
	must(f, "content", &m.Content, text)
	may(f, "encryptedValue", &m.EncryptedValue, text)
	encryptedType(f, &m.EncryptedValueType)
}

func (m *UnknownMessage) visit(*fields) {}

// encryptedType visits the type of an encrypted value, which AG-UI 1.1 added. The reference
// client, which is of 1.0, removes it, also if it is not valid.
func encryptedType(f *fields, p *Optional[string]) {
	if f.d == nil {
		if may(f, "encryptedValueType", p, text); f.table != nil {
			(*f.table)[len(*f.table)-1].since = V1Minor1
		}
		return
	}
	if f.d.protocol == V0 || f.d.protocol == V1 {
		return
	}
	before := len(f.d.list)
	if may(f, "encryptedValueType", p, text); len(f.d.list) > before {
		f.d.setFatal(false, true)
	}
}

// newMessage returns an empty message with the given role, or nil.
func newMessage(role string) Message {
	switch role {
	case RoleDeveloper:
		return new(DeveloperMessage)
	case RoleSystem:
		return new(SystemMessage)
	case RoleAssistant:
		return new(AssistantMessage)
	case RoleUser:
		return new(UserMessage)
	case RoleTool:
		return new(ToolMessage)
	case RoleActivity:
		return new(ActivityMessage)
	case RoleReasoning:
		return new(ReasoningMessage)
	}
	return nil
}

// DecodeMessage reads a JSON text as a message, as Decode reads an event. A tolerant
// decode returns an *UnknownMessage for a message that is not valid.
func DecodeMessage(text []byte, options ...Option) (Message, error) {
	d := newDecoder(options)
	defer d.free(text)
	d.what = "the message"
	f, err := d.object(text)
	if err != nil {
		return nil, err
	}
	m, _ := messageKind{}.read(d, strictjson.Value{Kind: strictjson.ObjectStart, Raw: f.raw, Start: f.start})
	if err := d.finish(); err != nil {
		return nil, err
	}
	return m, nil
}

// AppendMessage appends the JSON text of m to dst. See Append.
func AppendMessage(dst []byte, m Message) []byte { return messageKind{}.append(dst, m) }

// messageKind is a message.
type messageKind struct{ notNull }

var messageList kind[[]Message] = &listKind[Message]{of: messageKind{}, what: "messages"}

func (messageKind) String() string { return "a message" }

func (messageKind) read(d *decoder, v strictjson.Value) (Message, bool) {
	if v.Kind == strictjson.String && d.inRunStarted() {
		return d.stringMessage(v), true
	}
	mark := d.mark()
	unknown := &UnknownMessage{JSON: v.Raw, MessageBase: MessageBase{Raw: v.Raw}}
	f := d.enter(v)
	if f == nil {
		return unknown, d.absorb(mark, MalformedMember, v.Start)
	}
	defer f.leave()
	if id, _ := f.object.Get("id"); id.Kind == strictjson.String {
		unknown.ID, _ = id.Text()
	}
	role, _ := f.find("role")
	name, _ := role.Text()
	m := newMessage(name)
	if m == nil {
		d.report(UnknownMember, "", v.Start, "has no role that AG-UI defines")
		d.setFatal(false, role.Kind != strictjson.String)
		return unknown, true
	}
	before := d.refused
	base := m.Common()
	base.visit(f)
	m.visit(f)
	base.Extra = f.rest(true)
	base.Raw = v.Raw
	if d.refused > before && d.absorb(mark, MalformedMember, v.Start) {
		return unknown, true
	}
	return m, d.refused == before
}

// stringMessage reads a message of the input of RUN_STARTED that is only a text, as in
// the examples of a draft of AG-UI.
func (d *decoder) stringMessage(v strictjson.Value) Message {
	d.report(StringMessage, "", v.Start, "is a string where a message belongs")
	m := new(UserMessage)
	m.Content.Text, _ = v.Text()
	m.ID = d.runID + "-message-" + strconv.Itoa(d.path[len(d.path)-1].index)
	m.Raw = v.Raw
	return m
}

func (messageKind) append(dst []byte, m Message) []byte {
	if m == nil {
		return append(dst, "null"...)
	}
	if unknown, ok := m.(*UnknownMessage); ok {
		return anyJSON.append(dst, unknown.JSON)
	}
	f := fields{out: append(dst, `{"role":`...), more: true}
	f.out = jsonvalue.AppendString(f.out, m.Role())
	base := m.Common()
	base.visit(&f)
	m.visit(&f)
	return append(appendMembers(f.out, true, base.Extra), '}')
}

// ToolCall is a call that an assistant message makes. It belongs to the same subagent as
// the message.
type ToolCall struct {
	ID       string
	Function FunctionCall
	// EncryptedValue is for the provider of the model. EncryptedValueType is as in
	// messages.
	EncryptedValue, EncryptedValueType Optional[string]
	// Metadata is an object with extra information.
	Metadata JSON
	// Extra has the members that AG-UI does not define. See Base.
	Extra JSON
}

// FunctionCall is the name and the arguments of a call. Arguments is a text that is
// usually JSON, which nothing enforces.
type FunctionCall struct {
	Name, Arguments string
	Extra           JSON
}

var (
	toolCallList kind[[]ToolCall]   = &listKind[ToolCall]{of: &recordKind[ToolCall, *ToolCall]{what: "ToolCall"}, what: "ToolCall"}
	functionType kind[string]       = textKind{values: []string{"function"}}
	functionCall kind[FunctionCall] = &recordKind[FunctionCall, *FunctionCall]{what: "FunctionCall"}
)

func (c *ToolCall) extra() *JSON     { return &c.Extra }
func (c *FunctionCall) extra() *JSON { return &c.Extra }

func (c *ToolCall) visit(f *fields) {
	must(f, "id", &c.ID, text)
	constant(f, "type", "function", functionType)
	must(f, "function", &c.Function, functionCall)
	may(f, "encryptedValue", &c.EncryptedValue, text)
	encryptedType(f, &c.EncryptedValueType)
	mayList(f, "metadata", &c.Metadata, anyObject)
}

func (c *FunctionCall) visit(f *fields) {
	must(f, "name", &c.Name, text)
	must(f, "arguments", &c.Arguments, text)
}

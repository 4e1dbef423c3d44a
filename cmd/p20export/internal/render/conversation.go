package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project/scan"
)

// messagesRow is the row of inspect --messages.
type messagesRow struct {
	Capture string `json:"capture"`
	// Event is the index of the last event that was applied, or null.
	Event *int `json:"event"`
	// Refused is the index of the event at which the AG-UI client ends the run, or null.
	Refused *int `json:"refused"`
	// Messages is null if the capture could not be read.
	Messages         jsontext.Value    `json:"messages"`
	PendingToolCalls []string          `json:"pending_tool_calls"`
	Interrupts       jsontext.Value    `json:"interrupts"`
	Findings         []finding.Finding `json:"findings"`
}

// stateRow is the row of inspect --state.
type stateRow struct {
	Capture string `json:"capture"`
	Event   *int   `json:"event"`
	// Refused is the index of the event at which the AG-UI client ends the run, or null.
	Refused *int `json:"refused"`
	// Known reports whether an event or the request set the state.
	Known bool `json:"known"`
	// State is null if the capture could not be read, or the state is null.
	State    jsontext.Value    `json:"state"`
	Findings []finding.Finding `json:"findings"`
}

// Conversation prints the messages or the state of a conversation, or both.
func (p *Printer) Conversation(c scan.Conversation, o scan.ConversationOptions) {
	if p.format == Text {
		p.Line("%s", c.Capture)
		switch {
		case c.Event < 0:
		case c.Event == c.Events-1:
			p.Line("  after     \tevent %d, the last", c.Event)
		default:
			p.Line("  after     \tevent %d; the last is event %d", c.Event, c.Events-1)
		}
		if c.Refused >= 0 {
			p.Line("  refused   \tthe AG-UI client ends the run at event %d; p20export lint shows why", c.Refused)
		}
	}
	if o.Messages {
		p.messages(c)
	}
	if o.State {
		p.state(c)
	}
	if p.format == Text {
		p.Findings(c.Findings)
	}
}

// messages prints the messages of a conversation.
func (p *Printer) messages(c scan.Conversation) {
	if p.format == JSON {
		row := messagesRow{Capture: c.Capture, Event: indexOrNil(c.Event), Refused: indexOrNil(c.Refused), Messages: orNull(c.Messages), Interrupts: orNull(c.Interrupts), PendingToolCalls: c.PendingToolCalls, Findings: c.Findings}
		if row.PendingToolCalls == nil {
			row.PendingToolCalls = []string{}
		}
		p.json(row)
		return
	}
	p.messagesText(c.Messages, c.PendingToolCalls, c.Interrupts)
}

// messagesText prints messages, and what the run waits for.
func (p *Printer) messagesText(messages []byte, pendingToolCalls []string, interrupts []byte) {
	each(messages, p.message)
	for _, id := range pendingToolCalls {
		p.Line("pending tool call %s", id)
	}
	each(interrupts, func(v strictjson.Value, o *strictjson.Object) {
		p.Line("interrupt %s", o.Text("id"))
		p.members(o, "id")
	})
}

// state prints the state of a conversation.
func (p *Printer) state(c scan.Conversation) {
	if p.format == JSON {
		p.json(stateRow{Capture: c.Capture, Event: indexOrNil(c.Event), Refused: indexOrNil(c.Refused), Known: c.Known, State: orNull(c.State), Findings: c.Findings})
		return
	}
	p.stateText(c.State, c.Known)
}

// stateText prints a state.
func (p *Printer) stateText(state []byte, known bool) {
	switch {
	case len(state) == 0:
	case !known:
		p.Line("state, which no event or request has set: patches apply to an empty object")
	default:
		p.Line("state")
	}
	if len(state) > 0 {
		text := jsontext.Value(state)
		if err := text.Indent(jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true), jsontext.WithIndent("  "), jsontext.WithIndentPrefix("  ")); err != nil {
			p.err = err // the text was written by the reducer
			return
		}
		for line := range strings.SplitSeq("  "+string(text), "\n") {
			p.Line("%s", painted(finding.Printable(line)))
		}
	}
}

// StatusOfConversation returns the exit status for a conversation.
func StatusOfConversation(c scan.Conversation) Status {
	switch {
	case c.Failed:
		return Failed
	case c.Negative:
		return Negative
	}
	return Done
}

func indexOrNil(i int) *int {
	if i < 0 {
		return nil
	}
	return &i
}

func orNull(text []byte) jsontext.Value {
	if len(text) == 0 {
		return jsontext.Value("null")
	}
	return text
}

// each calls f for each object in a JSON array.
func each(array []byte, f func(v strictjson.Value, o *strictjson.Object)) {
	if len(array) == 0 {
		return
	}
	// The array was written by the reducer, so there is no error.
	_ = strictjson.Elements(strictjson.Value{Kind: strictjson.ArrayStart, Raw: array}, func(_ int, v strictjson.Value, o *strictjson.Object) error {
		f(v, o)
		return nil
	})
}

// message prints one message.
func (p *Printer) message(_ strictjson.Value, o *strictjson.Object) {
	heading := []any{o.Text("role"), cmp.Or(o.Text("id"), "(no id)")}
	format := "%s %s"
	if name, ok := o.Get("name"); ok && name.Kind == strictjson.String {
		format += " (%s)"
		heading = append(heading, o.Text("name"))
	}
	p.Line(format, heading...)
	p.members(o, "role", "id", "name")
}

// members prints the members of an object, except those named.
func (p *Printer) members(o *strictjson.Object, except ...string) {
	for m := range o.All {
		name, _ := m.Name.Text()
		if slices.Contains(except, name) {
			continue
		}
		switch {
		case name == "toolCalls" && m.Value.Kind == strictjson.ArrayStart:
			each(m.Value.Raw, p.toolCall)
		case name == "content" && m.Value.Kind == strictjson.ArrayStart:
			each(m.Value.Raw, p.contentPart)
		case name == "encryptedValue":
			p.Line("  encrypted \t%s", humanize.Bytes(int64(len(m.Value.Raw))))
		case name == "content" && m.Value.Kind == strictjson.String:
			p.member("text", m.Value)
		default:
			p.member(label(name), m.Value)
		}
	}
}

// label returns the label of a member of a message.
func label(name string) string {
	switch name {
	case "activityType":
		return "activity"
	case "encryptedValueType":
		return "kind"
	case "toolCallId":
		return "answers"
	case "subagentRunId":
		return "subagent"
	}
	return name
}

// member prints a value with a label: the lines of a string that is not empty, or JSON
// text.
func (p *Printer) member(label string, v strictjson.Value) {
	label = fmt.Sprintf("  %-10s", finding.Escape(label))
	if v.Kind != strictjson.String {
		p.Line("%s\t%s", painted(label), painted(finding.Printable(string(v.Raw))))
		return
	}
	text, _ := v.Text()
	for line := range strings.Lines(text) {
		p.Line("%s\t%s", painted(label), strings.TrimRight(line, "\r\n"))
		label = strings.Repeat(" ", len("  arguments "))
	}
}

// toolCall prints a tool call of an assistant message.
func (p *Printer) toolCall(_ strictjson.Value, o *strictjson.Object) {
	name, arguments := "", strictjson.Value{}
	if v, _ := o.Get("function"); v.Kind == strictjson.ObjectStart {
		var function strictjson.Object
		if _, err := strictjson.ReadText(&function, new(strictjson.Decoder), v.Raw); err == nil {
			name = function.Text("name")
			arguments, _ = function.Get("arguments")
		}
	}
	p.Line("  call      \t%s %s", o.Text("id"), name)
	if arguments.Kind != 0 {
		p.member("arguments", arguments)
	}
}

// contentPart prints one part of a content.
func (p *Printer) contentPart(v strictjson.Value, o *strictjson.Object) {
	if kind, _ := o.Get("type"); kind.Is("text") {
		text, _ := o.Get("text")
		p.member("text", text)
		return
	}
	p.member("part", v)
}

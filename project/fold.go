package project

import (
	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// maxFoldedBytes bounds the JSON text that a fold keeps. An artifact cannot contain
// more, since JSON may need up to six bytes for one byte of text. A run that
// streams more is refused. entryBytes is the overhead of one id or name.
const (
	maxFoldedBytes = 6 * artifact.MaxFileBytes
	entryBytes     = 256
)

// maxFoldFindings bounds how many findings of one stream are listed.
const maxFoldFindings = 100

// streamed is one text message of the stream.
type streamed struct {
	*reduce.Message
	name  *strictjson.Value
	event *envelope.Event // the place of its first event, without data
	open  bool
}

// fold collects a run's streamed text messages in the order of their first events. A
// reduce.Conversation has the messages and joins their text. The fold decides which
// events count, under the rules of section 11 of docs/projections.md, which are stricter
// than those of a reducer. It omits the text of subagents, which is not the run's own
// history: the text in events that name a subagent and in all events of messages that a
// subagent began.
type fold struct {
	messages *reduce.Conversation
	streamed []*streamed     // in the order of messages
	subagent map[string]bool // ids of the messages of subagents
	current  *streamed       // the run's own message that chunks without id continue
	lanes    map[string]bool // subagents with an open chunk stream
	bytes    int
	omitted  omissions
	findings []finding.Finding
	unlisted int
	full     bool
	compared map[*envelope.Event]comparison // by snapshot
}

func newFold() *fold {
	const limit = 0 // reserve has one
	return &fold{messages: reduce.NewConversation(limit), subagent: map[string]bool{}, lanes: map[string]bool{}}
}

// find returns the message with an id, or nil.
func (f *fold) find(id string) *streamed {
	m := f.messages.Find(id)
	if m == nil {
		return nil
	}
	return f.streamed[m.Number()]
}

// observe processes the run's next event.
func (f *fold) observe(e *envelope.Event) {
	tag, tagged := subagentOf(e)
	switch e.Type {
	case envelope.TextMessageStart:
		f.closeLane(tag, tagged)
		if id, ok := f.ownMessageID(e, tagged); ok {
			if m := f.start(e, id); m != nil {
				m.open = true
				f.omitOtherKeys(e, "messageId", "role", "name")
			}
		}
	case envelope.TextMessageContent, envelope.TextMessageEnd:
		f.closeLane(tag, tagged)
		f.continueMessage(e, tagged)
	case envelope.TextMessageChunk:
		f.chunk(e, tag, tagged)
	default:
		f.closeLanes(e.Type, tag, tagged)
	}
}

// subagentOf returns the subagent that an event names, if any.
func subagentOf(e *envelope.Event) (string, bool) {
	v, ok := e.Get("subagentRunId")
	if !ok || v.Kind == strictjson.Null {
		return "", false
	}
	tag, _ := v.Text()
	return tag, true
}

// ownMessageID reads an event's messageId and reports whether the message is the
// run's own. A message that a subagent began belongs to the subagent even if later
// events do not name it. Its omission is recorded once.
func (f *fold) ownMessageID(e *envelope.Event, tagged bool) (id string, ok bool) {
	v, _ := e.Get("messageId")
	id, valid := v.Text()
	switch {
	case v.Kind != strictjson.String || !valid:
		f.refuse(origin{event: e}.name("messageId"), finding.EventFieldMalformed, "the messageId of %s is missing or not a valid string", e.Type)
		return "", false
	case f.subagent[id]:
		return "", false
	case !tagged:
		return id, true
	}
	if f.find(id) == nil {
		if !f.reserve(origin{event: e}, len(id)+entryBytes) {
			return "", false
		}
		f.subagent[id] = true
	}
	f.omitted.add(origin{event: e}.omission(finding.SubagentText))
	return "", false
}

// start begins a message, or continues the message with the same id. It returns
// nil if the fold is full.
func (f *fold) start(e *envelope.Event, id string) *streamed {
	role, hasRole := e.Get("role")
	name, hasName := e.Get("name")
	if m := f.find(id); m != nil {
		switch {
		case hasRole && reduce.Role(e) != m.Role():
			f.refuse(origin{event: e}.name("role"), finding.MessageSpeakers, "message %s begins again with another role", finding.Quote(id))
		case hasName && m.name != nil && !sameName(m.name, name):
			f.refuse(origin{event: e}.name("name"), finding.MessageSpeakers, "message %s begins again with another name", finding.Quote(id))
		case hasName && m.name == nil:
			f.omitted.add(origin{event: e}.name("name").omission(finding.KeyOutsideSubset))
		}
		return m
	}
	if !f.reserve(origin{event: e}, len(id)+len(role.Raw)+len(name.Raw)+entryBytes) {
		return nil
	}
	m := &streamed{Message: f.messages.BeginText(id, reduce.Role(e), ""), event: &envelope.Event{Index: e.Index, Offset: e.Offset, Bytes: e.Bytes, Line: e.Line}}
	if hasName {
		name.Raw = append([]byte(nil), name.Raw...)
		m.name = &name
	}
	f.streamed = append(f.streamed, m)
	return m
}

func sameName(first *strictjson.Value, v strictjson.Value) bool {
	if first == nil || first.Kind != v.Kind {
		return false
	}
	a, _ := first.Text()
	b, _ := v.Text()
	return a == b
}

// continueMessage handles TEXT_MESSAGE_CONTENT and TEXT_MESSAGE_END.
func (f *fold) continueMessage(e *envelope.Event, tagged bool) {
	id, ok := f.ownMessageID(e, tagged)
	if !ok || f.full {
		return
	}
	m := f.find(id)
	if m == nil || !m.open {
		f.refuse(origin{event: e}.name("messageId"), finding.TextNotOpen, "%s of message %s, which is not open", e.Type, finding.Quote(id))
		return
	}
	if e.Type == envelope.TextMessageEnd {
		m.open = false
		f.omitOtherKeys(e, "messageId")
		return
	}
	f.delta(m, e, true)
	f.omitOtherKeys(e, "messageId", "delta")
}

// delta appends an event's text to its message. It does not keep the text of a
// message whose role is outside the subset.
func (f *fold) delta(m *streamed, e *envelope.Event, required bool) {
	o := origin{event: e}.name("delta")
	v, ok := e.Get("delta")
	if !ok && !required {
		return
	}
	if v.Kind != strictjson.String {
		f.refuse(o, finding.EventFieldMalformed, "the delta of %s is missing or not a string", e.Type)
		return
	}
	if artifact.IsRole(m.Role()) && f.reserve(o, len(v.Raw)) {
		f.messages.Append(m.Message, v)
	}
}

// omitOtherKeys records an omission for each member of an event whose key is not in
// taken. It ignores timestamp and rawEvent, which describe the event and not the
// message.
func (f *fold) omitOtherKeys(e *envelope.Event, taken ...string) {
	for m := range e.All {
		if !m.Is("type", "timestamp", "rawEvent", "subagentRunId") && !m.Is(taken...) {
			name, _ := m.Name.Text()
			f.omitted.add(origin{event: e}.name(name).omission(finding.KeyOutsideSubset))
		}
	}
}

// reserve accounts for n more bytes. It refuses the run if they exceed the limit.
func (f *fold) reserve(o origin, n int) bool {
	if f.full {
		return false
	}
	if f.bytes += n; f.bytes > maxFoldedBytes {
		f.full = true
		f.refuse(o, finding.TooLarge, "the run streams more text than an artifact of %d bytes can contain", artifact.MaxFileBytes)
	}
	return !f.full
}

// refuse adds a reason to refuse the run. The finding does not reference the event.
func (f *fold) refuse(o origin, code finding.Code, format string, args ...any) {
	if len(f.findings) < maxFoldFindings {
		f.findings = append(f.findings, o.finding(code, format, args...))
	} else {
		f.unlisted++
	}
}

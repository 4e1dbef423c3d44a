package project

import (
	"slices"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// The fold stops keeping text at maxFoldedBytes of JSON, past which no artifact
// could hold it (an escape takes up to six bytes for one of text): the run is
// then refused for it. entryBytes is what a name costs beside its own bytes.
const (
	maxFoldedBytes = 6 * artifact.MaxFileBytes
	entryBytes     = 256
)

// maxFoldFindings bounds how many faults of one stream are listed.
const maxFoldFindings = 100

// streamed is one text message of the stream.
type streamed struct {
	id    string
	role  string // empty when it is no string
	name  *strictjson.Value
	text  []byte
	event *envelope.Event // its first event: only its place
	open  bool
}

// fold gathers a run's streamed text messages, in the order of their start.
// Text of a subagent is not the run's own history and is left out: events that
// name a subagent, and those of a message that one of them began.
type fold struct {
	messages []*streamed
	byID     map[string]*streamed
	subagent map[string]bool // ids of messages left out
	current  *streamed       // the parent's message that chunks without id continue
	lanes    map[string]bool // subagents with an open chunk stream
	bytes    int
	omitted  omissions
	findings []finding.Finding
	unlisted int
	full     bool
	compared map[*envelope.Event]comparison // snapshots with the messages
}

func newFold() *fold {
	return &fold{byID: map[string]*streamed{}, subagent: map[string]bool{}, lanes: map[string]bool{}}
}

// observe takes the run's next event.
func (f *fold) observe(e *envelope.Event) {
	tag, tagged := subagentOf(e)
	switch e.Type {
	case envelope.TextMessageStart:
		f.closeLane(tag, tagged)
		if id, ok := f.own(e, tagged); ok {
			if m := f.start(e, id); m != nil {
				m.open = true
				f.aside(e, "messageId", "role", "name")
			}
		}
	case envelope.TextMessageContent, envelope.TextMessageEnd:
		f.closeLane(tag, tagged)
		f.proceed(e, tagged)
	case envelope.TextMessageChunk:
		f.chunk(e, tag, tagged)
	default:
		f.closeLanes(e.Type, tag, tagged)
	}
}

// subagentOf returns the subagent an event belongs to, if it does.
func subagentOf(e *envelope.Event) (string, bool) {
	v, ok := e.Get("subagentRunId")
	if !ok || v.Kind == strictjson.Null {
		return "", false
	}
	tag, _ := v.Text()
	return tag, true
}

// own reads an event's messageId and reports whether the event is one of the
// run's own text. A message that a subagent began stays the subagent's, and is
// named once; its events may leave the tag away.
func (f *fold) own(e *envelope.Event, tagged bool) (id string, ok bool) {
	v, _ := e.Get("messageId")
	id, valid := v.Text()
	switch {
	case v.Kind != strictjson.String || !valid:
		f.refuse(origin{event: e}.name("messageId"), finding.EventFieldMalformed, "%s has no messageId that is a string of whole characters", e.Type)
		return "", false
	case f.subagent[id]:
		return "", false
	case !tagged:
		return id, true
	}
	if f.byID[id] == nil {
		if !f.room(origin{event: e}, len(id)+entryBytes) {
			return "", false
		}
		f.subagent[id] = true
	}
	f.omitted.add(origin{event: e}.omission(finding.SubagentText))
	return "", false
}

// start begins a message, or continues the one with the same id. It returns nil
// when there is no room for it.
func (f *fold) start(e *envelope.Event, id string) *streamed {
	role, hasRole := e.Get("role")
	name, hasName := e.Get("name")
	if m := f.byID[id]; m != nil {
		switch {
		case hasRole && streamedRole(role) != m.role:
			f.refuse(origin{event: e}.name("role"), finding.MessageSpeakers, "message %s is begun again in another role", finding.Quote(id))
		case hasName && m.name != nil && !sameName(m.name, name):
			f.refuse(origin{event: e}.name("name"), finding.MessageSpeakers, "message %s is begun again under another name", finding.Quote(id))
		case hasName && m.name == nil:
			f.omitted.add(origin{event: e}.name("name").omission(finding.KeyOutsideSubset))
		}
		return m
	}
	if !f.room(origin{event: e}, len(id)+len(role.Raw)+len(name.Raw)+entryBytes) {
		return nil
	}
	m := &streamed{id: id, role: streamedRole(role), event: &envelope.Event{Index: e.Index, Offset: e.Offset, Bytes: e.Bytes, Line: e.Line, Type: e.Type}}
	if hasName {
		name.Raw = append([]byte(nil), name.Raw...)
		m.name = &name
	}
	f.byID[id] = m
	f.messages = append(f.messages, m)
	return m
}

// streamedRole returns a streamed message's role: assistant when there is none
// (AG-UI 1.0).
func streamedRole(v strictjson.Value) string {
	if v.Kind == 0 || v.Kind == strictjson.Null {
		return "assistant"
	}
	role, _ := v.Text()
	return role
}

func sameName(first *strictjson.Value, v strictjson.Value) bool {
	if first == nil || first.Kind != v.Kind {
		return false
	}
	a, _ := first.Text()
	b, _ := v.Text()
	return a == b
}

// proceed takes TEXT_MESSAGE_CONTENT and TEXT_MESSAGE_END.
func (f *fold) proceed(e *envelope.Event, tagged bool) {
	id, ok := f.own(e, tagged)
	if !ok || f.full {
		return
	}
	m := f.byID[id]
	if m == nil || !m.open {
		f.refuse(origin{event: e}.name("messageId"), finding.TextNotOpen, "%s for message %s, which is not open", e.Type, finding.Quote(id))
		return
	}
	if e.Type == envelope.TextMessageEnd {
		m.open = false
		f.aside(e, "messageId")
		return
	}
	f.delta(m, e, true)
	f.aside(e, "messageId", "delta")
}

// delta appends an event's text to its message. That of a message which will be
// left out is not kept.
func (f *fold) delta(m *streamed, e *envelope.Event, required bool) {
	o := origin{event: e}.name("delta")
	v, ok := e.Get("delta")
	if !ok && !required {
		return
	}
	if v.Kind != strictjson.String {
		f.refuse(o, finding.EventFieldMalformed, "%s has no text in delta", e.Type)
		return
	}
	if artifact.IsRole(m.role) && f.room(o, len(v.Raw)) {
		text, _ := v.Text()
		m.text = append(m.text, text...)
	}
}

// aside records what an event says of its message that is not taken. Its
// timestamp and rawEvent are about the event, which is no part of the artifact.
func (f *fold) aside(e *envelope.Event, taken ...string) {
	for m := range e.All {
		switch name, _ := strictjson.Unquote(m.Name.Raw); name {
		case "type", "timestamp", "rawEvent", "subagentRunId":
		default:
			if !slices.Contains(taken, name) {
				f.omitted.add(origin{event: e}.name(name).omission(finding.KeyOutsideSubset))
			}
		}
	}
}

// room makes room for n bytes more, and refuses the run when there is none.
func (f *fold) room(o origin, n int) bool {
	if f.full {
		return false
	}
	if f.bytes += n; f.bytes > maxFoldedBytes {
		f.full = true
		f.refuse(o, finding.TooLarge, "the run streams more text than an artifact of %d bytes can hold", artifact.MaxFileBytes)
	}
	return !f.full
}

// refuse keeps a reason to refuse the run. It holds nothing of the event.
func (f *fold) refuse(o origin, code finding.Code, format string, args ...any) {
	if len(f.findings) < maxFoldFindings {
		f.findings = append(f.findings, o.finding(code, format, args...))
	} else {
		f.unlisted++
	}
}

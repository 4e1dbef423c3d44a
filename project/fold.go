package project

import (
	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// The fold stops keeping text at these bounds, past which no artifact could
// hold it: the run is then refused for them.
const (
	maxFoldedMessages = 2_000
	maxFoldedBytes    = artifact.MaxFileBytes
)

// streamed is one text message of the stream.
type streamed struct {
	id    string
	role  strictjson.Value
	name  *strictjson.Value
	text  []byte
	event *envelope.Event // its first event
	open  bool
}

// fold gathers a run's streamed text messages, in the order of their start.
// Text of a subagent is not the run's own history and is left out.
type fold struct {
	messages []*streamed
	byID     map[string]*streamed
	subagent map[string]bool // ids of messages left out
	current  *streamed       // the parent's message that chunks without id continue
	lanes    map[string]bool // subagents with an open chunk stream
	bytes    int
	omitted  omissions
	findings []finding.Finding
	full     bool
}

func newFold() *fold {
	return &fold{byID: map[string]*streamed{}, subagent: map[string]bool{}, lanes: map[string]bool{}}
}

func (f *fold) refuse(o origin, code finding.Code, format string, args ...any) {
	if len(f.findings) < maxFoldFindings {
		f.findings = append(f.findings, o.finding(code, format, args...))
	}
}

// maxFoldFindings bounds how many faults of one stream are listed.
const maxFoldFindings = 100

// observe takes the run's next event.
func (f *fold) observe(e *envelope.Event) {
	tag, tagged := subagentOf(e)
	switch e.Type {
	case envelope.TextMessageStart:
		f.closeLane(tag, tagged)
		if m := f.start(e, tagged); m != nil {
			m.open = true
		}
	case envelope.TextMessageContent, envelope.TextMessageEnd:
		f.closeLane(tag, tagged)
		f.proceed(e, tagged)
	case envelope.TextMessageChunk:
		f.chunk(e, tag, tagged)
	default:
		switch chunkCloser(e.Type) {
		case closesLane:
			f.closeLane(tag, tagged)
		case closesAll:
			f.current = nil
			clear(f.lanes)
		}
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

func (f *fold) closeLane(tag string, tagged bool) {
	if tagged {
		delete(f.lanes, tag)
	} else {
		f.current = nil
	}
}

// start begins a message, or continues one with the same id. It returns nil
// when the message is left out.
func (f *fold) start(e *envelope.Event, tagged bool) *streamed {
	id, ok := f.id(e)
	if !ok {
		return nil
	}
	m, known := f.byID[id]
	if !known && !f.room(origin{event: e}, len(e.Data)) {
		return nil
	}
	if tagged && !known {
		f.subagent[id] = true
		f.omitted.add(origin{event: e}.omission(finding.SubagentText))
		return nil
	}
	if known {
		if e.Type == envelope.TextMessageStart {
			for _, key := range []string{"role", "name"} {
				if v, ok := e.Get(key); ok && !sameAs(m, key, v) {
					f.omitted.add(origin{event: e}.name(key).omission(finding.KeyOutsideSubset))
				}
			}
		}
		return m
	}
	if len(f.messages) == maxFoldedMessages {
		f.full = true
		f.refuse(origin{event: e}, finding.MessagesTooMany, "the run streams more than %d messages", maxFoldedMessages)
		return nil
	}
	m = &streamed{id: id, event: e.Clone()}
	m.role, _ = m.event.Get("role")
	if v, ok := m.event.Get("name"); ok {
		m.name = &v
	}
	f.byID[id] = m
	f.messages = append(f.messages, m)
	return m
}

func sameAs(m *streamed, key string, v strictjson.Value) bool {
	first, ok := m.event.Get(key)
	if !ok || first.Kind != v.Kind {
		return false
	}
	a, _ := first.Text()
	b, _ := v.Text()
	return a == b
}

// proceed takes TEXT_MESSAGE_CONTENT and TEXT_MESSAGE_END.
func (f *fold) proceed(e *envelope.Event, tagged bool) {
	id, ok := f.id(e)
	if !ok || f.subagent[id] || f.full {
		return
	}
	m := f.byID[id]
	if m == nil && tagged {
		return
	}
	if m == nil || !m.open {
		f.refuse(origin{event: e}.name("messageId"), finding.TextNotOpen, "%s for message %s, which is not open", e.Type, finding.Quote(id))
		return
	}
	if e.Type == envelope.TextMessageEnd {
		m.open = false
		return
	}
	f.delta(m, e, true)
}

// chunk takes TEXT_MESSAGE_CHUNK: with an id it begins or continues that
// message, without one it continues its subagent's, else the parent's, else
// the only open stream there is.
func (f *fold) chunk(e *envelope.Event, tag string, tagged bool) {
	v, ok := e.Get("messageId")
	if !ok || v.Kind == strictjson.Null {
		switch {
		case tagged && f.lanes[tag]:
		case f.current != nil && !tagged:
			f.delta(f.current, e, false)
		case !tagged && len(f.lanes) == 1:
		case f.full:
		default:
			f.refuse(origin{event: e}, finding.TextNotOpen, "a chunk without messageId continues no one message")
		}
		return
	}
	if id, _ := v.Text(); f.subagent[id] || tagged && f.byID[id] == nil {
		if tagged {
			f.lanes[tag] = true
		}
		if !f.subagent[id] {
			f.start(e, tagged)
		}
		return
	}
	if m := f.start(e, tagged); m != nil {
		f.current = m
		f.delta(m, e, false)
	}
}

// delta appends an event's text to its message.
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
	if f.room(o, len(v.Raw)) {
		text, _ := v.Text()
		m.text = append(m.text, text...)
	}
}

// room makes room for n bytes more, and refuses the run when there is none. An
// escape takes up to six bytes for one of text.
func (f *fold) room(o origin, n int) bool {
	if f.full {
		return false
	}
	if f.bytes += n; f.bytes > 6*maxFoldedBytes {
		f.full = true
		f.refuse(o, finding.TooLarge, "the run streams more text than an artifact of %d bytes can hold", maxFoldedBytes)
	}
	return !f.full
}

func (f *fold) id(e *envelope.Event) (string, bool) {
	v, _ := e.Get("messageId")
	id, valid := v.Text()
	if v.Kind != strictjson.String || !valid {
		f.refuse(origin{event: e}.name("messageId"), finding.EventFieldMalformed, "%s has no messageId that is a string", e.Type)
		return "", false
	}
	return id, true
}

// What an event does to open chunk streams (AG-UI 1.0, chunk expansion).
const (
	closesNone = iota
	closesLane
	closesAll
)

func chunkCloser(eventType string) int {
	switch eventType {
	case envelope.RunStarted, envelope.RunFinished, envelope.RunError, envelope.MessagesSnapshot:
		return closesAll
	case "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK", "TOOL_CALL_RESULT",
		"STATE_SNAPSHOT", "STATE_DELTA", "CUSTOM", "STEP_STARTED", "STEP_FINISHED",
		"REASONING_START", "REASONING_END", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT",
		"REASONING_MESSAGE_END", "REASONING_MESSAGE_CHUNK", "SUBAGENT_FINISHED", "SUBAGENT_ERROR":
		return closesLane
	}
	return closesNone
}

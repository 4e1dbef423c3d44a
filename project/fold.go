package project

import (
	"bytes"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
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

// fold collects a run's streamed text messages in the order of their first events. The fold decides which events count, under the rules of
// section 11 of docs/projections.md, which are stricter than those of a reducer. It omits
// the text of subagents, which is not the run's own history: the text in events that name
// a subagent and in all events of messages that a subagent began.
type fold struct {
	streamed []*streamed
	byID     map[string]*streamed
	subagent map[string]bool // ids of the messages of subagents
	current  *streamed       // the run's own message that chunks without id continue
	lanes    map[string]bool // subagents with an open chunk stream
	keys     [envelope.Shapes]eventKeys
	last     *streamed // the message of the last text event, or nil
	lastID   []byte    // the JSON text of its id, which is valid
	id, tag  []byte    // the messageId and the subagentRunId of the event
	name     []byte    // the name of a member of the event
	bytes    int       // reserved
	held     int       // size of the texts
	most     int       // texts of this size are held without a check of the limit
	limit    int       // of texts that are not blank: the size of an artifact, except in tests
	summed   bool      // texts are summed, not held
	pending  *streamed // the message of the last delta
	block    []byte    // the texts that were held last
	holder   *streamed // the message of the last text in block
	omitted  omissions
	findings []finding.Finding
	unlisted int
	full     bool
	compared map[*envelope.Event]comparison // by snapshot
}

func newFold() *fold {
	return &fold{most: artifact.MaxFileBytes, limit: artifact.MaxFileBytes, byID: make(map[string]*streamed)}
}

// eventKeys are the places of an event's keys that a fold reads. They are the same for
// events of the same shape.
type eventKeys struct {
	shape envelope.Shape
	// id, delta and tag are the indexes of messageId, delta and subagentRunId, or -1.
	id, delta, tag int
	// others means that a text event has keys that the fold omits.
	others bool
	// content means that the events are TEXT_MESSAGE_CONTENT with a string as delta and no
	// other keys that the fold reads or omits, except messageId.
	content bool
	ends    chunk.Ends
}

// keysOf returns the places of the keys of an event.
func (f *fold) keysOf(e *envelope.Event) *eventKeys {
	shape := e.Shape()
	k := &f.keys[shape%envelope.Shapes]
	if shape == 0 || k.shape != shape {
		*k = eventKeys{shape: shape, id: -1, delta: -1, tag: -1, ends: chunk.EndsOf(e.Type)}
		for i := range e.Len() {
			name := e.NameAt(i)
			switch {
			case name.Is("messageId"):
				k.id = i
			case name.Is("delta"):
				k.delta = i
			case name.Is("subagentRunId"):
				k.tag = i
			}
			if isText(e.Type) {
				f.name, _ = strictjson.AppendUnquoted(f.name[:0], name.Raw)
				k.others = k.others || omits(e.Type, f.name)
			}
		}
		k.content = e.Type == envelope.TextMessageContent && k.id >= 0 && k.tag < 0 && !k.others &&
			k.delta >= 0 && e.At(k.delta).Kind == strictjson.String
	}
	return k
}

// observe processes the run's next event.
func (f *fold) observe(e *envelope.Event) {
	k := f.keysOf(e)
	if k.content && bytes.Equal(e.Raw(k.id), f.lastID) && (f.full || f.last != nil && f.last.open) {
		// Nearly all text events are of this form.
		if f.current = nil; !f.full {
			f.appendDelta(f.last, e, k)
		}
		return
	}
	tagged := f.readTag(e, k)
	switch e.Type {
	case envelope.TextMessageContent, envelope.TextMessageEnd:
		f.closeLane(tagged)
		f.continueMessage(e, k, tagged)
	case envelope.TextMessageStart:
		f.closeLane(tagged)
		if m, own := f.ownMessage(e, k, tagged); own {
			if m = f.start(e, m); m != nil {
				m.open = true
				f.omitOtherKeys(e, k)
			}
		}
	case envelope.TextMessageChunk:
		f.chunk(e, k, tagged)
	default:
		f.closeLanes(k.ends, tagged)
	}
}

// readTag reads the subagent that an event names, and reports whether it names one.
func (f *fold) readTag(e *envelope.Event, k *eventKeys) bool {
	if k.tag < 0 {
		return false
	}
	v := e.At(k.tag)
	switch v.Kind {
	case strictjson.Null:
		return false
	case strictjson.String:
		f.tag, _ = strictjson.AppendUnquoted(f.tag[:0], v.Raw)
	default:
		f.tag = f.tag[:0]
	}
	return true
}

// ownMessage reads an event's messageId, and reports whether the message is the run's
// own. It returns nil if there is no message with this id yet. A message that a subagent
// began belongs to the subagent even if later events do not name it. Its omission is
// recorded once.
func (f *fold) ownMessage(e *envelope.Event, k *eventKeys, tagged bool) (m *streamed, own bool) {
	var v envelope.Value
	if k.id >= 0 {
		v = e.At(k.id)
	}
	if !tagged && f.last != nil && bytes.Equal(v.Raw, f.lastID) {
		return f.last, true
	}
	valid := false
	if v.Kind == strictjson.String {
		f.id, valid = strictjson.AppendUnquoted(f.id[:0], v.Raw)
	}
	if !valid {
		f.refuse(origin{event: e}.name("messageId"), finding.EventFieldMalformed, "the messageId of %s is missing or not a valid string", e.Type)
		return nil, false
	}
	if f.subagent[string(f.id)] {
		return nil, false
	}
	m = f.byID[string(f.id)]
	if !tagged {
		f.last, f.lastID = m, append(f.lastID[:0], v.Raw...) // if m is nil, start may set it
		return m, true
	}
	if m == nil {
		if !f.reserve(e, "", len(f.id)+entryBytes) {
			return nil, false
		}
		if f.subagent == nil {
			f.subagent = make(map[string]bool)
		}
		f.subagent[string(f.id)] = true
	}
	f.omitted.add(origin{event: e}.omission(finding.SubagentText))
	return nil, false
}

// start begins the message with the id that ownMessage read, unless there is one, which
// continues. It returns nil if the fold is full.
func (f *fold) start(e *envelope.Event, m *streamed) *streamed {
	role, hasRole := e.Get("role")
	name, hasName := e.Get("name")
	if m != nil {
		switch {
		case hasRole && !reduce.HasRole(e, m.role):
			f.refuse(origin{event: e}.name("role"), finding.MessageSpeakers, "message %s begins again with another role", finding.Quote(m.id))
		case hasName && m.name != nil && !sameName(m.name, name):
			f.refuse(origin{event: e}.name("name"), finding.MessageSpeakers, "message %s begins again with another name", finding.Quote(m.id))
		case hasName && m.name == nil:
			f.omitted.add(origin{event: e}.name("name").omission(finding.KeyOutsideSubset))
		}
		return m
	}
	if !f.reserve(e, "", len(f.id)+len(role.Raw)+len(name.Raw)+entryBytes) {
		return nil
	}
	m = &streamed{id: string(f.id), role: reduce.Role(e), first: e.Ref()}
	m.subset = artifact.IsRole(m.role)
	if hasName {
		kept := name
		kept.Raw = append([]byte(nil), name.Raw...)
		m.name = &kept
	}
	f.streamed = append(f.streamed, m)
	f.byID[m.id] = m
	f.last = m
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
func (f *fold) continueMessage(e *envelope.Event, k *eventKeys, tagged bool) {
	m, own := f.ownMessage(e, k, tagged)
	if !own || f.full {
		return
	}
	if m == nil || !m.open {
		id, _ := e.At(k.id).Text()
		f.refuse(origin{event: e}.name("messageId"), finding.TextNotOpen, "%s of message %s, which is not open", e.Type, finding.Quote(id))
		return
	}
	if e.Type == envelope.TextMessageEnd {
		m.open = false
	} else {
		f.delta(m, e, k, true)
	}
	f.omitOtherKeys(e, k)
}

// delta appends an event's text to its message. It does not keep the text of a
// message whose role is outside the subset.
func (f *fold) delta(m *streamed, e *envelope.Event, k *eventKeys, required bool) {
	var v envelope.Value
	if k.delta >= 0 {
		v = e.At(k.delta)
	} else if !required {
		return
	}
	if v.Kind != strictjson.String {
		f.refuse(origin{event: e}.name("delta"), finding.EventFieldMalformed, "the delta of %s is missing or not a string", e.Type)
		return
	}
	f.appendDelta(m, e, k)
}

// appendDelta appends the delta of an event, a string, to its message, unless the role of
// the message is outside the subset.
func (f *fold) appendDelta(m *streamed, e *envelope.Event, k *eventKeys) {
	if delta := e.Raw(k.delta); m.subset && f.reserve(e, "delta", len(delta)) {
		f.append(m, delta, e.Plain(k.delta))
	}
}

// omitOtherKeys records an omission for each member of a text event whose key the fold
// does not read.
func (f *fold) omitOtherKeys(e *envelope.Event, k *eventKeys) {
	if !k.others {
		return
	}
	for m := range e.All {
		if name, _ := m.Name.Text(); omits(e.Type, []byte(name)) {
			f.omitted.add(origin{event: e}.name(name).omission(finding.KeyOutsideSubset))
		}
	}
}

// isText reports whether the events of a type are text events.
func isText(eventType string) bool {
	switch eventType {
	case envelope.TextMessageStart, envelope.TextMessageContent, envelope.TextMessageEnd, envelope.TextMessageChunk:
		return true
	}
	return false
}

// omits reports whether the fold does not read the keys with a name in text events of a type.
// It ignores timestamp and rawEvent, which describe the event and not the
// message.
func omits(eventType string, name []byte) bool {
	switch string(name) {
	case "type", "messageId", "timestamp", "rawEvent", "subagentRunId":
		return false
	case "role", "name":
		return eventType == envelope.TextMessageContent || eventType == envelope.TextMessageEnd
	case "delta":
		return eventType == envelope.TextMessageStart || eventType == envelope.TextMessageEnd
	}
	return true
}

// reserve accounts for n more bytes, of the key of an event or, if key is empty, of the
// event. It refuses the run if they exceed the limit.
func (f *fold) reserve(e *envelope.Event, key string, n int) bool {
	if f.full {
		return false
	}
	if f.bytes += n; f.bytes > maxFoldedBytes {
		f.fill(e, key)
	}
	return !f.full
}

// fill refuses the run because of the key of an event or, if key is empty, of the event.
func (f *fold) fill(e *envelope.Event, key string) {
	f.full = true
	o := origin{event: e}
	if key != "" {
		o = o.name(key)
	}
	f.refuse(o, finding.TooLarge, "the run streams more text than an artifact of %d bytes can contain", artifact.MaxFileBytes)
}

// refuse adds a reason to refuse the run. The finding does not reference the event.
func (f *fold) refuse(o origin, code finding.Code, format string, args ...any) {
	if len(f.findings) < maxFoldFindings {
		f.findings = append(f.findings, o.finding(code, format, args...))
	} else {
		f.unlisted++
	}
}

package reduce

import (
	"bytes"
	"slices"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// upgrades has what is known of the events that are not AG-UI 1.0.
type upgrades struct {
	thinking event.Upgrader
	reported map[upgraded]bool
}

// upgraded is a kind of deviation from AG-UI 1.0, which is reported once.
type upgraded struct {
	tolerance        event.Tolerance
	eventType, field string
}

// upgrade returns an event as AG-UI 1.0 has it, if package event reads it tolerantly and
// it differs. Otherwise it returns e. Events of runs and lists of messages are not
// changed: see upgradeMessages.
func (r *Reducer) upgrade(e *envelope.Event) *envelope.Event {
	if e.Type == eventnames.RunStarted {
		r.upgrades.thinking.Upgrade(new(event.RunStarted))
		return e
	}
	if plain(e) {
		return e
	}
	var faults []event.Fault
	typed, err := event.Decode(e.Data, event.Tolerant(&faults))
	if err != nil {
		return e // the event is ignored, with a finding
	}
	if !r.report(e, "", faults) {
		return e
	}
	up := r.upgrades.thinking.Upgrade(typed)
	for up != typed && e.Type == eventnames.ThinkingTextMessageStart && r.conversation.find(up.(*event.ReasoningMessageStart).MessageID) != nil {
		up = r.upgrades.thinking.Upgrade(typed)
	}
	r.changes.Thinking = r.changes.Thinking || up != typed
	text := event.Append(nil, up)
	_, object := read(text)
	derived := new(envelope.Event)
	derived.Derive(e, up.Type(), text, *object)
	return derived
}

// report adds a warning about each kind of deviation that was not reported yet, or only of
// the given kinds. It returns whether there is one in the fields that a Reducer reads, so
// that they change.
func (r *Reducer) report(e *envelope.Event, at finding.Pointer, faults []event.Fault, only ...event.Tolerance) (changed bool) {
	for _, f := range faults {
		if len(only) > 0 && !slices.Contains(only, f.Tolerance) {
			continue
		}
		switch f.Tolerance {
		case event.UnknownType, event.UnknownKey, event.UnknownMember, event.PatchPointer, event.MalformedMember:
			continue // kept as it is, or removed later; see known.go
		}
		field, _, _ := strings.Cut(strings.TrimPrefix(string(f.Pointer), "/"), "/")
		switch field {
		case "timestamp", "rawEvent", "result", "usage":
			continue // not read
		}
		changed = true
		kind := upgraded{f.Tolerance, e.Type, field}
		if f.Tolerance == event.RetiredType {
			kind.eventType = "" // each THINKING type has this one
		}
		if !r.first(kind) {
			continue
		}
		found := finding.New(finding.EventAltered, "%s: %s%s; this and later ones are read by the tolerance %s", e.Type, at, f.Message, f.Tolerance)
		r.found = append(r.found, e.Place(found.WithPointer(at+f.Pointer), envelope.Value{Start: f.Offset}).WithSeverity(finding.Warning))
	}
	return changed
}

// first reports whether a kind of deviation was not reported yet. Now it is.
func (r *Reducer) first(kind upgraded) bool {
	if r.upgrades.reported[kind] {
		return false
	}
	if r.upgrades.reported == nil {
		r.upgrades.reported = make(map[upgraded]bool)
	}
	r.upgrades.reported[kind] = true
	return true
}

// The required fields of events, by groups of types.
var (
	idField       = []string{messageIDKey}
	textFields    = []string{messageIDKey, "delta"}
	startFields   = []string{messageIDKey, roleKey}
	callFields    = []string{callIDKey}
	beginFields   = []string{callIDKey, "toolCallName"}
	argsFields    = []string{callIDKey, "delta"}
	resultFields  = []string{messageIDKey, callIDKey, contentKey}
	secretFields  = []string{"subtype", "entityId", encryptedKey}
	showFields    = []string{messageIDKey, activityTypeKey, contentKey}
	patchFields   = []string{messageIDKey, activityTypeKey, "patch"}
	stateFields   = []string{"snapshot"}
	changeFields  = []string{"delta"}
	noFields      = []string{}
	thinkingTypes = "THINKING_"
)

// required returns the required fields of an event that a Reducer applies, except those of
// runs and lists of messages. The result is nil for other types.
func required(eventType string) []string {
	switch eventType {
	case eventnames.TextMessageStart, eventnames.TextMessageEnd, eventnames.ReasoningMessageEnd:
		return idField
	case eventnames.TextMessageContent, eventnames.ReasoningMessageContent:
		return textFields
	case eventnames.ReasoningMessageStart:
		return startFields
	case eventnames.ToolCallEnd:
		return callFields
	case eventnames.ToolCallStart:
		return beginFields
	case eventnames.ToolCallArgs:
		return argsFields
	case eventnames.ToolCallResult:
		return resultFields
	case eventnames.ReasoningEncryptedValue:
		return secretFields
	case eventnames.ActivitySnapshot:
		return showFields
	case eventnames.ActivityDelta:
		return patchFields
	case eventnames.StateSnapshot:
		return stateFields
	case eventnames.StateDelta:
		return changeFields
	case eventnames.TextMessageChunk, eventnames.ToolCallChunk, eventnames.ReasoningMessageChunk, eventnames.RunFinished:
		return noFields
	}
	return nil
}

// plain reports whether an event has all fields that a Reducer reads, with values of the
// kinds that AG-UI 1.0 defines. It decides quickly that most events need no upgrade, and
// does not look into values.
func plain(e *envelope.Event) bool {
	if strings.HasPrefix(e.Type, thinkingTypes) {
		return false
	}
	fields := required(e.Type)
	if fields == nil {
		return true
	}
	for _, name := range fields {
		if _, ok := e.Get(name); !ok {
			return false
		}
	}
	for m := range e.All {
		if !plainField(e.Type, m) {
			return false
		}
	}
	return true
}

// plainField reports whether the value of a field is of a kind that AG-UI 1.0 defines.
func plainField(eventType string, m envelope.Member) bool {
	v := m.Value
	switch string(m.Name.Raw) {
	case `"role"`:
		return v.Kind == strictjson.String && plainRole(eventType, v)
	case `"messageId"`, `"toolCallId"`, `"toolCallName"`, `"activityType"`, `"subtype"`, `"entityId"`, `"encryptedValue"`,
		`"name"`, `"subagentRunId"`, `"parentMessageId"`:
		return v.Kind == strictjson.String
	case `"delta"`:
		if eventType == eventnames.StateDelta {
			return v.Kind == strictjson.ArrayStart
		}
		return v.Kind == strictjson.String || eventType == eventnames.ActivityDelta
	case `"patch"`:
		return v.Kind == strictjson.ArrayStart || eventType != eventnames.ActivityDelta
	case `"content"`:
		switch eventType {
		case eventnames.ToolCallResult:
			return v.Kind == strictjson.String || !mayHaveBinary(v)
		case eventnames.ActivitySnapshot:
			return v.Kind == strictjson.ObjectStart
		}
	case `"replace"`:
		return v.Kind == strictjson.True || v.Kind == strictjson.False
	case `"metadata"`, `"outcome"`:
		return v.Kind == strictjson.ObjectStart
	}
	return true
}

// plainRole reports whether the role of an event is one that AG-UI 1.0 defines for it.
func plainRole(eventType string, v envelope.Value) bool {
	switch eventType {
	case eventnames.ReasoningMessageStart:
		return v.Is(event.RoleReasoning)
	case eventnames.ToolCallResult:
		return v.Is(event.RoleTool)
	}
	return v.Is(event.RoleAssistant) || v.Is(event.RoleUser) || v.Is(event.RoleSystem) || v.Is(event.RoleDeveloper)
}

// mayHaveBinary reports whether a list of content parts may have one of the type binary.
func mayHaveBinary(v envelope.Value) bool {
	return v.Kind == strictjson.ArrayStart && (bytes.Contains(v.Raw, []byte(`binary"`)) || bytes.Contains(v.Raw, []byte(`\u`)))
}

// readMessages reads the messages of an event or, if e has no text, of a request. The list
// is at a pointer, and base is added to the offsets of its elements. What AG-UI does not
// define is removed. Parts of the type binary become what package event makes of them, and so
// do strings in the input of a run. Everything else is kept as it is. The result is false if the messages exceed the limit. A
// short text can be a list of very many messages, so the rest is not read.
func (r *Reducer) readMessages(e *envelope.Event, list envelope.Value, at finding.Pointer, base int) (messages []*Message, ok bool) {
	limit := r.conversation.limit
	var texts []event.Message // those of the input
	skipped := false
	add := func(m *Message) error {
		if limit -= m.bytes; limit < 0 {
			return errTooLarge
		}
		messages = append(messages, m)
		return nil
	}
	err := strictjson.Elements(list, func(i int, v strictjson.Value, o *strictjson.Object) error {
		switch v.Kind {
		case strictjson.ObjectStart:
			var s stripper
			known, ok := s.message(v, o)
			if s.removed > 0 {
				r.reportRemoved(e, at.Index(i), envelope.Value{Start: base + v.Start}, &s)
				if !ok {
					return nil
				}
				known.Start = v.Start
				v = known
				_, o = read(v.Raw)
			}
			m := readMessage(v, o, limit)
			r.upgradeContent(e, at.Index(i), base, v, o, m)
			return add(m)
		case strictjson.String:
			if texts == nil && e.Type == eventnames.RunStarted {
				texts = r.readTexts(e)
			}
			if i < len(texts) {
				v, o := read(event.AppendMessage(nil, texts[i]))
				return add(readMessage(v, o, limit))
			}
		}
		skipped = true
		return nil
	})
	if skipped {
		r.warn(e, finding.EventFieldMalformed, "the messages of %s contain values that are not messages; they are ignored", e.Type)
	}
	return messages, r.fits(e, err == nil)
}

// readTexts returns the messages of the input of RUN_STARTED, some of which are strings. It
// returns an empty list if package event refuses the event.
func (r *Reducer) readTexts(e *envelope.Event) []event.Message {
	var faults []event.Fault
	typed, err := event.Decode(e.Data, event.Tolerant(&faults))
	if err != nil {
		return []event.Message{}
	}
	r.report(e, "", faults, event.StringMessage)
	return typed.(*event.RunStarted).Input.Messages
}

// upgradeContent replaces the binary parts of a message, which is at a pointer in the
// event.
func (r *Reducer) upgradeContent(e *envelope.Event, at finding.Pointer, base int, v envelope.Value, o *envelope.Object, m *Message) {
	if parts, _ := o.Get(contentKey); !mayHaveBinary(parts) {
		return
	}
	var faults []event.Fault
	typed, err := event.DecodeMessage(v.Raw, event.Tolerant(&faults))
	if err != nil {
		return
	}
	for i := range faults {
		faults[i].Offset += base + v.Start
	}
	if !r.report(e, at, faults, event.BinaryContent) {
		return
	}
	if content, ok := event.JSON(event.AppendMessage(nil, typed)).Get(contentKey); ok {
		m.bytes += m.open().set(contentKey, rawJSON(content))
	}
}

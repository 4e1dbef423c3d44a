package reduce

import (
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// What AG-UI 1.1 does not define does not reach an application: members of messages, tool
// calls and content parts are removed, and messages and parts of an unknown kind with all
// that they have (Processing Model, What a consumer does with unrecognised material). Values
// that are not valid are kept as they are.

// The members that AG-UI 1.1 defines, by the kinds of objects. Names in snake case are those
// of required members that package event reads tolerantly.
var (
	textMembers      = []string{idKey, roleKey, contentKey, nameKey, encryptedKey, encryptedTypeKey, subagentKey, metadataKey}
	assistantMembers = []string{idKey, roleKey, contentKey, callsKey, nameKey, encryptedKey, encryptedTypeKey, subagentKey, metadataKey}
	toolMembers      = []string{idKey, roleKey, contentKey, callIDKey, "error", encryptedKey, encryptedTypeKey, subagentKey, metadataKey, "tool_call_id"}
	reasoningMembers = []string{idKey, roleKey, contentKey, encryptedKey, encryptedTypeKey, subagentKey, metadataKey}
	activityMembers  = []string{idKey, roleKey, activityTypeKey, contentKey, subagentKey, metadataKey, "activity_type"}
	callMembers      = []string{idKey, "type", functionKey, encryptedKey, encryptedTypeKey, metadataKey}
	functionMembers  = []string{nameKey, argumentsKey}
	textPartMembers  = []string{"type", idKey, "text", metadataKey}
	mediaMembers     = []string{"type", idKey, "source", metadataKey}
	sourceMembers    = []string{"type", "value", "mimeType", "mime_type"}
	fileMembers      = []string{"type", "value", "mimeType", "provider"}
	interruptMembers = []string{idKey, "reason", "message", callIDKey, "responseSchema", "expiresAt", subagentKey, metadataKey}
)

// membersOf returns the members of a message with a role, or nil if AG-UI does not define the
// role.
func membersOf(role string) []string {
	switch role {
	case event.RoleDeveloper, event.RoleSystem, event.RoleUser:
		return textMembers
	case event.RoleAssistant:
		return assistantMembers
	case event.RoleTool:
		return toolMembers
	case event.RoleReasoning:
		return reasoningMembers
	case event.RoleActivity:
		return activityMembers
	}
	return nil
}

// Known returns a message without what AG-UI does not define, and whether AG-UI defines its
// role. If nothing is removed, it is the same text.
func Known(message envelope.Value, o *envelope.Object) (known envelope.Value, ok bool) {
	return new(stripper).message(message, o)
}

// stripper removes what AG-UI does not define.
type stripper struct {
	path    []step
	removed int
	first   finding.Pointer // of what was removed
	member  bool            // it is a member
}

// step is the name or the index of a value in the enclosing one.
type step struct {
	name  []byte // of a member, with quotes
	index int
}

// remove notes that the value at the path is removed.
func (s *stripper) remove(member bool) {
	if s.removed++; s.removed > 1 {
		return
	}
	s.member = member
	for _, at := range s.path {
		if at.name == nil {
			s.first = s.first.Index(at.index)
			continue
		}
		name, _ := strictjson.Unquote(at.name)
		s.first = s.first.Name(name)
	}
}

// message returns a message without what AG-UI does not define, or false if AG-UI does not
// define its role.
func (s *stripper) message(v envelope.Value, o *envelope.Object) (envelope.Value, bool) {
	role := o.Text(roleKey)
	members := membersOf(role)
	if members == nil {
		s.remove(false)
		return v, false
	}
	return s.object(v, o, members, func(m strictjson.Member) (envelope.Value, bool) {
		switch {
		case m.Value.Kind != strictjson.ArrayStart:
		case m.Is(callsKey):
			return s.list(m.Value, s.call), true
		case m.Is(contentKey) && (role == event.RoleUser || role == event.RoleTool):
			return s.list(m.Value, s.part), true
		}
		return m.Value, true
	}), true
}

// call does so for a tool call.
func (s *stripper) call(v envelope.Value, o *envelope.Object) (envelope.Value, bool) {
	return s.object(v, o, callMembers, func(m strictjson.Member) (envelope.Value, bool) {
		if m.Value.Kind == strictjson.ObjectStart && m.Is(functionKey) {
			_, function := read(m.Value.Raw)
			return s.object(m.Value, function, functionMembers, nil), true
		}
		return m.Value, true
	}), true
}

// part does so for a part of a content. The parts of the type binary of AG-UI 0.x that can be
// converted are kept.
func (s *stripper) part(v envelope.Value, o *envelope.Object) (envelope.Value, bool) {
	kind := o.Text("type")
	switch kind {
	case "text":
		return s.object(v, o, textPartMembers, nil), true
	case event.MediaImage, event.MediaAudio, event.MediaVideo, event.MediaDocument:
	case "binary":
		if o.Text("data")+o.Text("url") != "" {
			return v, true
		}
		fallthrough
	default:
		s.remove(false)
		return v, false
	}
	known := true
	stripped := s.object(v, o, mediaMembers, func(m strictjson.Member) (envelope.Value, bool) {
		if m.Value.Kind != strictjson.ObjectStart || !m.Is("source") {
			return m.Value, true
		}
		_, source := read(m.Value.Raw)
		members := sourceMembers
		switch name, _ := source.Get("type"); {
		case name.Kind != strictjson.String, name.Is(event.SourceData), name.Is(event.SourceURL):
		case name.Is(event.SourceFile):
			members = fileMembers
		default:
			known = false
			return m.Value, true
		}
		return s.object(m.Value, source, members, nil), true
	})
	if !known {
		s.remove(false)
	}
	return stripped, known
}

// object returns an object without members that are not in a list, and with what inside
// returns for the others.
func (s *stripper) object(v envelope.Value, o *envelope.Object, members []string, inside func(strictjson.Member) (envelope.Value, bool)) envelope.Value {
	var b *strictjson.Builder
	i := 0
	for m := range o.All {
		s.path = append(s.path, step{name: m.Name.Raw})
		value, keep := m.Value, m.Is(members...)
		switch {
		case !keep:
			s.remove(true)
		case inside != nil:
			value, keep = inside(m)
		}
		s.path = s.path[:len(s.path)-1]
		if b == nil && (!keep || !sameText(value, m.Value)) {
			b = firstMembers(o, i)
		}
		if b != nil && keep {
			b.AddMember(strictjson.Member{Name: m.Name, Value: value})
		}
		i++
	}
	if b == nil {
		return v
	}
	text, _ := b.Object()
	return envelope.Value{Kind: v.Kind, Raw: text, Start: v.Start}
}

// firstMembers returns a builder with the first n members of an object.
func firstMembers(o *envelope.Object, n int) *strictjson.Builder {
	b := new(strictjson.Builder)
	for m := range o.All {
		if n--; n < 0 {
			break
		}
		b.AddMember(m)
	}
	return b
}

// list returns an array with what each returns for its objects. Other elements are kept.
func (s *stripper) list(v envelope.Value, each func(envelope.Value, *envelope.Object) (envelope.Value, bool)) envelope.Value {
	var kept [][]byte
	changed := false
	// The array was read before, so there is no error.
	_ = strictjson.Elements(v, func(i int, element strictjson.Value, o *strictjson.Object) error {
		value, keep := element, true
		if element.Kind == strictjson.ObjectStart {
			s.path = append(s.path, step{index: i})
			value, keep = each(element, o)
			s.path = s.path[:len(s.path)-1]
		}
		changed = changed || !keep || !sameText(value, element)
		if keep {
			kept = append(kept, value.Raw)
		}
		return nil
	})
	if !changed {
		return v
	}
	text := []byte{'['}
	for i, element := range kept {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, element...)
	}
	return envelope.Value{Kind: v.Kind, Raw: append(text, ']'), Start: v.Start}
}

// sameText reports whether two values are the same part of a text.
func sameText(a, b envelope.Value) bool { return &a.Raw[0] == &b.Raw[0] && len(a.Raw) == len(b.Raw) }

// reportRemoved warns once for each type of event, and for members and other material, that
// something was removed from a list or a value that is at a pointer in the event.
func (r *Reducer) reportRemoved(e *envelope.Event, at finding.Pointer, v envelope.Value, s *stripper) {
	if s.removed == 0 {
		return
	}
	kind := upgraded{event.UnknownMember, e.Type, ""}
	if s.member {
		kind.tolerance = event.UnknownKey
	}
	if !r.first(kind) {
		return
	}
	at += s.first
	found := finding.New(finding.EventAltered, "%s: %s is not defined by AG-UI; this and later ones are left out", e.Type, at.Bounded())
	r.found = append(r.found, e.Place(found.WithPointer(at.Bounded()), v).WithSeverity(finding.Warning))
}

// knownInterrupt returns an interrupt without members that AG-UI does not define, and without
// a subagentRunId of null.
func knownInterrupt(v envelope.Value, o *envelope.Object) rawJSON {
	members := interruptMembers
	if tag, ok := o.Get(subagentKey); ok && tag.Kind == envelope.NullValue {
		members = slices.DeleteFunc(slices.Clone(members), func(name string) bool { return name == subagentKey })
	}
	return compact(new(stripper).object(v, o, members, nil).Raw)
}

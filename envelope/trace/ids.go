package trace

import (
	"bytes"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/jsonvalue"
)

// IDs are the ids of a stream, with what they name. They are collected before the stream is
// brought into normal form, because ids are found in states and other payloads before the
// events that they are the ids of. The zero value has none, and knows no matchers.
type IDs struct {
	roles    map[string]role
	keys     [envelope.Shapes]idKeys
	matchers matchers
}

// NewIDs returns no ids, for a stream that is brought into normal form with the options.
func NewIDs(o Options) *IDs { return &IDs{matchers: newMatchers(o.Matchers)} }

// idKeys are the members with ids of the events of a shape.
type idKeys struct {
	shape   envelope.Shape
	members []int
	last    []byte // the JSON text of the only one, in the last event of the shape
}

// Event adds the ids of the next event of the stream. It does not retain e.
func (i *IDs) Event(e *envelope.Event) {
	if i.roles == nil {
		i.roles = map[string]role{}
	}
	k := i.keysOf(e)
	if len(k.members) == 0 {
		return
	}
	if raw := e.Raw(k.members[0]); len(k.members) == 1 && len(raw) < 1<<10 {
		if k.shape != 0 && bytes.Equal(raw, k.last) {
			return
		}
		k.last = append(k.last[:0], raw...)
	}
	n := names{found: func(r role, id string) {
		if i.roles[id] == 0 {
			i.roles[id] = r
		}
	}}
	value := new(jsonvalue.Object)
	at := 0
	for m := range e.Object.All {
		if slices.Contains(k.members, at) {
			name, _ := m.Name.Text()
			value.Set(name, jsonvalue.Parse(m.Value))
		}
		at++
	}
	n.object(value, 0)
	i.matchers.apply(e.Type, value, &n)
	i.matchers.applyPatch(e.Type, value, &n)
}

// keysOf returns the members of an event that can have ids.
func (i *IDs) keysOf(e *envelope.Event) *idKeys {
	shape := e.Shape()
	k := &i.keys[shape%envelope.Shapes]
	if shape == 0 || k.shape != shape {
		*k = idKeys{shape: shape}
		at := 0
		for m := range e.Object.All {
			if name, _ := m.Name.Text(); hasIDs(name) || i.matchers.hasIDs(e.Type, name) || i.matchers.patches(e.Type, name) {
				k.members = append(k.members, at)
			}
			at++
		}
	}
	return k
}

// hasIDs reports whether a member of an event has ids by itself, or within it.
func hasIDs(name string) bool {
	switch name {
	case "messages", "toolCalls", "interrupts", "resume", "function", "input", "outcome", "entityId", "subtype":
		return true
	}
	return idOf(name) != 0
}

package analysis

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Reason says why something was refused or omitted, and in what kind of place. It has
// only what two runs of one scenario have in common. Count is the number of occurrences.
type Reason struct {
	Code finding.Code `json:"code"`
	// Event is the type of the event, or the name of a file. It is empty for the
	// whole run.
	Event string `json:"event,omitzero"`
	// Pointer has * in place of every index.
	Pointer finding.Pointer `json:"pointer,omitzero"`
	Count   int             `json:"count"`
}

// String returns "code EVENT/pointer", followed by "×n" if Count is greater than 1.
func (r Reason) String() string {
	text := strings.TrimSpace(string(r.Code) + " " + r.Event + string(r.Pointer))
	if r.Count > 1 {
		text += fmt.Sprintf(" ×%d", r.Count)
	}
	return text
}

// WithoutCount returns r with Count set to zero, for comparing and printing reasons.
func (r Reason) WithoutCount() Reason {
	r.Count = 0
	return r
}

// reasons returns the errors among findings.
func reasons(list []finding.Finding, types *EventTypes) []Reason {
	var g reasonList
	for _, f := range list {
		if f.Severity == finding.Error {
			g.add(Reason{f.Code, types.At(f.EventIndex), anyIndex(f.Pointer), 1})
		}
	}
	return g.list
}

// omissionReasons returns the reasons of omissions.
func omissionReasons(list []project.Omission, types *EventTypes) []Reason {
	var g reasonList
	for _, o := range list {
		where := o.File
		if o.EventIndex != nil {
			where = types.At(o.EventIndex)
		}
		g.add(Reason{o.Reason, where, anyIndex(o.Pointer), max(o.Count, 1)})
	}
	return g.list
}

// reasonList counts reasons, in the order of their first occurrence.
type reasonList struct {
	list  []Reason
	index map[Reason]int
}

func (g *reasonList) add(r Reason) {
	if i, ok := g.index[r.WithoutCount()]; ok {
		g.list[i].Count += r.Count
		return
	}
	if g.index == nil {
		g.index = make(map[Reason]int)
	}
	g.index[r.WithoutCount()] = len(g.list)
	g.list = append(g.list, r)
}

// anyIndex replaces each index in a pointer with *. A pointer that is too long is first
// shortened to the pointer of an enclosing value, as in a finding.
func anyIndex(p finding.Pointer) finding.Pointer {
	parts := strings.Split(string(p.Bounded()), "/")
	for i, part := range parts {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			parts[i] = "*"
		}
	}
	return finding.Pointer(strings.Join(parts, "/"))
}

// EventTypes stores the type of each event of a capture, using two bytes per event.
type EventTypes struct {
	names       []string
	ids         map[string]uint16
	nameIndexes []uint16
}

// maxTypes limits the number of distinct event types; AG-UI has about forty.
// maxTypedEvents limits the number of events whose type is stored.
const (
	maxTypes       = 1024
	maxTypedEvents = 4 << 20
)

func (t *EventTypes) set(index int, name string) {
	if index >= maxTypedEvents {
		return
	}
	if len(name) > maxNameBytes {
		name = shownName(name)
	}
	id, ok := t.ids[name]
	if !ok {
		if t.ids == nil {
			t.ids, t.names = make(map[string]uint16), []string{""}
		}
		if len(t.names) < maxTypes {
			id = uint16(len(t.names))
			t.ids[name] = id
			t.names = append(t.names, name)
		}
	}
	for len(t.nameIndexes) <= index {
		t.nameIndexes = append(t.nameIndexes, 0)
	}
	t.nameIndexes[index] = id
}

// At returns the type of the event with that index. It returns "" if index is nil or the
// type is not stored.
func (t *EventTypes) At(index *int) string {
	if t == nil || index == nil || *index >= len(t.nameIndexes) {
		return ""
	}
	return t.names[t.nameIndexes[*index]]
}

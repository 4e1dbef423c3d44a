package analysis

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Reason is why something was refused or left out, and in what kind of place:
// what two runs of one scenario have in common. Count is of how many.
type Reason struct {
	Code finding.Code `json:"code"`
	// Event is the type of the event, or the name of a file; empty for the run
	// as a whole.
	Event string `json:"event,omitzero"`
	// Pointer has * for every index.
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

// reasons gathers the errors among findings.
func reasons(list []finding.Finding, of *EventTypes) []Reason {
	var g reasonList
	for _, f := range list {
		if f.Severity == finding.Error {
			g.add(Reason{f.Code, of.At(f.EventIndex), anyIndex(f.Pointer), 1})
		}
	}
	return g.list
}

// omissionReasons gathers omissions.
func omissionReasons(list []project.Omission, of *EventTypes) []Reason {
	var g reasonList
	for _, o := range list {
		where := o.File
		if o.EventIndex != nil {
			where = of.At(o.EventIndex)
		}
		g.add(Reason{o.Reason, where, anyIndex(o.Pointer), max(o.Count, 1)})
	}
	return g.list
}

// reasonList has reasons in the order of their first appearance.
type reasonList struct {
	list []Reason
	at   map[Reason]int
}

func (g *reasonList) add(r Reason) {
	if i, ok := g.at[r.WithoutCount()]; ok {
		g.list[i].Count += r.Count
		return
	}
	if g.at == nil {
		g.at = make(map[Reason]int)
	}
	g.at[r.WithoutCount()] = len(g.list)
	g.list = append(g.list, r)
}

// anyIndex puts * for each index of a pointer. One that is too long becomes that
// of a value around it, as in a finding.
func anyIndex(p finding.Pointer) finding.Pointer {
	parts := strings.Split(string(p.Bounded()), "/")
	for i, part := range parts {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			parts[i] = "*"
		}
	}
	return finding.Pointer(strings.Join(parts, "/"))
}

// EventTypes remembers the type of each event of a capture, in two bytes each.
type EventTypes struct {
	names []string
	ids   map[string]uint16
	of    []uint16
}

// maxTypes is how many event types are told apart; AG-UI has about forty.
// maxTypedEvents is of how many events the type is remembered; a reason in a later one
// has none.
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
	for len(t.of) <= index {
		t.of = append(t.of, 0)
	}
	t.of[index] = id
}

// At returns the type of the event of that index, or "" where there is none or it
// is not remembered.
func (t *EventTypes) At(index *int) string {
	if t == nil || index == nil || *index >= len(t.of) {
		return ""
	}
	return t.names[t.of[*index]]
}

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

// String is "code EVENT/pointer", and how often where that is not once.
func (r Reason) String() string {
	if r.Count > 1 {
		return fmt.Sprintf("%s ×%d", r.Place(), r.Count)
	}
	return r.Place()
}

// Key is the reason however often.
func (r Reason) Key() Reason {
	r.Count = 0
	return r
}

// Place is what and where, however often.
func (r Reason) Place() string {
	return strings.TrimSpace(string(r.Code) + " " + r.Event + string(r.Pointer))
}

// reasons gathers the errors among findings.
func reasons(list []finding.Finding, of *Types) []Reason {
	var g gathered
	for _, f := range list {
		if f.Severity == finding.Error {
			g.add(Reason{f.Code, of.At(f.EventIndex), anyIndex(f.Pointer), 1})
		}
	}
	return g.list
}

// omitted gathers omissions.
func omitted(list []project.Omission, of *Types) []Reason {
	var g gathered
	for _, o := range list {
		where := o.File
		if o.EventIndex != nil {
			where = of.At(o.EventIndex)
		}
		g.add(Reason{o.Reason, where, anyIndex(o.Pointer), max(o.Count, 1)})
	}
	return g.list
}

// gathered has reasons in the order of their first appearance.
type gathered struct {
	list []Reason
	at   map[Reason]int
}

func (g *gathered) add(r Reason) {
	if i, ok := g.at[r.Key()]; ok {
		g.list[i].Count += r.Count
		return
	}
	if g.at == nil {
		g.at = make(map[Reason]int)
	}
	g.at[r.Key()] = len(g.list)
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

// Types remembers the type of each event of a capture, in two bytes each.
type Types struct {
	names []string
	ids   map[string]uint16
	of    []uint16
}

// maxTypes is how many event types are told apart; AG-UI has about forty.
// maxTyped is of how many events the type is remembered; a reason in a later one
// has none.
const (
	maxTypes = 1024
	maxTyped = 4 << 20
)

func (t *Types) set(index int, name string) {
	if index >= maxTyped {
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
func (t *Types) At(index *int) string {
	if t == nil || index == nil || *index >= len(t.of) {
		return ""
	}
	return t.names[t.of[*index]]
}

package report

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// artifactView is an artifact and how it came about.
type artifactView struct {
	Built    bool
	Name     string
	Terminal string
	Error    string
	Count    int // of messages
	Messages []message
	More     int // of them are not shown
	Bytes    int64
	JSON     shown
	Parts    []part
	Left     []omission
	LeftMore int // omissions that are not listed
}

// message is one message of an artifact.
type message struct {
	Role, Name, ID string
	Begin          string // of a long content, which is folded
	Content        template.HTML
	Bytes          int64
	Cut            bool
}

// longContent is the size in bytes from which a message is folded.
const longContent = 4_000

// shown is a JSON text as a tree.
type shown struct {
	HTML template.HTML
	Cut  bool
}

// part is an event of the envelope, or the request a snapshot was built from.
type part struct {
	Title string
	Is    string
	Event *int // nil for what was no event
	Bytes int64
	Tree  shown
}

// omission is something that was left out, and why.
type omission struct {
	Event   *int
	Place   string
	Reason  finding.Code
	Meaning string
}

func newArtifact(r *run, f frozen, left *limits) *artifactView {
	p := f.record.Predicate
	v := &artifactView{
		Built:    p.Projection.Origin == project.Built,
		Name:     visible(f.record.Subject[0].Name),
		Terminal: f.decoded.TerminalEvent,
		Error:    visible(f.decoded.ErrorMessage),
		Bytes:    int64(len(f.artifact)),
		Count:    len(f.decoded.Messages),
	}
	if f.decoded.ErrorCode != "" {
		v.Error += " (" + visible(f.decoded.ErrorCode) + ")"
	}
	marks := make(map[int]*mark)
	request := new(mark)
	for _, o := range p.Omissions {
		at := request
		if o.EventIndex != nil {
			if at = marks[*o.EventIndex]; at == nil {
				at = new(mark)
				marks[*o.EventIndex] = at
			}
		}
		at.add(o)
		if o.Reason == finding.RequestOtherRun {
			at.reasons = append(at.reasons, o.Reason) // nothing of it is taken
		}
	}
	v.parts(r, f, marks, request, left)
	v.JSON = newTree(f.artifact, nil, left)
	for _, m := range f.decoded.Messages {
		limit := min(left.tree, left.trees)
		if limit == 0 {
			v.More++
			continue
		}
		b, n := appendVisible(nil, m.Content, true, limit)
		shown := message{Role: m.Role, Name: visible(m.Name), ID: visible(m.ID), Content: template.HTML(b), Bytes: int64(len(m.Content)), Cut: n < len(m.Content)}
		if len(m.Content) > longContent {
			shown.Begin = visible(strings.ToValidUTF8(m.Content[:glimpse], ""))
		}
		take(&left.trees, item+len(b)+len(shown.Begin)+len(shown.Name)+len(shown.ID))
		v.Messages = append(v.Messages, shown)
	}
	for _, o := range p.Omissions {
		cost := item + len(o.Pointer)
		if len(v.Left) == left.listed || take(&left.facts, cost) < cost {
			v.LeftMore += max(o.Count, 1)
			continue
		}
		about, _ := finding.Describe(o.Reason)
		item := omission{Event: o.EventIndex, Place: visible(o.File + string(o.Pointer)), Reason: o.Reason, Meaning: about.Meaning}
		if o.Count > 0 {
			item.Place = plural(o.Count, "more", "more")
		}
		v.Left = append(v.Left, item)
	}
	return v
}

// parts shows the events of the envelope with what became of their values, and
// of a built snapshot the request it was built from.
func (v *artifactView) parts(r *run, f frozen, marks map[int]*mark, request *mark, left *limits) {
	places := make(map[string]project.Part)
	for _, p := range f.record.Predicate.Events {
		places[p.Part] = p
	}
	lines := bytes.Split(bytes.TrimSuffix(f.envelope, []byte{'\n'}), []byte{'\n'})
	for i, name := range []string{project.RunStartedPart, project.SnapshotPart, project.TerminalPart} {
		p := part{Is: name, Title: []string{"RUN_STARTED", "MESSAGES_SNAPSHOT", f.decoded.TerminalEvent}[i], Bytes: int64(len(lines[i]))}
		at, emitted := places[name]
		if !emitted {
			p.Tree = newTree(lines[i], nil, left)
			v.Parts = append(v.Parts, p)
			continue
		}
		p.Event, p.Bytes = &at.Index, at.Bytes
		m := marks[at.Index]
		if m == nil {
			m = new(mark)
		}
		p.Tree = newTree(lines[i], m, left)
		v.Parts = append(v.Parts, p)
	}
	if r.request != nil {
		v.Parts = append(v.Parts, part{Title: "request.json", Is: "request", Bytes: int64(len(r.request)), Tree: newTree(r.request, request, left)})
	}
}

// newTree shows a JSON text as far as there is room.
func newTree(text []byte, marks *mark, left *limits) shown {
	b, n := appendTree(nil, text, marks, min(left.tree, left.trees))
	take(&left.trees, len(b))
	return shown{template.HTML(b), n < len(text)}
}

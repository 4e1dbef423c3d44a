package report

import (
	"bytes"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
)

// artifactView is an artifact and how it came about.
type artifactView struct {
	Built    bool
	From     string // of a built snapshot: what it was built from
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
	Content        markup
	Bytes          int64
	Cut            bool
}

// longContent is the size in bytes from which a message is folded.
const longContent = 4_000

// shown is a JSON text as a tree.
type shown struct {
	HTML markup
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
		From:     builtFrom(p),
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
			o.Pointer = o.Pointer[:strings.LastIndexByte(string(o.Pointer), '/')]
			at.add(o) // nothing of the input is taken
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
		shown := message{Role: m.Role, Name: visible(m.Name), ID: visible(m.ID), Content: markup(b), Bytes: int64(len(m.Content)), Cut: n < len(m.Content)}
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
		if o.Reason == finding.SnapshotLacksText {
			item.Meaning = "a streamed message that the snapshot lacks" // of one message, not of the run
		}
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
	return shown{markup(b), n < len(text)}
}

// write writes the artifact: its messages, and its JSON as a tree.
func (v *artifactView) write(w *markupWriter) {
	w.put(`
<section>
<h3>The artifact</h3>`)
	if v.Built {
		w.put(`
<p class="built">These messages were <strong>built</strong> from %s. The run emitted no snapshot.</p>`, v.From)
	}
	w.put(`
<ol class="messages">`)
	for _, m := range v.Messages {
		w.put(`
<li><p class="who"><strong>%s</strong>`, m.Role)
		w.some(` %s`, m.Name)
		w.put(` <small>%s</small></p>`, m.ID)
		if m.Begin != "" {
			w.put(`<details class="long"><summary><span>%s… <span class="size">%s</span></span></summary><div class="content">%s</div></details>`, m.Begin, humanize.Bytes(m.Bytes), m.Content)
		} else {
			w.put(`<div class="content">%s</div>`, m.Content)
		}
		if m.Cut {
			w.put(`<p class="cut">The rest is not shown here.</p>`)
		}
		w.put(`</li>`)
	}
	if v.More > 0 {
		w.put(`
<li class="cut">%s not shown here.</li>`, plural(v.More, "more message is", "more messages are"))
	}
	w.put(`
</ol>
<p class="end">Ended with <code>%s</code>`, v.Terminal)
	w.some(`: %s`, v.Error)
	w.put(`</p>
<details class="json">
<summary>%s, %s</summary>`, v.Name, humanize.Bytes(v.Bytes))
	v.JSON.write(w)
	w.put(`
</details>
</section>`)
}

// writeParts writes what the artifact was made from, and what was left out.
func (v *artifactView) writeParts(w *markupWriter, section int) {
	w.put(`
<section>
<h3>What was kept and what was left out</h3>
<p class="legend"><span class="ln kept">kept</span> <span class="ln left"><del>left out</del></span> <span class="ln changed">changed</span></p>`)
	for _, p := range v.Parts {
		w.put(`
<section class="part">
<h4>%s <small>`, p.Title)
		switch {
		case p.Event != nil:
			w.event(section, *p.Event)
			w.put(`, `)
		case p.Is == "request":
			w.put(`what the snapshot was built from, `)
		default:
			w.put(`<strong>built</strong>, no event of the run, `)
		}
		w.put(`%s</small></h4>`, humanize.Bytes(p.Bytes))
		p.Tree.write(w)
		w.put(`
</section>`)
	}
	if len(v.Left) == 0 {
		w.put(`
<p>Nothing was left out of these events.</p>
</section>`)
		return
	}
	w.put(`
<h4>Each omission, as the record lists it</h4>
<ul class="omissions">`)
	for _, o := range v.Left {
		w.put(`
<li>`)
		if o.Event != nil {
			w.event(section, *o.Event)
			w.put(` `)
		}
		w.put(`<code>%s</code> <span class="tag">%s</span> <small>%s</small></li>`, o.Place, o.Reason, o.Meaning)
	}
	if v.LeftMore > 0 {
		w.put(`
<li class="none">%s not listed.</li>`, plural(v.LeftMore, "more is", "more are"))
	}
	w.put(`
</ul>
</section>`)
}

func (s shown) write(w *markupWriter) {
	w.put(`
<div class="tree">%s</div>`, s.HTML)
	if s.Cut {
		w.put(`
<p class="cut">The rest is not shown here.</p>`)
	}
}

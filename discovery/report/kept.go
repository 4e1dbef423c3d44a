package report

import (
	"bytes"
	"strings"

	"github.com/p20export/p20export/discovery/report/internal/markup"
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
	Content        markup.HTML
	Bytes          int64
	Cut            bool
}

// longContent is the size in bytes from which a message is folded.
const longContent = 4_000

// shown is a JSON text as a tree.
type shown struct {
	HTML markup.HTML
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

func (v *viewer) artifact(r *run, f frozen) *artifactView {
	p, left := f.record.Predicate, v.left
	a := &artifactView{
		Built:    p.Projection.Origin == project.Built,
		From:     builtFrom(p),
		Name:     markup.Visible(f.record.Subject[0].Name),
		Terminal: f.decoded.TerminalEvent,
		Error:    v.show.Text(f.decoded.ErrorMessage),
		Bytes:    int64(len(f.artifact)),
		Count:    len(f.decoded.Messages),
	}
	if f.decoded.ErrorCode != "" {
		a.Error += " (" + v.show.Text(f.decoded.ErrorCode) + ")"
	}
	marks := make(map[int]*markup.Mark)
	request := new(markup.Mark)
	for _, o := range p.Omissions {
		at := request
		if o.EventIndex != nil {
			if at = marks[*o.EventIndex]; at == nil {
				at = new(markup.Mark)
				marks[*o.EventIndex] = at
			}
		}
		at.Add(o)
		if o.Reason == finding.RequestOtherRun {
			o.Pointer = o.Pointer[:strings.LastIndexByte(string(o.Pointer), '/')]
			at.Add(o) // nothing of the input is taken
		}
	}
	a.Parts = v.parts(r, f, marks, request)
	a.JSON = v.tree(f.artifact, nil)
	for _, m := range f.decoded.Messages {
		limit := min(left.tree, left.trees)
		if limit == 0 {
			a.More++
			continue
		}
		b, n := v.show.Append(nil, m.Content, true, limit)
		shown := message{Role: v.show.Text(m.Role), Name: v.show.Text(m.Name), ID: v.show.Text(m.ID), Content: markup.HTML(b), Bytes: int64(len(m.Content)), Cut: n < len(m.Content)}
		if len(m.Content) > longContent {
			shown.Begin = v.show.Text(strings.ToValidUTF8(m.Content[:markup.Glimpse], ""))
		}
		take(&left.trees, item+len(b)+len(shown.Begin)+len(shown.Name)+len(shown.ID))
		a.Messages = append(a.Messages, shown)
	}
	for _, o := range p.Omissions {
		cost := item + len(o.Pointer)
		if len(a.Left) == left.listed || take(&left.facts, cost) < cost {
			a.LeftMore += max(o.Count, 1)
			continue
		}
		about, _ := finding.Describe(o.Reason)
		item := omission{Event: o.EventIndex, Place: o.File + v.pointer(o.Pointer), Reason: o.Reason, Meaning: about.Meaning}
		if o.Reason == finding.SnapshotLacksText {
			item.Meaning = "a streamed message that the snapshot lacks" // of one message, not of the run
		}
		if o.Count > 0 {
			item.Place = plural(o.Count, "more", "more")
		}
		a.Left = append(a.Left, item)
	}
	return a
}

// parts shows the events of the envelope with what became of their values, and
// of a built snapshot the request it was built from.
func (v *viewer) parts(r *run, f frozen, marks map[int]*markup.Mark, request *markup.Mark) (list []part) {
	places := make(map[string]project.Part)
	for _, p := range f.record.Predicate.Events {
		places[p.Part] = p
	}
	lines := bytes.Split(bytes.TrimSuffix(f.envelope, []byte{'\n'}), []byte{'\n'})
	for i, name := range []string{project.RunStartedPart, project.SnapshotPart, project.TerminalPart} {
		p := part{Is: name, Title: []string{"RUN_STARTED", "MESSAGES_SNAPSHOT", f.decoded.TerminalEvent}[i], Bytes: int64(len(lines[i]))}
		at, emitted := places[name]
		if !emitted {
			p.Tree = v.tree(lines[i], nil)
			list = append(list, p)
			continue
		}
		p.Event, p.Bytes = &at.Index, at.Bytes
		m := marks[at.Index]
		if m == nil {
			m = new(markup.Mark)
		}
		p.Tree = v.tree(lines[i], m)
		list = append(list, p)
	}
	if r.request != nil {
		list = append(list, part{Title: "request.json", Is: "request", Bytes: int64(len(r.request)), Tree: v.tree(r.request, request)})
	}
	return list
}

// tree shows a JSON text as far as there is room.
func (v *viewer) tree(text []byte, marks *markup.Mark) shown {
	b, n := markup.AppendTree(nil, text, marks, min(v.left.tree, v.left.trees))
	take(&v.left.trees, len(b))
	return shown{markup.HTML(b), n < len(text)}
}

// write writes the artifact: its messages, and its JSON as a tree.
func (v *artifactView) write(w *markup.Writer) {
	w.Put(`
<section>
<h3>The artifact</h3>`)
	if v.Built {
		w.Put(`
<p class="built">These messages were <strong>built</strong> from %s. The run emitted no snapshot.</p>`, v.From)
	}
	w.Put(`
<ol class="messages">`)
	for _, m := range v.Messages {
		w.Put(`
<li><p class="who"><strong>%s</strong>`, m.Role)
		w.Some(` %s`, m.Name)
		w.Put(` <small>%s</small></p>`, m.ID)
		if m.Begin != "" {
			w.Put(`<details class="long"><summary><span>%s… <span class="size">%s</span></span></summary><div class="content">%s</div></details>`, m.Begin, humanize.Bytes(m.Bytes), m.Content)
		} else {
			w.Put(`<div class="content">%s</div>`, m.Content)
		}
		if m.Cut {
			w.Put(`<p class="cut">The rest is not shown here.</p>`)
		}
		w.Put(`</li>`)
	}
	if v.More > 0 {
		w.Put(`
<li class="cut">%s not shown here.</li>`, plural(v.More, "more message is", "more messages are"))
	}
	w.Put(`
</ol>
<p class="end">Ended with <code>%s</code>`, v.Terminal)
	w.Some(`: %s`, v.Error)
	w.Put(`</p>
<details class="json">
<summary>%s, %s</summary>`, v.Name, humanize.Bytes(v.Bytes))
	v.JSON.write(w)
	w.Put(`
</details>
</section>`)
}

// writeParts writes what the artifact was made from, and what was left out.
func (v *artifactView) writeParts(w *markup.Writer, section int) {
	w.Put(`
<section>
<h3>What was kept and what was left out</h3>
<p class="legend"><span class="ln kept">kept</span> <span class="ln left"><del>left out</del></span> <span class="ln changed">changed</span></p>`)
	for _, p := range v.Parts {
		w.Put(`
<section class="part">
<h4>%s <small>`, p.Title)
		switch {
		case p.Event != nil:
			w.Event(section, *p.Event)
			w.Put(`, `)
		case p.Is == "request":
			w.Put(`what the snapshot was built from, `)
		default:
			w.Put(`<strong>built</strong>, no event of the run, `)
		}
		w.Put(`%s</small></h4>`, humanize.Bytes(p.Bytes))
		p.Tree.write(w)
		w.Put(`
</section>`)
	}
	if len(v.Left) == 0 {
		w.Put(`
<p>Nothing was left out of these events.</p>
</section>`)
		return
	}
	w.Put(`
<h4>Each omission, as the record lists it</h4>
<ul class="omissions">`)
	for _, o := range v.Left {
		w.Put(`
<li>`)
		if o.Event != nil {
			w.Event(section, *o.Event)
			w.Put(` `)
		}
		w.Put(`<code>%s</code> <span class="tag">%s</span> <small>%s</small></li>`, o.Place, o.Reason, o.Meaning)
	}
	if v.LeftMore > 0 {
		w.Put(`
<li class="none">%s not listed.</li>`, plural(v.LeftMore, "more is", "more are"))
	}
	w.Put(`
</ul>
</section>`)
}

func (s shown) write(w *markup.Writer) {
	w.Put(`
<div class="tree">%s</div>`, s.HTML)
	if s.Cut {
		w.Put(`
<p class="cut">The rest is not shown here.</p>`)
	}
}

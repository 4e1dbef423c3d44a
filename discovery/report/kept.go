package report

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
)

// artifactView is an artifact, the events it was made from, and the omissions.
type artifactView struct {
	Name     string
	Bytes    int64
	JSON     shown
	Parts    []part
	Left     []omission
	LeftMore int // omissions that are not listed
	Unmarked int // omissions that the record does not list
}

// shown is JSON text rendered as a tree.
type shown struct {
	HTML markup.HTML
	Cut  bool
}

// part is an event of the envelope, or the request a snapshot was built from.
type part struct {
	Title string
	Is    string
	Event *int // nil for the request and for built events
	Bytes int64
	Tree  shown
}

// omission is a value that was omitted, and the reason.
type omission struct {
	Event   *int
	Place   string
	Reason  finding.Code
	Meaning string
}

// marks has the omissions of each event, by its index. The key -1 has the omissions of the
// request. If partial is set, the record does not list all omissions.
type marks struct {
	events  map[int]*markup.Mark
	partial bool
}

// unlisted returns the number of omissions that a record only counts.
func unlisted(omissions []project.Omission) (n int) {
	for _, o := range omissions {
		if o.Reason == finding.OmissionsUncounted {
			n += o.Count
		}
	}
	return n
}

func marksOf(omissions []project.Omission) marks {
	all := marks{make(map[int]*markup.Mark), unlisted(omissions) > 0}
	for _, o := range omissions {
		event := -1
		if o.EventIndex != nil {
			event = *o.EventIndex
		}
		if all.events[event] == nil {
			all.events[event] = &markup.Mark{Partial: all.partial}
		}
		all.events[event].Add(o)
		if o.Reason == finding.RequestOtherRun {
			o.Pointer = o.Pointer[:strings.LastIndexByte(string(o.Pointer), '/')]
			all.events[event].Add(o) // the whole request is omitted
		}
	}
	return all
}

// of returns the marks of an event, never nil.
func (m marks) of(event int) *markup.Mark {
	if at := m.events[event]; at != nil {
		return at
	}
	return &markup.Mark{Partial: m.partial}
}

func (v *viewer) artifact(r *run, marks marks) *artifactView {
	f, p, left := r.frozen, r.frozen.record.Predicate, v.left
	a := &artifactView{Unmarked: unlisted(p.Omissions), Name: markup.Visible(f.record.Subject[0].Name), Bytes: int64(len(f.artifact))}
	a.Parts = v.parts(r, marks)
	a.JSON = v.tree(f.artifact, nil)
	for _, o := range p.Omissions {
		cost := item + len(o.Pointer)
		if len(a.Left) == left.listed || take(&left.facts, cost) < cost {
			a.LeftMore += max(o.Count, 1)
			continue
		}
		item := omission{Event: o.EventIndex, Place: o.File + v.show.Omitted(o.Pointer), Reason: o.Reason, Meaning: meaning(o.Reason)}
		if o.Reason == finding.SnapshotLacksText {
			item.Meaning = "a message " + messageLeft(o.Reason) // the code's meaning is about the run
		}
		if o.Count > 0 {
			item.Place = plural(o.Count, "more", "more")
		}
		a.Left = append(a.Left, item)
	}
	return a
}

// parts shows the events of the envelope and marks their omitted and changed values. If
// the snapshot was built from the request, parts also shows the request.
func (v *viewer) parts(r *run, marks marks) (list []part) {
	f := r.frozen
	places := make(map[string]project.Part)
	for _, p := range f.record.Predicate.Events {
		places[p.Part] = p
	}
	lines := f.lines()
	for i, name := range []string{project.RunStartedPart, project.SnapshotPart, project.TerminalPart} {
		p := part{Is: name, Title: []string{"RUN_STARTED", "MESSAGES_SNAPSHOT", f.decoded.TerminalEvent}[i], Bytes: int64(len(lines[i]))}
		at, emitted := places[name]
		if emitted {
			p.Event, p.Bytes = &at.Index, at.Bytes
			p.Tree = v.tree(lines[i], marks.of(at.Index))
		} else {
			p.Tree = v.tree(lines[i], nil)
		}
		list = append(list, p)
	}
	if r.request != nil {
		list = append(list, part{Title: "request.json", Is: "request", Bytes: int64(len(r.request)), Tree: v.tree(r.request, marks.of(-1))})
	}
	return list
}

// lines returns the three events of the envelope.
func (f *frozen) lines() [][]byte {
	return bytes.Split(bytes.TrimSuffix(f.envelope, []byte{'\n'}), []byte{'\n'})
}

// tree renders JSON text as a tree, within the limits.
func (v *viewer) tree(text []byte, marks *markup.Mark) shown {
	b, n := v.show.AppendTree(nil, text, marks, v.left.room())
	v.left.use(len(b))
	return shown{markup.HTML(b), n < len(text)}
}

// write writes the events, the JSON of the artifact, and the omissions.
func (v *artifactView) write(w *markup.Writer, section int) {
	title := "The three events"
	if slices.ContainsFunc(v.Parts, func(p part) bool { return p.Is == project.SnapshotPart && p.Event == nil }) {
		title = "The two events and the built snapshot"
	}
	w.Put(`
<details class="folded">
<summary><h3>%s</h3> <small>what of them was kept, and the artifact</small></summary>
<p class="legend"><span class="ln kept">kept</span> <span class="ln left"><del>left out</del></span> <span class="ln changed">changed</span></p>`, title)
	writeUnmarked(w, v.Unmarked)
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
	w.Put(`
<h4>The artifact <small>%s, %s</small></h4>`, v.Name, humanize.Bytes(v.Bytes))
	v.JSON.write(w)
	v.writeOmissions(w, section)
	w.Put(`
</details>`)
}

// writeUnmarked says how many omissions have no mark, because the record does not list them.
func writeUnmarked(w *markup.Writer, n int) {
	if n > 0 {
		w.Put(`
<p class="cut">%s not marked here, because the record only counts them. So what is not marked may be left out as well.</p>`, plural(n, "more omission is", "more omissions are"))
	}
}

// writeOmissions writes the list of omissions.
func (v *artifactView) writeOmissions(w *markup.Writer, section int) {
	if len(v.Left) == 0 {
		w.Put(`
<p>Nothing was left out of these events.</p>`)
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
</ul>`)
}

func (s shown) write(w *markup.Writer) {
	w.Put(`
<div class="tree">%s</div>`, s.HTML)
	if s.Cut {
		w.Put(`
<p class="cut">The rest is not shown here.</p>`)
	}
}

// size is one bar of the chart of sizes.
type size struct {
	Name  string
	Bytes int64
	Width string // percentage of the largest size
}

// scale sets the width of each bar.
func scale(sizes []size) {
	var largest int64 = 1
	for _, s := range sizes {
		largest = max(largest, s.Bytes)
	}
	for i := range sizes {
		sizes[i].Width = strconv.FormatFloat(100*float64(sizes[i].Bytes)/float64(largest), 'f', 2, 64)
	}
}

// writeSizes writes the sizes as a bar chart, and the digests.
func (s *section) writeSizes(w *markup.Writer) {
	if len(s.Sizes) == 0 && len(s.Digests) == 0 {
		return
	}
	w.Put(`
<details class="folded" id="r%s-digests">
<summary><h3>Sizes and digests</h3></summary>`, s.Number)
	if len(s.Sizes) > 0 {
		w.Put(`
<dl class="sizes">`)
		for _, z := range s.Sizes {
			w.Put(`
<div><dt>%s</dt><dd>%s<svg role="img" aria-label="%s % of the largest" viewBox="0 0 100 4" preserveAspectRatio="none"><rect class="track" width="100" height="4"/><rect width="%s" height="4"/></svg></dd></div>`, z.Name, humanize.Bytes(z.Bytes), z.Width, z.Width)
		}
		w.Put(`
</dl>`)
	}
	if s.Redacted {
		w.Put(`
<p class="none">There are no digests on a page whose content was replaced: a short text could be guessed from its digest.</p>`)
	}
	if len(s.Digests) > 0 {
		w.Put(`
<dl class="digests">`)
		for _, d := range s.Digests {
			w.Put(`
<div><dt>%s</dt><dd><code>%s</code> <button type="button" class="copy" hidden>Copy<span class="sr"> the digest of %s</span></button></dd></div>`, d.Name, d.Value, d.Name)
		}
		w.Put(`
</dl>`)
	}
	w.Put(`
</details>`)
}

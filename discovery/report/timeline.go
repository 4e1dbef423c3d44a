package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/internal/picture"
	"github.com/p20export/p20export/project"
)

// timeline has the events of one run, encoded for the page's data.
type timeline struct {
	// Count and Bytes are the number and size of all frames: the events of the run,
	// those before the first run, and frames that are not events.
	Count, Before, Not int
	Bytes              int64
	// Unlisted counts the events that are not in the data. Cut counts those whose text
	// is truncated there.
	Unlisted, Cut int

	// byTime and byOrder show the events by time of arrival and by index. ByOrder is set
	// if the time of an event is not known, so that byTime lacks events.
	byTime, byOrder picture.Picture
	ByOrder         bool
	// begun maps the ids of streamed messages to the indexes of their first events.
	begun map[string]int
	// places maps indexes of events that an envelope can contain to their places in
	// byTime.
	places map[int]markup.Kept

	// failure has the beginnings of the text and of the code of RUN_ERROR.
	failure [2]string

	types  []string
	index  map[string]int
	rows   []byte // JSON arrays: type, index, offset, bytes, microseconds, text, 1 if truncated
	listed int
}

// maxPlaces limits the entries of timeline.places and of timeline.begun. maxID limits the
// length of the ids in begun, in bytes.
const (
	maxPlaces = 10_000
	maxID     = 256
)

// begins records e if it is the first event of a streamed message.
func (t *timeline) begins(e *envelope.Event) {
	if e.Type != envelope.TextMessageStart && e.Type != envelope.TextMessageChunk || len(t.begun) == maxPlaces {
		return
	}
	id := e.Text("messageId")
	if _, ok := t.begun[id]; ok || len(id) > maxID {
		return
	}
	if t.begun == nil {
		t.begun = make(map[string]int)
	}
	t.begun[strings.Clone(id)] = e.Index
}

// begin copies the beginning of a text, with one byte more than is shown of it.
func begin(text string) string { return strings.Clone(text[:min(len(text), maxFact+1)]) }

// maxType limits the stored part of an event type, in bytes.
const maxType = 128

// event adds one event to a timeline. The kind is "" for a frame that is not an event.
// micros is the time since the start of the capture, or -1 if not known.
func (v *viewer) event(t *timeline, f *capture.Frame, kind string, micros int64) {
	left := v.left
	t.Count++
	t.Bytes += f.Bytes
	t.byOrder.Add(int64(f.Index), picture.Family(kind))
	if micros < 0 {
		t.ByOrder = true
	}
	if !t.ByOrder {
		t.byTime.Add(micros, picture.Family(kind))
	}
	if h := picture.Family(kind); (h == "run" || h == "snapshot") && len(t.places) < maxPlaces {
		if t.places == nil {
			t.places = make(map[int]markup.Kept)
		}
		t.places[f.Index] = markup.Kept{At: micros, Family: h}
	}
	if take(&left.events, 1) == 0 {
		t.Unlisted++
		return
	}
	i, ok := t.index[kind]
	if !ok {
		if t.index == nil {
			t.index = make(map[string]int)
		}
		i = len(t.types)
		kind = strings.Clone(kind)
		t.types = append(t.types, kind)
		t.index[kind] = i
	}
	if t.listed++; t.listed > 1 {
		t.rows = append(t.rows, ',')
	}
	t.rows = fmt.Appendf(t.rows, "[%d,%d,%d,%d,%d,", i, f.Index, f.Offset, f.Bytes, micros)
	before := len(t.rows)
	var n int
	t.rows, n = v.show.AppendEvent(t.rows, f.Data, before+min(left.event, left.timelines))
	take(&left.timelines, len(t.rows)-before)
	cut := 0
	if n < len(f.Data) || f.Problem != nil {
		cut = 1
	}
	t.Cut += cut
	t.rows = fmt.Appendf(t.rows, ",%d]", cut)
}

// kind returns the name of an event type in a timeline.
func (v *viewer) kind(name string) string {
	if v.show.Redact {
		return v.show.Type(name)
	}
	if len(name) > maxType {
		name = strings.ToValidUTF8(name[:maxType], "") + "…"
	}
	return name
}

// timelines adds the frames of a capture to the timelines of its runs.
type timelines struct {
	*viewer
	start time.Time // start of the capture; zero if not known
	// byRun maps numbers of shown runs to their timelines. The key 0 has the events
	// before the first run.
	byRun map[int]*timeline

	begun  bool
	run    *envelope.Run // run of the previous frame; nil before the first run
	now    *timeline     // nil if the current run is not shown
	before limits        // remaining limits at the start of the capture
}

// add adds a frame to the timeline of its run, if that run is shown. Frames before the
// first run are shown with the first run. The run is nil before the first run, and e is
// nil if the frame is not an event.
func (t *timelines) add(run *envelope.Run, f *capture.Frame, e *envelope.Event, wanted func(*envelope.Run) bool) {
	switch {
	case !t.begun && run == nil:
		t.before = *t.left
		t.now = new(timeline)
		t.byRun[0] = t.now
	case run == t.run && t.begun:
	case !wanted(run):
		if t.byRun[0] != nil { // the first run and the events before it are not shown
			*t.left = t.before
			delete(t.byRun, 0)
		}
		t.now = nil
	default:
		if t.now = t.byRun[0]; t.now == nil {
			t.now = new(timeline)
		}
		delete(t.byRun, 0)
		t.byRun[run.Number] = t.now
	}
	t.begun, t.run = true, run
	if t.now == nil {
		return
	}
	kind := ""
	switch {
	case e == nil:
		t.now.Not++
	case run == nil:
		t.now.Before++
	}
	if e != nil {
		kind = t.kind(e.Type)
		t.now.begins(e)
		if e.Type == envelope.RunError {
			t.now.failure = [2]string{begin(e.Text("message")), begin(e.Text("code"))}
		}
	}
	micros := int64(-1)
	if !t.start.IsZero() && !f.Arrived.IsZero() {
		micros = f.Arrived.Sub(t.start).Microseconds()
	}
	t.event(t.now, f, kind, micros)
}

// data returns the JSON of a timeline, with the indexes of the kept events and the
// omissions.
func (v *viewer) data(t *timeline, parts []project.Part, omissions []project.Omission) []byte {
	b := []byte(`{"types":[`)
	for i, kind := range t.types {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = markup.AppendJSON(append(b, '['), []byte(kind), len(b)+1<<10)
		b = append(append(append(b, `,"`...), picture.Family(kind)...), `"]`...)
	}
	b = append(append(append(b, `],"events":[`...), t.rows...), `],"kept":{`...)
	for i, p := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `"%d":"%s"`, p.Index, p.Part)
	}
	b = append(b, `},"left":[`...)
	comma := ""
	for _, o := range omissions {
		if o.EventIndex == nil || v.left.facts == 0 {
			continue
		}
		before := len(b)
		b = fmt.Appendf(b, `%s[%d,`, comma, *o.EventIndex)
		b = v.show.AppendOmitted(b, o.Pointer, len(b)+finding.MaxPointer)
		b = fmt.Appendf(b, `,"%s","%s"]`, o.Reason, markup.Verb(o.Reason))
		take(&v.left.facts, len(b)-before)
		comma = ","
	}
	return append(b, `]}`...)
}

// pictureView is the picture of a run.
type pictureView struct {
	Lanes   []picture.Lane
	Height  int
	SVG     markup.HTML
	Kept    int // number of events with a ring
	ByOrder bool
	First   string // the time of the first event, from the start of the capture
}

// picture draws the events of a run. It returns nil if that exceeds the limits.
func (v *viewer) picture(t *timeline, parts []project.Part) *pictureView {
	drawn, label := &t.byTime, picture.Micros
	if t.ByOrder {
		drawn, label = &t.byOrder, picture.Index
	}
	p := &pictureView{Lanes: drawn.Lanes(), Height: drawn.Height(), ByOrder: t.ByOrder}
	var kept []markup.Kept
	for _, part := range parts {
		if at, ok := t.places[part.Index]; ok {
			if t.ByOrder {
				at.At = int64(part.Index)
			}
			kept = append(kept, at)
		}
	}
	p.Kept = len(kept)
	p.First = picture.Micros(drawn.First, 100)
	p.SVG = markup.SVG(drawn, kept, label)
	if n := len(p.SVG) + item*len(p.Lanes); take(&v.left.facts, n) < n {
		return nil
	}
	return p
}

func (p *pictureView) write(w *markup.Writer) {
	w.Put(`
<section>
<h3>The run, event by event</h3>
<figure class="picture">
<ul class="lanes">`)
	for _, l := range p.Lanes {
		w.Put(`
<li class="%s">%s <span class="count">%s</span></li>`, l.Family, l.Name, humanize.Grouped(int64(l.Count)))
	}
	about := "When the events of each family arrived"
	if p.ByOrder {
		about = "The events of each family, in their order"
	}
	w.Put(`
</ul>
<svg role="img" aria-label="%s" height="%s">%s</svg>
<figcaption>`, about, p.Height, p.SVG)
	if p.ByOrder {
		w.Put(`In the order of the events, as their times of arrival are not known.`)
	} else {
		w.Put(`The axis is the time since the request was sent. The first event came after %s.`, p.First)
	}
	if p.Kept > 0 {
		w.Put(` A ring marks each of the %s events that were kept.`, p.Kept)
	}
	w.Put(`</figcaption>
</figure>
</section>`)
}

// events returns the number of events of the run, or of a capture without a run.
func (t *timeline) events(noRun bool) int {
	if noRun {
		return t.Before
	}
	return t.Count - t.Not - t.Before
}

// counted counts the events of the run, and the other frames apart from them.
func (t *timeline) counted(noRun bool) string {
	says := []string{plural(t.events(noRun), "event", "events")}
	if t.Before > 0 && !noRun {
		says = append(says, plural(t.Before, "event", "events")+" before the run")
	}
	if t.Not > 0 {
		says = append(says, plural(t.Not, "frame that is not an event", "frames that are not events"))
	}
	return strings.Join(says, ", ")
}

// openEvents is up to how many events of a page's only run are listed from the start.
const openEvents = 100

func (s *section) writeTimeline(w *markup.Writer, several bool) {
	t := s.Timeline
	if t == nil {
		return
	}
	var open markup.HTML
	if !several && t.Count <= openEvents {
		open = ` open`
	}
	w.Put(`
<section id="r%s-timeline">
<details class="folded timeline" data-run="%s"%s>
<summary><h3>Events</h3> <small>%s, %s</small></summary>`, s.Number, s.Number, open, t.counted(s.NoRun), humanize.Bytes(t.Bytes))
	if len(s.Families) > 0 {
		w.Put(`
<ul class="families" aria-label="Events by type">`)
		for _, f := range s.Families {
			w.Put(`
<li class="%s">%s <span class="count">%s</span></li>`, f.Hue, f.Name, f.Count)
		}
		w.Put(`
</ul>`)
	}
	if t.Unlisted > 0 {
		w.Put(`
<p class="cut">%s past what a page lists, and only counted.</p>`, plural(t.Unlisted, "event is", "events are"))
	}
	if t.Cut > 0 {
		w.Put(`
<p class="cut">%s shown in part, or by place and size alone: a page is bounded.</p>`, plural(t.Cut, "event is", "events are"))
	}
	w.Put(`
<noscript><p>The list of events needs JavaScript. It runs from this file alone; the page loads nothing.</p></noscript>
</details>
</section>`)
}

package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
)

// conversation has the messages of an artifact and the omitted messages, in order.
type conversation struct {
	Built string // the sources of a built snapshot
	Turns []turn
	More  int // number of turns not shown
	// Whole, Part and Gone count the messages that were kept whole, in part, or omitted.
	// They include messages that are not shown.
	Whole, Part, Gone int
	// Blocks has the classes of the first blocks in the header.
	Blocks []string
	// Unmarked counts the omissions that the record does not list.
	Unmarked int
	// Unpaired is set if messages are shown without their JSON, because they could not
	// be found in the source.
	Unpaired bool
	End      string // how the run failed, if it did
}

// turn is one message, kept or omitted.
type turn struct {
	Ghost          bool // the message was omitted
	Role, Name, ID string
	Was            string // what an omitted message did, if known
	Why            []string
	Event          *int     // index of the first event of an omitted streamed message
	Parts          []string // the omitted and changed parts of a kept message
	Begin          string   // the beginning of a long content, which is folded
	Content        markup.HTML
	Bytes          int64
	Cut            bool
	JSON           shown
}

// longContent is the size in bytes from which a message is folded.
const longContent = 4_000

// source is a list of messages that an artifact was made from.
type source struct {
	event int // -1 for the request
	list  [][]byte
	place []string // keys that lead to the list
}

// conversation returns all messages of a frozen run, kept and omitted.
func (v *viewer) conversation(r *run, marks marks) *conversation {
	f := r.frozen
	c := &conversation{Unmarked: unlisted(f.record.Predicate.Omissions)}
	if r.subject.Origin == project.Built {
		c.Built = builtFrom(r)
	}
	why := make(map[messagePlace][]finding.Code)
	parts := make(map[messagePlace][]project.Omission)
	var streamed []project.Omission
	for _, o := range f.record.Predicate.Omissions {
		switch at, part, ok := messageOf(o); {
		case o.Count > 0:
		case ok && part == nil:
			why[at] = append(why[at], o.Reason)
		case ok:
			parts[at] = append(parts[at], o)
		case o.EventIndex != nil && o.Pointer == "" && o.Reason != finding.SnapshotNotChosen:
			streamed = append(streamed, o)
		}
	}
	rest, own := f.decoded.Messages, messagesIn(f.lines()[1])
	if s := r.from(); s != nil {
		of := marks.of(s.event)
		for _, name := range s.place {
			of = of.Below(name)
		}
		for i, raw := range s.list {
			at := messagePlace{s.event, i}
			mark, reasons := of.Below(strconv.Itoa(i)), why[at]
			if reasons == nil && (len(rest) == 0 || !isMessage(raw, rest[0])) {
				if c.Unmarked == 0 {
					c.Unpaired, own = true, nil
					break
				}
				reasons = []finding.Code{finding.OmissionsUncounted}
			}
			if reasons != nil {
				c.add(v, blockGone, func() turn { return v.ghost(raw, mark, reasons) })
				continue
			}
			m := rest[0]
			rest = rest[1:]
			c.add(v, keptBlock(parts[at]), func() turn { return v.turn(m, raw, mark, parts[at]) })
		}
	}
	more := 0
	if c.Unmarked > 0 && r.subject.Origin == project.Built {
		more = r.inspect.Families.Count(envelope.TextMessageStart) - len(rest) - len(streamed)
	}
	for i, m := range rest {
		begun, known := r.timeline.begun[m.ID]
		for known && len(streamed) > 0 && *streamed[0].EventIndex < begun {
			c.add(v, blockGone, func() turn { return lost(streamed[0]) })
			streamed = streamed[1:]
		}
		c.add(v, blockKept, func() turn {
			if own == nil {
				return v.turn(m, nil, nil, nil)
			}
			return v.turn(m, own[len(own)-len(rest)+i], new(markup.Mark), nil)
		})
	}
	for _, o := range streamed {
		c.add(v, blockGone, func() turn { return lost(o) })
	}
	for range more {
		c.add(v, blockGone, func() turn { return lost(project.Omission{Reason: finding.OmissionsUncounted}) })
	}
	return c
}

// isMessage reports whether a message of a source became a message of the artifact.
func isMessage(raw []byte, m artifact.Message) bool {
	var decoder strictjson.Decoder
	var from strictjson.Object
	if _, err := strictjson.ReadText(&from, &decoder, raw); err != nil {
		return false
	}
	same := func(name, want string) bool {
		text, _ := strictjson.JoinSurrogates(from.Text(name))
		return artifact.Trim(text) == artifact.Trim(want)
	}
	content, _ := from.Get("content")
	return same("id", m.ID) && same("role", m.Role) && (content.Kind == strictjson.ArrayStart || same("content", m.Content))
}

// lost returns the turn of an omitted streamed message.
func lost(o project.Omission) turn {
	return turn{Ghost: true, Why: []string{"a message " + messageLeft(o.Reason)}, Event: o.EventIndex}
}

// The classes of the blocks of messages in the header.
const (
	blockKept = "kept"
	blockPart = "part"
	blockGone = "gone"
)

// keptBlock returns the class of the block of a kept message with these omissions.
func keptBlock(parts []project.Omission) string {
	if parts != nil {
		return blockPart
	}
	return blockKept
}

// add adds a message with its block, and its turn within the limits.
func (c *conversation) add(v *viewer, block string, make func() turn) {
	switch block {
	case blockGone:
		c.Gone++
	case blockPart:
		c.Part++
	default:
		c.Whole++
	}
	if len(c.Blocks) < shownBlocks {
		c.Blocks = append(c.Blocks, block)
	}
	if v.left.room() == 0 {
		c.More++
		return
	}
	t := make()
	if v.show.Redact { // the lengths of ids do not distinguish messages
		t.ID = "message " + strconv.Itoa(len(c.Turns)+1)
	}
	v.left.use(item + len(t.Content) + len(t.Begin) + len(t.Role) + len(t.Name) + len(t.ID) + len(t.Was) + len(strings.Join(t.Parts, "")))
	c.Turns = append(c.Turns, t)
}

// from returns the list that the artifact's messages were taken from, except those that
// were streamed. It returns nil if there is no list.
func (r *run) from() *source {
	if r.subject.Origin == project.Emitted {
		return &source{r.frozen.snapshotIndex(), messagesIn(r.frozen.lines()[1]), []string{"messages"}}
	}
	return r.requested()
}

// requested returns the messages of the request that a built snapshot contains. Without a
// request, these are the messages of the input in RUN_STARTED.
func (r *run) requested() *source {
	p := r.frozen.record.Predicate
	if slices.ContainsFunc(p.Omissions, func(o project.Omission) bool { return o.Reason == finding.RequestOtherRun }) {
		return nil
	}
	if r.request != nil {
		return &source{-1, messagesIn(r.request), []string{"messages"}}
	}
	var decoder strictjson.Decoder
	var started strictjson.Object
	if _, err := strictjson.ReadText(&started, &decoder, r.frozen.lines()[0]); err != nil {
		return nil
	}
	input, _ := started.Get("input")
	if input.Kind != strictjson.ObjectStart {
		return nil
	}
	return &source{p.Events[0].Index, messagesIn(input.Raw), []string{"input", "messages"}}
}

// messagesIn returns the elements of the member "messages" of a JSON object.
func messagesIn(text []byte) (list [][]byte) {
	var decoder strictjson.Decoder
	var object strictjson.Object
	if _, err := strictjson.ReadText(&object, &decoder, text); err != nil {
		return nil
	}
	messages, _ := object.Get("messages")
	_ = strictjson.Elements(messages, func(_ int, m strictjson.Value, _ *strictjson.Object) error {
		list = append(list, m.Raw)
		return nil
	})
	return list
}

// turn returns the turn of a kept message.
func (v *viewer) turn(m artifact.Message, raw []byte, mark *markup.Mark, parts []project.Omission) turn {
	b, n := v.show.Append(nil, m.Content, true, v.left.room())
	t := turn{Role: v.role(m.Role), Name: v.short(m.Name), ID: "id " + v.short(m.ID), Content: markup.HTML(b), Bytes: int64(len(m.Content)), Cut: n < len(m.Content)}
	if m.Name == "" {
		t.Name = ""
	}
	if len(m.Content) > longContent && !v.show.Redact {
		t.Begin = v.show.Text(strings.ToValidUTF8(m.Content[:markup.Glimpse], ""))
	}
	for _, o := range parts {
		_, part, _ := messageOf(o)
		text := markup.Verb(o.Reason) + ": " + v.part(part)
		if o.Reason == finding.TextPartsJoined {
			text = "changed: text parts joined"
		}
		if !slices.Contains(t.Parts, text) && len(t.Parts) <= chips {
			t.Parts = append(t.Parts, text)
		}
	}
	if len(t.Parts) > chips {
		t.Parts[chips] = "and more"
	}
	v.raw(&t, raw, mark)
	return t
}

// chips limits the omitted parts that are named for a message.
const chips = 6

// ghost returns the turn of an omitted message.
func (v *viewer) ghost(raw []byte, mark *markup.Mark, reasons []finding.Code) turn {
	t := turn{Ghost: true}
	for _, reason := range reasons {
		t.Why = append(t.Why, "a message "+messageLeft(reason))
	}
	var decoder strictjson.Decoder
	var m strictjson.Object
	if _, err := strictjson.ReadText(&m, &decoder, raw); err == nil {
		if role := m.Text("role"); role != "" {
			t.Role = v.role(role)
		}
		t.Was = v.was(&m)
	}
	v.raw(&t, raw, mark)
	return t
}

// was says which tools a message called. It returns "" if it called none.
func (v *viewer) was(m *strictjson.Object) string {
	var tools []string
	calls, _ := m.Get("toolCalls")
	_ = strictjson.Elements(calls, func(_ int, _ strictjson.Value, call *strictjson.Object) error {
		function, _ := call.Get("function")
		var decoder strictjson.Decoder
		var of strictjson.Object
		if _, err := strictjson.ReadText(&of, &decoder, function.Raw); err != nil {
			return nil
		}
		if name := of.Text("name"); name != "" && len(tools) <= named {
			tools = append(tools, v.show.Short(name, maxName))
		}
		return nil
	})
	switch {
	case len(tools) == 0:
		return ""
	case len(tools) > named:
		tools[named] = "…"
	}
	return "called " + strings.Join(tools, ", ")
}

// raw adds the JSON of a message, with omitted and changed values marked.
func (v *viewer) raw(t *turn, raw []byte, mark *markup.Mark) {
	if raw == nil {
		return
	}
	t.JSON = v.tree(raw, mark)
}

// write writes the conversation.
func (c *conversation) write(w *markup.Writer, section int) {
	w.Put(`
<section>
<h3>The conversation</h3>`)
	if c.Built != "" {
		w.Put(`
<p class="origin">These messages were <strong>built</strong> from %s. The run emitted no snapshot.</p>`, c.Built)
	}
	writeUnmarked(w, c.Unmarked)
	if c.Unpaired {
		w.Put(`
<p class="cut">The JSON of these messages is not shown: they could not be matched with the messages of the snapshot.</p>`)
	}
	w.Put(`
<ol class="messages">`)
	for _, t := range c.Turns {
		t.write(w, section)
	}
	if c.More > 0 {
		w.Put(`
<li class="cut">%s not shown here.</li>`, plural(c.More, "more message is", "more messages are"))
	}
	w.Some(`
<li class="end">Ended with %s</li>`, c.End)
	w.Put(`
</ol>
</section>`)
}

func (t *turn) write(w *markup.Writer, section int) {
	var class markup.HTML
	if t.Ghost {
		class = ` class="ghost"`
	}
	w.Put(`
<li%s><p class="who">`, class)
	switch {
	case t.Role != "":
		w.Put(`<strong>%s</strong>`, t.Role)
	case t.Event != nil:
		w.Put(`<strong>streamed</strong>`)
	default:
		w.Put(`<strong>no role</strong>`)
	}
	w.Some(` <span class="name">%s</span>`, t.Name)
	w.Put(`</p><div class="what">`)
	switch {
	case t.Ghost:
		w.Put(`<p class="why"><em>Left out</em>`)
		w.Put(`: %s.`, strings.Join(t.Why, "; "))
		w.Some(` It %s.`, t.Was)
		if t.Event != nil {
			w.Put(` `)
			w.Event(section, *t.Event)
		}
		w.Put(`</p>`)
	case t.Begin != "":
		w.Put(`<details class="long"><summary><span>%s… <span class="size">%s</span></span></summary><div class="content">%s</div></details>`, t.Begin, humanize.Bytes(t.Bytes), t.Content)
	default:
		w.Put(`<div class="content">%s</div>`, t.Content)
	}
	if t.Cut {
		w.Put(`<p class="cut">The rest is not shown here.</p>`)
	}
	if len(t.Parts) > 0 {
		w.Put(`<ul class="chips">`)
		for _, part := range t.Parts {
			w.Put(`<li class="tag">%s</li>`, part)
		}
		w.Put(`</ul>`)
	}
	w.Some(`<p class="id">%s</p>`, t.ID)
	w.Put(`</div>`)
	if t.JSON.HTML != "" {
		w.Put(`<details class="raw"><summary>JSON</summary>`)
		t.JSON.write(w)
		w.Put(`</details>`)
	}
	w.Put(`</li>`)
}

// shownBlocks limits the blocks of messages in the header.
const shownBlocks = 60

// writeBlocks draws a block for each message, which shows whether it was kept.
func (c *conversation) writeBlocks(w *markup.Writer) {
	w.Put(`
<p class="blocks" role="img" aria-label="Messages in their order: %s"><span>Messages</span>`, c.drawn())
	for _, block := range c.Blocks {
		w.Put(`<i class="%s"></i>`, block)
	}
	if more := c.Whole + c.Part + c.Gone - len(c.Blocks); more > 0 {
		w.Put(` <span>+ %s more</span>`, humanize.Grouped(int64(more)))
	}
	for _, count := range []struct {
		n    int
		text string
	}{{c.Whole, "kept whole"}, {c.Part, "in part"}, {c.Gone, "left out"}} {
		switch {
		case count.n > 0 && c.Unmarked > 0 && count.text != "left out":
			w.Put(` <span>at least %s %s</span>`, count.n, count.text)
		case count.n > 0:
			w.Put(` <span>%s %s</span>`, count.n, count.text)
		}
	}
	w.Put(`</p>`)
}

// drawn counts the blocks in words.
func (c *conversation) drawn() string {
	if c.Unmarked > 0 {
		return fmt.Sprintf("%d kept, at least %d of them in part, %d left out", c.Whole+c.Part, c.Part, c.Gone)
	}
	return fmt.Sprintf("%d kept whole, %d in part, %d left out", c.Whole, c.Part, c.Gone)
}

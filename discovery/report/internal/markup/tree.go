package markup

import (
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
)

// Mark is a place in a JSON text and the places below it: why it was left out
// of the artifact, or changed on the way there.
type Mark struct {
	reasons []finding.Code
	below   map[string]*Mark
}

// Add marks the place a pointer names.
func (m *Mark) Add(o project.Omission) {
	at := m
	for i, name := range strings.Split(string(o.Pointer), "/") {
		if i == 0 {
			continue // what stands before the first slash
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if at.below == nil {
			at.below = make(map[string]*Mark)
		}
		next := at.below[name]
		if next == nil {
			next = new(Mark)
			at.below[name] = next
		}
		at = next
	}
	at.reasons = append(at.reasons, o.Reason)
}

// At returns the mark of a member or element, nil when nothing there is
// marked.
func (m *Mark) At(name string) *Mark {
	if m == nil {
		return nil
	}
	// As pointers spell names.
	return m.below[strings.ToValidUTF8(name, "\uFFFD")]
}

// changes reports whether a reason says that a value was taken, but not as it is.
func changes(reason finding.Code) bool {
	return reason == finding.TextPartsJoined || reason == finding.TextShortened || reason == finding.ErrorStackTrace
}

// Verb says what became of a value for a reason.
func Verb(reason finding.Code) string {
	switch {
	case changes(reason):
		return "changed"
	case reason == finding.SnapshotLacksText:
		return "not in the snapshot"
	}
	return "left out"
}

// The states of a line of a tree.
const (
	plain   = ""
	kept    = "kept"
	left    = "left"
	changed = "changed"
)

// state is that of what a mark is on, below something of the state above.
func (m *Mark) state(above string) string {
	switch {
	case above == plain || above == left:
		return above
	case m == nil:
		return kept
	}
	state := kept
	for _, r := range m.reasons {
		if !changes(r) {
			return left
		}
		state = changed
	}
	return state
}

// tree spells a JSON text as HTML, a line a value, each line with what became of
// it. With marks nil nothing is said of that.
type tree struct {
	b     []byte
	limit int
	dec   *strictjson.Decoder
	spell func(strictjson.Token) string // called with each token in order
	open  []level
	begun bool   // a line has
	state string // of that line
	tags  string // what it ends with
	empty bool   // it opens a container that is empty so far
}

type level struct {
	mark   *Mark
	state  string
	object bool
	index  int
}

// The sizes in bytes from which a string is shown folded, and what is shown of
// it then.
const (
	longText = 1_000
	Glimpse  = 160
)

// maxIndent is how deep lines are indented.
const maxIndent = 16

// AppendTree appends a JSON text as lines of HTML, and returns how many bytes of
// the text are in them. The text is cut when what was appended reaches the limit. A
// redacted text is the same tree of types, roles, keys that AG-UI has, and lengths.
func (c Content) AppendTree(b, text []byte, marks *Mark, limit int) ([]byte, int) {
	dec := strictjson.NewDecoder(text)
	t := &tree{b: b, limit: len(b) + limit, dec: dec, spell: func(token strictjson.Token) string { return string(dec.Bytes(token)) }}
	if c.Redact {
		t.spell = (&redactor{dec: dec}).spell
	}
	root := plain
	if marks != nil {
		root = marks.state(kept)
	}
	var name *member
	for {
		token, err := t.dec.Next()
		if err != nil {
			t.end("")
			if err == io.EOF {
				return t.b, len(text)
			}
			return t.b, 0 // no JSON; what shows it says so
		}
		spelled := t.spell(token)
		switch token.Kind {
		case strictjson.Name:
			name = &member{token, spelled}
			continue
		case strictjson.ObjectEnd, strictjson.ArrayEnd:
			t.close(spelled)
			continue
		}
		m, state := marks, root
		if len(t.open) > 0 {
			m, state = t.next(name)
		}
		if !t.value(token.Kind, spelled, name, m, state) {
			t.end("")
			return t.b, token.Start
		}
		name = nil
	}
}

// member is the name of a member and how it is spelled.
type member struct {
	strictjson.Token
	spelled string
}

// next returns the mark and the state of the next value in the innermost
// container.
func (t *tree) next(name *member) (*Mark, string) {
	top := &t.open[len(t.open)-1]
	key := strconv.Itoa(top.index)
	top.index++
	if top.mark != nil && name != nil {
		key, _ = t.dec.Text(name.Token)
	}
	m := top.mark.At(key)
	return m, m.state(top.state)
}

// value appends the line of a value, as far as there is room.
func (t *tree) value(kind strictjson.Kind, spelled string, name *member, m *Mark, state string) bool {
	comma := ","
	if t.empty || !t.begun {
		comma = ""
	}
	t.end(comma)
	if len(t.b) >= t.limit {
		return false
	}
	t.begin(state)
	whole := true
	if name != nil {
		whole = t.text("k", name.spelled)
		t.b = append(t.b, ": "...)
	}
	if m != nil {
		for _, r := range m.reasons {
			t.tags += fmt.Sprintf(` <span class="tag">%s: %s</span>`, Verb(r), html.EscapeString(string(r)))
		}
	}
	switch {
	case kind == strictjson.ObjectStart, kind == strictjson.ArrayStart:
		t.b = append(t.b, spelled...)
		t.open = append(t.open, level{mark: m, state: state, object: kind == strictjson.ObjectStart})
		t.empty = true
		return whole
	case kind == strictjson.String && len(spelled) > longText:
		return t.long(spelled) && whole
	case kind == strictjson.String:
		return t.text("s", spelled) && whole
	default:
		return t.text("n", spelled) && whole
	}
}

// text appends a token, as far as there is room.
func (t *tree) text(class string, text string) bool {
	t.b = append(append(append(t.b, `<span class="`...), class...), `">`...)
	var n int
	t.b, n = Append(t.b, text, false, t.limit)
	t.b = append(t.b, `</span>`...)
	return n == len(text)
}

// long appends a long string, folded.
func (t *tree) long(text string) bool {
	begin := strings.ToValidUTF8(text[:Glimpse], "")
	t.b = append(t.b, `<details class="long"><summary><span class="s">`...)
	t.b, _ = Append(t.b, begin, false, t.limit)
	t.b = fmt.Appendf(t.b, `…</span> <span class="size">%s</span></summary>`, humanize.Bytes(int64(len(text))))
	whole := t.text("s", text)
	t.b = append(t.b, `</details>`...)
	return whole
}

// close ends the innermost container.
func (t *tree) close(with string) {
	top := t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
	if !t.empty {
		t.end("")
		t.begin(top.state)
	}
	t.b = append(t.b, with...)
	t.empty = false
}

// begin begins a line at the depth of what is open.
func (t *tree) begin(state string) {
	t.b = fmt.Appendf(t.b, `<div class="ln i%d %s">`, min(len(t.open), maxIndent), state)
	if state == left {
		t.b = append(t.b, `<del>`...)
	}
	t.begun, t.state, t.tags, t.empty = true, state, "", false
}

// end ends the line that has begun.
func (t *tree) end(comma string) {
	if !t.begun {
		return
	}
	t.b = append(t.b, comma...)
	if t.state == left {
		t.b = append(t.b, `</del>`...)
	}
	t.b = append(append(t.b, t.tags...), "</div>\n"...)
	t.begun = false
}

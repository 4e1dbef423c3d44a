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

// Mark says why a value of JSON text was omitted from the artifact or changed. It also has
// the marks of the values below it.
type Mark struct {
	// Partial means that omissions may lack a mark, so that values without one are not
	// shown as kept.
	Partial bool
	reasons []finding.Code
	below   map[string]*Mark
}

// Add marks the value that the pointer of an omission refers to.
func (m *Mark) Add(o project.Omission) {
	at := m
	for i, name := range strings.Split(string(o.Pointer), "/") {
		if i == 0 {
			continue // the empty string before the first slash
		}
		name = Unescape(name)
		if at.below == nil {
			at.below = make(map[string]*Mark)
		}
		next := at.below[name]
		if next == nil {
			next = &Mark{Partial: m.Partial}
			at.below[name] = next
		}
		at = next
	}
	at.reasons = append(at.reasons, o.Reason)
}

// At returns the mark of a member or element, or nil if nothing is marked there.
func (m *Mark) At(name string) *Mark {
	if m == nil {
		return nil
	}
	// Pointers have U+FFFD in place of invalid UTF-8.
	return m.below[strings.ToValidUTF8(name, "\uFFFD")]
}

// Below is like At, but never returns nil.
func (m *Mark) Below(name string) *Mark {
	if at := m.At(name); at != nil {
		return at
	}
	return &Mark{Partial: m.Partial}
}

// changes reports whether a reason means that a value was changed and not omitted.
func changes(reason finding.Code) bool {
	return reason == finding.TextPartsJoined || reason == finding.TextShortened || reason == finding.ErrorStackTrace
}

// Verb describes the effect of a reason on a value, such as "left out".
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

// state returns the state of the marked value. The argument above is the state of its
// parent.
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

// tree renders JSON text as HTML, one line for each value.
type tree struct {
	b      []byte
	limit  int
	dec    *strictjson.Decoder
	format func(strictjson.Token) string // called with each token in order
	open   []level
	unsure bool   // values without a mark are not shown as kept
	begun  bool   // a line has begun
	state  string // state of that line
	tags   string // written at the end of that line
	empty  bool   // that line opens a container, which is empty so far
}

type level struct {
	mark   *Mark
	state  string
	object bool
	index  int
}

// A string longer than longText bytes is folded. Its first Glimpse bytes stay visible.
const (
	longText = 1_000
	Glimpse  = 160
)

// maxIndent limits the indentation of lines.
const maxIndent = 16

// AppendTree appends JSON text as lines of HTML. It marks omitted and changed values,
// unless marks is nil. It stops when it has appended limit bytes or more, and returns the
// number of bytes of the text that it rendered. The text is redacted as by AppendEvent.
func (c Content) AppendTree(b, text []byte, marks *Mark, limit int) ([]byte, int) {
	dec := strictjson.NewDecoder(text)
	t := &tree{b: b, limit: len(b) + limit, dec: dec, format: func(token strictjson.Token) string { return string(dec.Bytes(token)) }}
	if c.Redact {
		t.format = (&redactor{dec: dec}).redact
	}
	root := plain
	if marks != nil {
		root, t.unsure = marks.state(kept), marks.Partial
	}
	var name *member
	for {
		token, err := t.dec.Next()
		if err != nil {
			t.end("")
			if err == io.EOF {
				return t.b, len(text)
			}
			return t.b, 0 // not JSON
		}
		text := t.format(token)
		switch token.Kind {
		case strictjson.Name:
			name = &member{token, text}
			continue
		case strictjson.ObjectEnd, strictjson.ArrayEnd:
			t.close(text)
			continue
		}
		m, state := marks, root
		if len(t.open) > 0 {
			m, state = t.next(name)
		}
		if !t.value(token.Kind, text, name, m, state) {
			t.end("")
			return t.b, token.Start
		}
		name = nil
	}
}

// member is the name of a member, as a token and as formatted.
type member struct {
	strictjson.Token
	text string
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

// value appends the line of a value. It reports whether the value fit within the limit.
func (t *tree) value(kind strictjson.Kind, text string, name *member, m *Mark, state string) bool {
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
		whole = t.text("k", name.text)
		t.b = append(t.b, ": "...)
	}
	if m != nil {
		for _, r := range m.reasons {
			t.tags += fmt.Sprintf(` <span class="tag">%s: %s</span>`, Verb(r), html.EscapeString(string(r)))
		}
	}
	switch {
	case kind == strictjson.ObjectStart, kind == strictjson.ArrayStart:
		t.b = append(t.b, text...)
		t.open = append(t.open, level{mark: m, state: state, object: kind == strictjson.ObjectStart})
		t.empty = true
		return whole
	case kind == strictjson.String && len(text) > longText:
		return t.long(text) && whole
	case kind == strictjson.String:
		return t.text("s", text) && whole
	default:
		return t.text("n", text) && whole
	}
}

// text appends a token. It reports whether the token fit within the limit.
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

// begin begins a line, indented by the number of open containers.
func (t *tree) begin(state string) {
	if t.unsure && state == kept {
		state = plain
	}
	t.b = fmt.Appendf(t.b, `<div class="ln i%d %s">`, min(len(t.open), maxIndent), state)
	if state == left {
		t.b = append(t.b, `<del>`...)
	}
	t.begun, t.state, t.tags, t.empty = true, state, "", false
}

// end ends the current line, if any.
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

// Unescape decodes a reference token of a JSON Pointer (RFC 6901 §4).
func Unescape(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

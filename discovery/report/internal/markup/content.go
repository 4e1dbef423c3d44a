package markup

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/envelope/event/names"
	"github.com/p20export/p20export/finding"
)

// Content shows what came out of a capture: the text itself, or only its length.
// The zero value shows the text. What a page says of a capture goes through its
// methods, so that a redacted page has nothing but the vocabulary of AG-UI, lengths,
// sizes and times.
type Content struct {
	// Redact shows lengths.
	Redact bool
}

// Text is [Visible], or the length of the text. Of no text it is no text.
func (c Content) Text(text string) string {
	if c.Redact && text != "" {
		return length(text)
	}
	return Visible(text)
}

// Short shows the beginning of a text of more than limit bytes, or the length of all
// of it.
func (c Content) Short(text string, limit int) string {
	if len(text) > limit && !c.Redact {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return c.Text(text)
}

// Append is [Append], or appends the length of the text.
func (c Content) Append(b []byte, text string, breaks bool, limit int) ([]byte, int) {
	if c.Redact {
		return append(b, length(text)...), len(text)
	}
	return Append(b, text, breaks, limit)
}

// Type shows the type of an event: the length of one that AG-UI does not have.
func (c Content) Type(kind string) string {
	if names.IsReleased(kind) {
		return kind
	}
	return c.Text(kind)
}

// Role shows the role of a message: the length of one that AG-UI does not have.
func (c Content) Role(role string) string {
	if vocabulary().roles[role] {
		return role
	}
	return c.Text(role)
}

// Key shows a key of an object: the length of one that AG-UI does not have.
func (c Content) Key(name string) string {
	if c.Redact {
		return key(name)
	}
	return Visible(name)
}

// maxIndex is how many digits of a pointer are an index. More can be the key of an
// object.
const maxIndex = 3

// Pointer shows a place in a JSON text: the lengths of keys that AG-UI does not have.
func (c Content) Pointer(p finding.Pointer) string {
	if !c.Redact {
		return Visible(string(p))
	}
	steps := strings.Split(string(p), "/")
	for i, step := range steps {
		index := len(step) <= maxIndex && strings.Trim(step, "0123456789") == ""
		if !index {
			steps[i] = key(strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
		}
	}
	return strings.Join(steps, "/")
}

// AppendPointer appends a place as a JSON string. Nothing of it is a picture yet.
func (c Content) AppendPointer(b []byte, p finding.Pointer, limit int) []byte {
	text := string(p)
	if c.Redact {
		text = c.Pointer(p)
	}
	b, _ = AppendJSON(b, []byte(text), limit)
	return b
}

// Message says what a finding is about: what it has in common with all findings of its
// code, or also what it quotes.
func (c Content) Message(f finding.Finding) string {
	if c.Redact {
		about, _ := finding.Describe(f.Code)
		return about.Meaning
	}
	return Visible(f.Message)
}

// Next says what to do about a finding: what is said for all of its code, or for this
// one.
func (c Content) Next(f finding.Finding) string {
	if c.Redact {
		about, _ := finding.Describe(f.Code)
		return about.Hint
	}
	return Visible(f.Hint)
}

// AppendEvent appends the text of an event as [AppendJSON] does. Of a redacted event it
// has the types, the roles and the keys that AG-UI has, and the lengths of all else.
func (c Content) AppendEvent(b, text []byte, limit int) ([]byte, int) {
	if !c.Redact {
		return AppendJSON(b, text, limit)
	}
	if len(text) == 0 {
		return append(b, `""`...), 0
	}
	shown, n := redacted(text, limit-len(b))
	b, _ = AppendJSON(b, shown, len(b)+2*len(shown)+2)
	return b, n
}

// length returns how many Unicode code points a text has, or how many bytes
// where it is not UTF-8.
func length(text string) string {
	if !utf8.ValidString(text) {
		return "⟨" + many(len(text), "byte") + "⟩"
	}
	return "⟨" + many(utf8.RuneCountInString(text), "character") + "⟩"
}

func many(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

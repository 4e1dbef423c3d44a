package markup

import (
	"fmt"
	"unicode/utf8"
)

// Content shows text that came out of a capture: the text itself, or only its
// length. The zero value shows the text.
type Content struct {
	// Redact shows lengths.
	Redact bool
}

// Text is [Visible], or the length of the text.
func (c Content) Text(text string) string {
	if c.Redact {
		return length(text)
	}
	return Visible(text)
}

// Append is [Append], or appends the length of the text.
func (c Content) Append(b []byte, text string, breaks bool, limit int) ([]byte, int) {
	if c.Redact {
		return append(b, length(text)...), len(text)
	}
	return Append(b, text, breaks, limit)
}

// length returns how many Unicode code points a text has, or how many bytes
// where it is not UTF-8.
func length(text string) string {
	n, unit := utf8.RuneCountInString(text), "character"
	if !utf8.ValidString(text) {
		n, unit = len(text), "byte"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("⟨%d %s⟩", n, unit)
}

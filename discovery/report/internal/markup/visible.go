// Package markup writes text of a capture as inert HTML and JSON. The text cannot contain
// markup, and invisible characters are replaced with visible ones.
package markup

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// Append appends text as inert HTML. It escapes markup. It replaces characters that are
// invisible or change how others are displayed with a symbol or their code point, in an
// element of their own. If breaks is set, line feeds and tabs are kept. Append stops when
// b has limit bytes or more, and returns the number of bytes of text that it appended.
func Append(b []byte, text string, breaks bool, limit int) ([]byte, int) {
	for i, w := 0, 0; i < len(text); i += w {
		if len(b) >= limit {
			return b, i
		}
		var r rune
		r, w = utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && w == 1:
			b = fmt.Appendf(b, `<b class="x">⟨x%02X⟩</b>`, text[i])
		case breaks && (r == '\n' || r == '\t'):
			b = append(b, byte(r))
		case finding.NeedsEscape(r):
			b = append(append(append(b, `<b class="x">`...), symbol(r)...), `</b>`...)
		case r < utf8.RuneSelf:
			b = append(b, html.EscapeString(text[i:i+w])...)
		default:
			b = append(b, text[i:i+w]...)
		}
	}
	return b, len(text)
}

// symbol returns the visible replacement of an invisible character.
func symbol(r rune) string {
	switch {
	case r < 0x20:
		return string('␀' + r)
	case r == 0x7f:
		return "␡"
	}
	return fmt.Sprintf("⟨U+%04X⟩", r)
}

// Visible returns text with invisible characters replaced, for places without markup. It
// does not escape HTML.
func Visible(text string) string {
	var b strings.Builder
	for i, w := 0, 0; i < len(text); i += w {
		var r rune
		switch r, w = utf8.DecodeRuneInString(text[i:]); {
		case r == utf8.RuneError && w == 1:
			fmt.Fprintf(&b, "⟨x%02X⟩", text[i])
		case finding.NeedsEscape(r):
			b.WriteString(symbol(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// AppendJSON appends text as a JSON string that is inert in a script element. It escapes
// characters that HTML, JavaScript or a terminal could interpret. A byte that is not valid
// UTF-8 becomes the lone surrogate U+DC00 plus the byte, which valid UTF-8 cannot contain.
// AppendJSON stops when b has limit bytes or more, and returns the number of bytes of text
// that it appended.
func AppendJSON(b []byte, text []byte, limit int) ([]byte, int) {
	b = append(b, '"')
	i := 0
	for w := 0; i < len(text) && len(b) < limit; i += w {
		var r rune
		r, w = utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && w == 1:
			b = fmt.Appendf(b, `\udc%02x`, text[i])
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '<' || r == '>' || r == '&' || finding.NeedsEscape(r):
			b = strictjson.AppendEscaped(b, r)
		default:
			b = append(b, text[i:i+w]...)
		}
	}
	return append(b, '"'), i
}

// HTML is trusted HTML, or the trusted contents of a style or script element. Only
// constants and text from Append, AppendTree and AppendJSON may be converted to it.
type HTML string

// Writer is a buffered writer of HTML. After an error, it writes nothing more, and Flush
// returns the error.
type Writer struct{ *bufio.Writer }

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer {
	return &Writer{bufio.NewWriterSize(w, 64<<10)}
}

// Put writes format, a constant, with each %s replaced by the next value. Values that are
// not HTML are escaped for text and for attribute values in double quotes. A %s anywhere
// else must have a number or HTML as its value.
func (w *Writer) Put(format HTML, values ...any) {
	rest := string(format)
	for _, v := range values {
		var before string
		before, rest, _ = strings.Cut(rest, "%s")
		w.WriteString(before)
		if m, ok := v.(HTML); ok {
			w.WriteString(string(m))
		} else {
			w.WriteString(escape(fmt.Sprint(v)))
		}
	}
	w.WriteString(rest)
}

// Some is like Put with one value, but writes nothing if text is empty.
func (w *Writer) Some(format HTML, text string) {
	if text != "" {
		w.Put(format, text)
	}
}

// Event writes a link to an event in the timeline of a section.
func (w *Writer) Event(section, index int) {
	w.Put(`<a href="#r%s-timeline" data-event="%s">event %s</a>`, section, index, index)
}

// escape escapes text for use as HTML text or in a quoted attribute value (WHATWG HTML
// §13.1.2).
func escape(text string) string {
	return escaper.Replace(text)
}

var escaper = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;")

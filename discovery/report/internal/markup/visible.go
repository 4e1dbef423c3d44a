// Package markup writes text of a capture as HTML and JSON in which nothing acts:
// no character of it is markup, and one that shows nothing is shown as a picture.
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

// Append appends text as HTML in which nothing acts: markup is escaped,
// and a character that shows nothing or changes how others are shown stands as
// its picture or its number, marked as such. Line feeds and tabs stay where
// breaks is set. It stops when b has limit bytes or more, and returns how much
// of the text was appended.
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
			b = append(append(append(b, `<b class="x">`...), picture(r)...), `</b>`...)
		case r < utf8.RuneSelf:
			b = append(b, html.EscapeString(text[i:i+w])...)
		default:
			b = append(b, text[i:i+w]...)
		}
	}
	return b, len(text)
}

// picture returns what stands for a character that shows nothing.
func picture(r rune) string {
	switch {
	case r < 0x20:
		return string('␀' + r)
	case r == 0x7f:
		return "␡"
	}
	return fmt.Sprintf("⟨U+%04X⟩", r)
}

// Visible returns short text for a place that holds no markup.
func Visible(text string) string {
	var b strings.Builder
	for i, w := 0, 0; i < len(text); i += w {
		var r rune
		switch r, w = utf8.DecodeRuneInString(text[i:]); {
		case r == utf8.RuneError && w == 1:
			fmt.Fprintf(&b, "⟨x%02X⟩", text[i])
		case finding.NeedsEscape(r):
			b.WriteString(picture(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// AppendJSON appends text as a JSON string that is inert in a script element:
// what HTML, JavaScript or a terminal could act on is escaped. A byte that is
// not UTF-8 becomes half a surrogate pair, U+DC00 and the byte, which no UTF-8
// can spell. It stops when b has limit bytes or more, and returns how much of the
// text was appended.
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

// HTML is HTML, or what stands in a style or script element: constants of this
// package, and what its functions make of a capture through Append and
// AppendJSON. No other text is ever converted to it.
type HTML string

// Writer writes HTML. The first error stays, and Flush returns it.
type Writer struct{ *bufio.Writer }

func NewWriter(w io.Writer) *Writer {
	return &Writer{bufio.NewWriterSize(w, 64<<10)}
}

// Put writes constant HTML with values in place of each %s. Values that are not
// markup are escaped, for text and for attribute values in double quotes: a %s
// stands nowhere else, unless its value is HTML or a number.
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

// Some is Put for one text, and nothing when that is empty.
func (w *Writer) Some(format HTML, text string) {
	if text != "" {
		w.Put(format, text)
	}
}

// Event writes a link to an event in the timeline of a section.
func (w *Writer) Event(section, index int) {
	w.Put(`<a href="#r%s-timeline" data-event="%s">event %s</a>`, section, index, index)
}

// escape returns text without what HTML could act on, in text and in quoted
// attribute values (WHATWG HTML §13.1.2).
func escape(text string) string {
	return escaper.Replace(text)
}

var escaper = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;")

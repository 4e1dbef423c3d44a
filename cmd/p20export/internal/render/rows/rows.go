// Package rows writes JSON rows: objects with a type, one on each line, in which no character
// can affect a terminal.
package rows

import (
	"bufio"
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// Member is a member of a row whose value is a valid UTF-8 text, which package json would
// encode slowly. It is omitted if the text is nil.
type Member struct {
	Name string
	Text *string
}

// maxRowBuffer is the capacity of a buffer that is kept for the next row, in bytes.
const maxRowBuffer = 1 << 20

// Writer writes rows.
type Writer struct {
	out     *bufio.Writer // stores its first error
	row     bytes.Buffer  // reused
	escaped []byte        // a part of a text, reused
}

// New returns a Writer that writes to out.
func New(out *bufio.Writer) *Writer { return &Writer{out: out} }

// Write writes a row of a type as one line. The last members of the row can be given apart
// from it. The error is that of encoding the row.
func (w *Writer) Write(name string, row any, last ...Member) error {
	return w.write(name, row, "}", func() {
		for _, m := range last {
			if m.Text != nil {
				w.out.WriteByte(',')
				w.out.Write(artifact.AppendString(nil, m.Name))
				w.out.WriteByte(':')
				writeText(w, *m.Text)
			}
		}
	})
}

// WriteText is like Write, but writes text in the place of the last member of the row, which must
// be null. However large the text is, its JSON is not in memory.
func (w *Writer) WriteText(name string, row any, text []byte) error {
	return w.write(name, row, "null}", func() { writeText(w, text) })
}

// write writes a row up to an end, and what comes in the place of the end before the brace.
func (w *Writer) write(name string, row any, end string, rest func()) error {
	defer w.row.Reset()
	head, err := Encode(&w.row, name, row)
	if err != nil {
		return err
	}
	w.out.WriteString(head)
	_, _ = (&Escaper{W: w.out}).Write(bytes.TrimSuffix(w.row.Bytes()[1:], []byte(end)))
	rest()
	w.out.WriteString("}\n")
	if w.row.Cap() > maxRowBuffer {
		w.row = bytes.Buffer{}
	}
	return nil
}

// textChunk is how much of a text is escaped at a time.
const textChunk = 4 << 10

// writeText writes a JSON string. Invalid UTF-8 becomes U+FFFD.
func writeText[T string | []byte](w *Writer, text T) {
	w.out.WriteByte('"')
	for len(text) > 0 {
		chunk := text[:min(textChunk, len(text))]
		var n int
		w.escaped, n = strictjson.AppendASCII(w.escaped[:0], chunk)
		text = text[n:]
		if n < len(chunk) {
			r, size := utf8.DecodeRuneInString(string(text[:min(utf8.UTFMax, len(text))]))
			if text = text[size:]; finding.NeedsEscape(r) {
				w.escaped = strictjson.AppendEscaped(w.escaped, r)
			} else {
				w.escaped = utf8.AppendRune(w.escaped, r)
			}
		}
		w.out.Write(w.escaped)
	}
	w.out.WriteByte('"')
}

// Encode writes a row to buf. It returns the text that replaces the first byte, so that the
// type is the first key.
func Encode(buf *bytes.Buffer, name string, row any) (head string, err error) {
	// A path may be invalid UTF-8, which is replaced by U+FFFD.
	err = json.MarshalWrite(buf, row, json.Deterministic(true), json.FormatNilMapAsNull(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	return `{"type":"` + name + `",`, err
}

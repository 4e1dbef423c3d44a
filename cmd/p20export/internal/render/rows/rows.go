// Package rows writes JSON rows: objects with a type, one on each line, in which no character
// can affect a terminal.
package rows

import (
	"bufio"
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/artifact"
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
	out *bufio.Writer // stores its first error
	row bytes.Buffer  // reused
}

// New returns a Writer that writes to out.
func New(out *bufio.Writer) *Writer { return &Writer{out: out} }

// Write writes a row of a type as one line. The last members of the row can be given apart
// from it. The error is that of encoding the row.
func (w *Writer) Write(name string, row any, last ...Member) error {
	defer w.row.Reset()
	head, err := Encode(&w.row, name, row)
	if err != nil {
		return err
	}
	for _, m := range last {
		if m.Text != nil {
			w.row.Truncate(w.row.Len() - len("}"))
			w.row.Grow(len(*m.Text) + len(*m.Text)/8 + 64) // for most texts
			b := append(w.row.AvailableBuffer(), ',')
			b = append(artifact.AppendString(b, m.Name), ':')
			w.row.Write(append(artifact.AppendString(b, *m.Text), '}'))
		}
	}
	w.out.WriteString(head)
	_, _ = (&Escaper{W: w.out}).Write(w.row.Bytes()[1:])
	w.out.WriteByte('\n')
	if w.row.Cap() > maxRowBuffer {
		w.row = bytes.Buffer{}
	}
	return nil
}

// Encode writes a row to buf. It returns the text that replaces the first byte, so that the
// type is the first key.
func Encode(buf *bytes.Buffer, name string, row any) (head string, err error) {
	// A path may be invalid UTF-8, which is replaced by U+FFFD.
	err = json.MarshalWrite(buf, row, jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	return `{"type":"` + name + `",`, err
}

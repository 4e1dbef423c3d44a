package rewrite

import (
	"bufio"
	"bytes"
	"io"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/strictjson"
)

// writer writes events in a framing.
type writer struct {
	*bufio.Writer // keeps its first error
	framing       capture.Framing
	events        int
	families      envelope.Counts
}

func newWriter(w io.Writer, framing capture.Framing) *writer {
	return &writer{Writer: bufio.NewWriterSize(w, 64<<10), framing: framing}
}

// event writes one event, on one line.
func (w *writer) event(data []byte) error {
	before, after := "", "\n"
	switch w.framing {
	case capture.SSE:
		before, after = "data: ", "\n\n"
	case capture.JSON:
		if before, after = ",\n", ""; w.events == 0 {
			before = "[\n"
		}
	}
	w.events++
	w.families.Add(typeOf(data))
	_, _ = w.WriteString(before)
	_, _ = w.Write(strictjson.OneLine(data))
	_, err := w.WriteString(after)
	return err
}

// end writes what follows the last event.
func (w *writer) end() error {
	if w.framing == capture.JSON {
		last := "\n]\n"
		if w.events == 0 {
			last = "[]\n"
		}
		_, _ = w.WriteString(last)
	}
	return w.Flush()
}

// typeOf returns the type of an event. Most events begin with it, and need not be read again.
func typeOf(data []byte) string {
	if rest, ok := bytes.CutPrefix(data, []byte(`{"type":`)); ok {
		if rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, " "), []byte{'"'}); ok {
			if name, _, _ := bytes.Cut(rest, []byte{'"'}); bytes.IndexByte(name, '\\') < 0 {
				return string(name)
			}
		}
	}
	e, err := envelope.ReadEvent(data)
	if err != nil { // data was read before
		return ""
	}
	return e.Type
}

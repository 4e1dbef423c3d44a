// Package text prints text for people: lines that are wrapped, tables, findings and colours.
package text

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/p20export/p20export/finding"
)

// Writer prints lines of text. Errors are those of the buffered writer.
type Writer struct {
	out    *bufio.Writer
	wraps  bool
	colour bool
	block  [][]Cell // of a list; see List
}

// New returns a Writer that prints to out. It wraps long lines if wraps is set, and uses
// colours if colour is set.
func New(out *bufio.Writer, wraps, colour bool) *Writer {
	return &Writer{out: out, wraps: wraps, colour: colour}
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// HasControls reports whether w is a terminal that understands control sequences.
func HasControls(w io.Writer) bool { return IsTerminal(w) && os.Getenv("TERM") != "dumb" }

// WantsColour reports whether text for w has colours.
func WantsColour(w io.Writer) bool { return HasControls(w) && os.Getenv("NO_COLOR") == "" }

// Line writes a line of text and wraps it if it is too long. A tab in the format ends
// the label of the line (see wrap). Arguments are escaped for the terminal. Text inside
// a document of another format is not wrapped.
func (w *Writer) Line(format string, args ...any) {
	text := escaped(format, args)
	if w.wraps {
		text = wrap(text)
	} else {
		text = strings.Replace(text, "\t", "", 1)
	}
	w.out.WriteString(text + "\n")
}

// Unwrapped is like Line, but does not wrap the line. It is used for rows of tables.
func (w *Writer) Unwrapped(format string, args ...any) {
	w.out.WriteString(escaped(format, args) + "\n")
}

// escaped is like fmt.Sprintf, but escapes string arguments for the terminal.
func escaped(format string, args []any) string {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = finding.Escape(s)
		}
	}
	return fmt.Sprintf(format, args...)
}

// The colours of verdicts and severities.
const (
	Red    = "31"
	Green  = "32"
	Yellow = "33"
)

// SeverityColour returns the colour of a severity, or "".
func SeverityColour(s finding.Severity) string {
	switch s {
	case finding.Error:
		return Red
	case finding.Warning:
		return Yellow
	}
	return ""
}

// Paint returns a text in a colour. The text is not escaped.
func (w *Writer) Paint(colour, text string) Painted {
	if !w.colour || colour == "" {
		return Painted(text)
	}
	return Painted("\x1b[" + colour + "m" + text + "\x1b[0m")
}

// Painted is text that is written without escaping.
type Painted string

// OneLine prints one line, truncated if it is too long.
func (w *Writer) OneLine(text Painted) {
	shown := strings.TrimRight(string(text), " ")
	if head, _ := cutColumns(shown, LineColumns); len(head) < len(shown) {
		head, _ = cutColumns(shown, LineColumns-1)
		shown = head + "…"
		if w.colour {
			shown += "\x1b[0m"
		}
	}
	w.out.Write([]byte(shown + "\n"))
}

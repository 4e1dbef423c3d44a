// Package render prints results as text, JSON rows, SARIF or JUnit XML, and shows the
// progress of long work.
//
// It maps results to exit statuses. It does not know flags, and makes no decisions
// about evidence.
package render

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/difference"
	"github.com/p20export/p20export/project/prune"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/store"
)

// ErrOutput marks errors while writing results.
var ErrOutput = errors.New("cannot write the result")

// Format is an output format for results.
type Format string

// The formats. JSON has one object per line; SARIF and JUnit are one document, written
// at the end.
const (
	Text  Format = "text"
	JSON  Format = "json"
	SARIF Format = "sarif"
	JUnit Format = "junit"
	// Dot and Mermaid are graphs in the languages of Graphviz and Mermaid.
	Dot     Format = "dot"
	Mermaid Format = "mermaid"
)

// Printer prints results. It stores the first error, which Close returns.
type Printer struct {
	format Format
	tool   record.Tool
	out    io.Writer
	w      *bufio.Writer // to out
	row    bytes.Buffer  // reused by json
	colour bool
	// terminal is set if out is a terminal.
	terminal bool
	err      error
	doc      document // for SARIF and JUnit; nil before the first row
	block    [][]cell // of a list; see listed
	// thread is the thread of the last run of a list, or nil.
	thread *store.Key
}

// member is a member of a row whose value is a valid UTF-8 text, which package json would
// encode slowly. It is omitted if the text is nil.
type member struct {
	name string
	text *string
}

// maxRowBuffer is the capacity of a buffer that is kept for the next row, in bytes.
const maxRowBuffer = 1 << 20

// document collects the rows of a command in a format that is one document. It is
// written after the last row was added.
type document interface {
	add(row result) error
	write(w *bufio.Writer) error
	close() error
}

// New returns a Printer that writes to out, which is standard output or standard error.
// The tool identifies this program.
func New(out io.Writer, f Format, tool record.Tool) *Printer {
	return &Printer{format: f, tool: tool, out: out, w: bufio.NewWriterSize(out, outputBytes), colour: wantsColour(out), terminal: isTerminal(out)}
}

// outputBytes is the size of the buffer for results. Most rows fit.
const outputBytes = 16 << 10

// Flush writes everything printed so far, and reports whether there was no error yet.
func (p *Printer) Flush() bool {
	if err := p.w.Flush(); p.err == nil {
		p.err = err
	}
	return p.err == nil
}

// Raw prints bytes unchanged.
func (p *Printer) Raw(data []byte) { p.w.Write(data) }

// Note prints a line if the format is text.
func (p *Printer) Note(format string, args ...any) {
	if p.format == Text {
		p.line(format, args...)
	}
}

// Close flushes the printer. It returns err, or an ErrOutput if the results could not be
// written.
func (p *Printer) Close(err error) error {
	p.printBlock()
	if flushed := p.w.Flush(); p.err == nil {
		p.err = flushed
	}
	if p.doc != nil {
		p.err = errors.Join(p.err, p.doc.close())
		p.doc = nil
	}
	if p.err != nil {
		return fmt.Errorf("%w: %w", ErrOutput, p.err)
	}
	return err
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// hasControls reports whether w is a terminal that understands control sequences.
func hasControls(w io.Writer) bool { return isTerminal(w) && os.Getenv("TERM") != "dumb" }

func wantsColour(w io.Writer) bool { return hasControls(w) && os.Getenv("NO_COLOR") == "" }

// json writes a row as one line. The last members of the row can be given apart from it.
func (p *Printer) json(row any, last ...member) {
	defer p.row.Reset()
	head, err := encodeRow(&p.row, row)
	if err != nil {
		p.err = errors.Join(p.err, err)
		return
	}
	for _, m := range last {
		if m.text != nil {
			p.row.Truncate(p.row.Len() - len("}"))
			p.row.Grow(len(*m.text) + len(*m.text)/8 + 64) // for most texts
			b := append(p.row.AvailableBuffer(), ',')
			b = append(artifact.AppendString(b, m.name), ':')
			p.row.Write(append(artifact.AppendString(b, *m.text), '}'))
		}
	}
	p.w.WriteString(head)
	_, _ = (&terminalJSON{w: p.w}).Write(p.row.Bytes()[1:])
	p.w.WriteByte('\n')
	if p.row.Cap() > maxRowBuffer {
		p.row = bytes.Buffer{}
	}
}

// add adds a row to the document of a command.
func (p *Printer) add(command string, row result) {
	if p.err != nil {
		return
	}
	p.begin(command)
	p.err = p.doc.add(row)
}

// document writes the document of a command.
func (p *Printer) document(command string) {
	if p.err != nil {
		return
	}
	p.begin(command)
	p.err = p.doc.write(p.w)
}

// begin creates the document of a command, unless it exists.
func (p *Printer) begin(command string) {
	switch {
	case p.doc != nil:
	case p.format == SARIF:
		p.doc = &sarifLog{tool: p.tool}
	default:
		p.doc = &junitSuite{command: command}
	}
}

// terminalJSON writes JSON to w. It escapes characters that a terminal could act on,
// which JSON allows anywhere in a string.
type terminalJSON struct {
	w    *bufio.Writer // stores its first error
	held []byte        // the beginning of an incomplete character
}

func (s *terminalJSON) Write(text []byte) (int, error) {
	data := text
	if len(s.held) > 0 {
		s.held = append(s.held, text...)
		data = s.held
	}
	done, i := 0, 0
	for {
		if i += plainLength(data[i:]); !utf8.FullRune(data[i:]) {
			break
		}
		r, w := utf8.DecodeRune(data[i:])
		if i += w; finding.NeedsEscape(r) {
			s.w.Write(data[done : i-w])
			done = i
			s.w.Write(strictjson.AppendEscaped(s.w.AvailableBuffer(), r))
		}
	}
	s.w.Write(data[done:i])
	s.held = append(s.held[:0], data[i:]...)
	return len(text), nil
}

// plainLength returns the length of the ASCII prefix of JSON text without DEL.
func plainLength(text []byte) (n int) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; n+8 <= len(text); n += 8 {
		x := binary.LittleEndian.Uint64(text[n:])
		if (x|(x+ones))&high != 0 { // a byte is 0x7f or more
			break
		}
	}
	for n < len(text) && text[n] < 0x7f {
		n++
	}
	return n
}

// line writes a line of text and wraps it if it is too long. A tab in the format ends
// the label of the line (see wrap). Arguments are escaped for the terminal. Text inside
// a document of another format is not wrapped.
func (p *Printer) line(format string, args ...any) {
	text := escaped(format, args)
	if p.format == Text {
		text = wrap(text)
	} else {
		text = strings.Replace(text, "\t", "", 1)
	}
	p.w.WriteString(text + "\n")
}

// unwrapped is like line, but does not wrap the line. It is used for rows of tables.
func (p *Printer) unwrapped(format string, args ...any) {
	p.w.WriteString(escaped(format, args) + "\n")
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
	red    = "31"
	green  = "32"
	yellow = "33"
)

// severityColour returns the colour of a severity, or "".
func severityColour(s finding.Severity) string {
	switch s {
	case finding.Error:
		return red
	case finding.Warning:
		return yellow
	}
	return ""
}

func (p *Printer) paint(colour, text string) painted {
	if !p.colour || colour == "" {
		return painted(text)
	}
	return painted("\x1b[" + colour + "m" + text + "\x1b[0m")
}

// painted is text that is written without escaping.
type painted string

// verdict returns a verdict in its colour, padded to a column.
func (p *Printer) verdict(v project.Verdict) painted {
	colour := red
	switch v {
	case project.Frozen, project.Accepted, project.Verified, project.Written, difference.Equal, scenario.Captured, prune.Removed:
		colour = green
	case project.Unverifiable, scenario.Skipped, prune.Removable, prune.Kept:
		colour = yellow
	}
	return p.paint(colour, fmt.Sprintf("%-9s", string(v)))
}

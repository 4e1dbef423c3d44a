// Package render prints the results of commands: as text (package text), JSON rows (package
// rows), or a SARIF or JUnit document (package document). It also shows the progress of long
// work.
//
// It maps results to exit statuses. It does not know flags, and makes no decisions
// about evidence.
package render

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/p20export/p20export/cmd/p20export/internal/render/document"
	"github.com/p20export/p20export/cmd/p20export/internal/render/rows"
	"github.com/p20export/p20export/cmd/p20export/internal/render/text"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/difference"
	"github.com/p20export/p20export/project/prune"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
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
	// GitHub is lines that GitHub Actions shows as annotations.
	GitHub Format = "github"
	// Dot and Mermaid are graphs in the languages of Graphviz and Mermaid.
	Dot     Format = "dot"
	Mermaid Format = "mermaid"
)

// Printer prints results. It stores the first error, which Close returns.
type Printer struct {
	*text.Writer
	format Format
	tool   record.Tool
	out    io.Writer
	w      *bufio.Writer // to out
	rows   *rows.Writer
	// terminal is set if out is a terminal.
	terminal bool
	err      error
	doc      document.Document // for SARIF and JUnit; nil before the first row
	// thread is the thread of the last run of a list, or nil.
	thread *store.Key
}

// New returns a Printer that writes to out, which is standard output or standard error.
// The tool identifies this program.
func New(out io.Writer, f Format, tool record.Tool) *Printer {
	w := bufio.NewWriterSize(out, outputBytes)
	return &Printer{Writer: text.New(w, f == Text, text.WantsColour(out)), format: f, tool: tool, out: out, w: w, rows: rows.New(w), terminal: text.IsTerminal(out)}
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
		p.Line(format, args...)
	}
}

// Close flushes the printer. It returns err, or an ErrOutput if the results could not be
// written.
func (p *Printer) Close(err error) error {
	p.EndList()
	if flushed := p.w.Flush(); p.err == nil {
		p.err = flushed
	}
	if p.doc != nil {
		p.err = errors.Join(p.err, p.doc.Close())
		p.doc = nil
	}
	if p.err != nil {
		return fmt.Errorf("%w: %w", ErrOutput, p.err)
	}
	return err
}

// json writes a row as one line. The last members of the row can be given apart from it.
func (p *Printer) json(row any, last ...rows.Member) {
	name, err := typeName(row)
	if err == nil {
		err = p.rows.Write(name, row, last...)
	}
	p.err = errors.Join(p.err, err)
}

// add adds a row to the document of a command.
func (p *Printer) add(command string, row document.Result) {
	if p.err != nil {
		return
	}
	p.begin(command)
	p.err = p.doc.Add(row)
}

// document writes the document of a command.
func (p *Printer) document(command string) {
	if p.err != nil {
		return
	}
	p.begin(command)
	p.err = p.doc.Write(p.w)
}

// begin creates the document of a command, unless it exists.
func (p *Printer) begin(command string) {
	switch {
	case p.doc != nil:
	case p.format == SARIF:
		p.doc = document.NewSARIF(p.tool)
	default:
		p.doc = document.NewJUnit(command)
	}
}

// The colours of verdicts.
const (
	red    = text.Red
	green  = text.Green
	yellow = text.Yellow
)

// painted and cell are short names for the many places that need them.
type (
	painted = text.Painted
	cell    = text.Cell
)

// verdict returns a verdict in its colour, padded to a column.
func (p *Printer) verdict(v project.Verdict) painted {
	colour := red
	switch v {
	case project.Frozen, project.Accepted, project.Verified, project.Written, difference.Equal, scenario.Captured, prune.Removed, seal.Unchanged, seal.Erased:
		colour = green
	case project.Unverifiable, scenario.Skipped, prune.Removable, prune.Kept:
		colour = yellow
	}
	return p.Paint(colour, fmt.Sprintf("%-9s", string(v)))
}

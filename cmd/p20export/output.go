package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/p20export/p20export/discovery"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project/freeze"
)

// What marks errors that are not of the command line.
var (
	errOutput  = errors.New("cannot write the result")
	errInput   = errors.New("cannot read the input")
	errHarness = errors.New("cannot run the harness")
)

// format is how results are written.
type format string

const (
	formatText  format = "text"
	formatJSON  format = "json"
	formatSARIF format = "sarif"
	formatJUnit format = "junit"
)

// formatFlag is the value of a command's --format: one of those it has.
type formatFlag struct {
	to *format
	of []string
}

// String implements pflag.Value.
func (f formatFlag) String() string { return string(*f.to) }

// Set implements pflag.Value.
func (f formatFlag) Set(s string) error {
	if !slices.Contains(f.of, s) {
		last := len(f.of) - 1
		return fmt.Errorf("the formats are %s and %s", strings.Join(f.of[:last], ", "), f.of[last])
	}
	*f.to = format(s)
	return nil
}

// Type implements pflag.Value.
func (f formatFlag) Type() string { return strings.Join(f.of, "|") }

// addFormat gives a command its --format flag: text, json and those named.
func addFormat(cmd *cobra.Command, more ...format) *format {
	f := formatText
	flag := formatFlag{to: &f, of: []string{string(formatText), string(formatJSON)}}
	usage := "how results are written; json is one object a line"
	for _, m := range more {
		flag.of = append(flag.of, string(m))
	}
	if len(more) > 0 {
		usage += ", the others are one document at the end"
	}
	cmd.Flags().Var(flag, "format", usage)
	complete(cmd, "format", flag.of...)
	return &f
}

// complete offers a flag's values to the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag does not exist: a mistake of this program's
	}
}

// printer writes results. It keeps the first error.
type printer struct {
	w      *bufio.Writer
	colour bool
	err    error
}

// newPrinter returns a printer to standard output or standard error.
func newPrinter(out io.Writer) *printer {
	return &printer{w: bufio.NewWriter(out), colour: wantsColour(out)}
}

// close flushes and returns err, or that the result could not be written.
func (p *printer) close(err error) error {
	if flushed := p.w.Flush(); p.err == nil {
		p.err = flushed
	}
	if p.err != nil {
		return fmt.Errorf("%w: %w", errOutput, p.err)
	}
	return err
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func wantsColour(w io.Writer) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// json writes v as one line.
func (p *printer) json(v any) {
	// A path need not be UTF-8; it is shown with U+FFFD then.
	line, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		p.err = errors.Join(p.err, err)
		return
	}
	_, _ = (&shownJSON{w: p.w}).Write(append(line, '\n'))
}

// document writes v as one indented JSON document.
func (p *printer) document(v any) {
	err := json.MarshalWrite(&shownJSON{w: p.w}, v, jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  "))
	p.err = errors.Join(p.err, err)
	p.w.WriteByte('\n')
}

// shownJSON passes JSON on. Characters a terminal could act on are escaped,
// which JSON allows anywhere in a string.
type shownJSON struct {
	w    *bufio.Writer // keeps its first error
	held []byte        // the beginning of a character whose rest is to come
}

func (s *shownJSON) Write(text []byte) (int, error) {
	s.held = append(s.held, text...)
	done, i := 0, 0
	for w := 0; utf8.FullRune(s.held[i:]); i += w {
		r := rune(s.held[i])
		if w = 1; r >= utf8.RuneSelf {
			r, w = utf8.DecodeRune(s.held[i:])
		}
		if r < 0x7f || !finding.Unhandy(r) {
			continue
		}
		s.w.Write(s.held[done:i])
		done = i + w
		s.w.Write(strictjson.AppendRune(s.w.AvailableBuffer(), r))
	}
	s.w.Write(s.held[done:i])
	s.held = append(s.held[:0], s.held[i:]...)
	return len(text), nil
}

// line writes one line of text. Its arguments are escaped for the terminal.
func (p *printer) line(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = finding.Escape(s)
		}
	}
	fmt.Fprintf(p.w, format+"\n", args...)
}

// The colours of verdicts and severities.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

var severityColour = map[finding.Severity]string{finding.Error: red, finding.Warning: yellow}

func (p *printer) paint(colour, text string) painted {
	if !p.colour || colour == "" {
		return painted(text)
	}
	return painted("\x1b[" + colour + "m" + text + "\x1b[0m")
}

// painted is text of this program's own, written as it is.
type painted string

// verdict returns a verdict in its colour, padded to a column.
func (p *printer) verdict(v freeze.Verdict) painted {
	colour := red
	switch v {
	case freeze.Frozen, freeze.Accepted, freeze.Verified, written, captured:
		colour = green
	case freeze.Unverifiable, discovery.Skipped:
		colour = yellow
	}
	return p.paint(colour, fmt.Sprintf("%-9s", string(v)))
}

// findings writes findings with the lines they are on and, once each, what to
// do about them. Findings of one place stand together above its line.
func (p *printer) findings(list []finding.Finding) {
	var hints []string
	codes := map[string][]string{}
	for i, f := range list {
		p.finding(f)
		if i+1 == len(list) || !samePlace(f, list[i+1]) {
			p.excerpt(f)
		}
		if f.Hint == "" {
			continue
		}
		if codes[f.Hint] == nil {
			hints = append(hints, f.Hint)
		}
		if code := string(f.Code); !slices.Contains(codes[f.Hint], code) {
			codes[f.Hint] = append(codes[f.Hint], code)
		}
	}
	for _, h := range hints {
		of := ""
		if len(hints) > 1 {
			of = " (" + strings.Join(codes[h], ", ") + ")"
		}
		p.line("  next    %s%s", painted(finding.Printable(h)), of)
	}
}

func samePlace(a, b finding.Finding) bool {
	return a.Offset != nil && b.Offset != nil && *a.Offset == *b.Offset
}

// finding writes one finding.
func (p *printer) finding(f finding.Finding) {
	if f.Code == finding.FindingsUnlisted {
		p.line("  %-7s %s", "…", painted(finding.Printable(f.Message)))
		return
	}
	p.line("  %s %s", p.paint(severityColour[f.Severity], fmt.Sprintf("%-7s", string(f.Severity))), painted(sentence(f)))
}

// excerpt writes the line a finding is on, where it is known, with a caret
// below the place.
func (p *printer) excerpt(f finding.Finding) {
	if f.Excerpt.Text == "" {
		return
	}
	p.line("  %7d | %s", f.Line, painted(finding.Printable(f.Excerpt.Text)))
	p.line("  %7s | %s%s", "", strings.Repeat(" ", f.Excerpt.Caret()), p.paint(severityColour[f.Severity], "^"))
}

// sentence says what a finding is about and where its rule comes from, escaped.
func sentence(f finding.Finding) string {
	return finding.Escape(string(f.Code)+where(f)) + ": " + finding.Printable(f.Message) + finding.Escape(rule(f))
}

// where says a finding's place.
func where(f finding.Finding) string {
	var parts []string
	if f.EventIndex != nil {
		parts = append(parts, "event "+strconv.Itoa(*f.EventIndex))
	}
	if f.Pointer != "" {
		parts = append(parts, string(f.Pointer))
	}
	if f.Line > 0 {
		parts = append(parts, "line "+strconv.Itoa(f.Line))
	}
	if f.Column > 0 {
		parts = append(parts, "column "+strconv.Itoa(f.Column))
	}
	if f.Offset != nil {
		parts = append(parts, "byte "+strconv.FormatInt(*f.Offset, 10))
	}
	if parts == nil {
		return ""
	}
	return " at " + strings.Join(parts, ", ")
}

// rule names a finding's rule and where that comes from.
func rule(f finding.Finding) string {
	var parts []string
	if f.Rule != "" {
		parts = append(parts, "rule "+f.Rule)
	}
	if f.Spec != "" {
		parts = append(parts, f.Spec)
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

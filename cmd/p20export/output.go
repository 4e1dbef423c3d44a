package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/p20export/p20export/internal/finding"
	"github.com/p20export/p20export/project/freeze"
)

// errOutput marks that the result could not be written.
var errOutput = errors.New("cannot write the result")

// format is how results are written.
type format string

const (
	formatText format = "text"
	formatJSON format = "json"
)

func (f *format) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *format) Set(s string) error {
	switch format(s) {
	case formatText, formatJSON:
		*f = format(s)
		return nil
	}
	return errors.New("the formats are text and json")
}

// Type implements pflag.Value.
func (f *format) Type() string { return "text|json" }

// addFormat gives a command its --format flag.
func addFormat(cmd *cobra.Command) *format {
	f := formatText
	cmd.Flags().Var(&f, "format", "how results are written; json is one object a line")
	complete(cmd, "format", string(formatText), string(formatJSON))
	return &f
}

// complete offers a flag's values to the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag does not exist: a mistake of this program's
	}
}

// printer writes results to standard output. It keeps the first error.
type printer struct {
	w      *bufio.Writer
	colour bool
	err    error
}

func newPrinter(cmd *cobra.Command) *printer {
	out := cmd.OutOrStdout()
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

// json writes v as one line. Characters a terminal could act on are escaped,
// which JSON allows anywhere in a string.
func (p *printer) json(v any) {
	// A path need not be UTF-8; it is shown with U+FFFD then.
	line, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		p.err = errors.Join(p.err, err)
		return
	}
	for i, w := 0, 0; i < len(line); i += w {
		var r rune
		r, w = utf8.DecodeRune(line[i:])
		switch {
		case r < utf8.RuneSelf && r != 0x7f || !finding.Unhandy(r):
			p.w.Write(line[i : i+w])
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(p.w, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(p.w, `\u%04x`, r)
		}
	}
	p.w.WriteByte('\n')
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
	case freeze.Frozen, freeze.Accepted, freeze.Verified:
		colour = green
	case freeze.Unverifiable:
		colour = yellow
	}
	return p.paint(colour, fmt.Sprintf("%-9s", string(v)))
}

// findings writes findings and, once each, what to do about them.
func (p *printer) findings(list []finding.Finding) {
	var hints []string
	seen := map[string]bool{}
	for _, f := range list {
		colour := ""
		switch f.Severity {
		case finding.Error:
			colour = red
		case finding.Warning:
			colour = yellow
		}
		p.line("  %s %s%s: %s%s", p.paint(colour, fmt.Sprintf("%-7s", string(f.Severity))), string(f.Code), where(f), painted(finding.Printable(f.Message)), spec(f))
		if f.Hint != "" && !seen[f.Hint] {
			seen[f.Hint] = true
			hints = append(hints, f.Hint)
		}
	}
	for _, h := range hints {
		p.line("  next    %s", painted(finding.Printable(h)))
	}
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
	if f.Offset != nil {
		parts = append(parts, "byte "+strconv.FormatInt(*f.Offset, 10))
	}
	if parts == nil {
		return ""
	}
	return " at " + strings.Join(parts, ", ")
}

func spec(f finding.Finding) string {
	if f.Spec == "" {
		return ""
	}
	return " (" + f.Spec + ")"
}

// bytesCount spells a byte count with thousands apart.
func bytesCount(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if n == 1 {
		return s + " byte"
	}
	return s + " bytes"
}

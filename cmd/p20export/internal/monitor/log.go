package monitor

import (
	"io"
	"log/slog"
	"os/signal"
	"syscall"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// OpenLog returns a logger like NewLogger that writes through a Buffer, and the Buffer, which
// the caller must close. Until then SIGPIPE does not end the program, which goes on if nobody
// reads the log.
func OpenLog(w io.Writer, format string) (*slog.Logger, *Buffer) {
	b := NewBuffer(w)
	signal.Notify(b.pipe, syscall.SIGPIPE)
	return NewLogger(b, format), b
}

// NewLogger returns a logger that writes lines to w. The format is text or json. If it is
// empty, it is text on a terminal, and otherwise json. In json, durations are numbers of
// seconds.
func NewLogger(w io.Writer, format string) *slog.Logger {
	if format == "" {
		format = "json"
		if f, ok := w.(interface{ Fd() uintptr }); ok && term.IsTerminal(int(f.Fd())) {
			format = "text"
		}
	}
	o := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch {
		case a.Value.Kind() != slog.KindDuration:
		case format == "text":
			a.Value = slog.StringValue(a.Value.Duration().String())
		default: // for programs: a number, and not of nanoseconds
			a.Value = slog.Float64Value(a.Value.Duration().Seconds())
		}
		return a
	}}
	w = terminal{w}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// terminal escapes characters of lines that a terminal could act on. Package slog writes U+007F
// as it is, and in JSON all that JSON allows. The escapes mean the same in both formats.
type terminal struct{ w io.Writer }

func (t terminal) Write(line []byte) (int, error) {
	var out []byte
	done := 0
	for i, r := range string(line) {
		if r == '\n' || !finding.NeedsEscape(r) {
			continue
		}
		out = strictjson.AppendEscaped(append(out, line[done:i]...), r)
		done = i + utf8.RuneLen(r)
	}
	if done == 0 {
		return t.w.Write(line)
	}
	if _, err := t.w.Write(append(out, line[done:]...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

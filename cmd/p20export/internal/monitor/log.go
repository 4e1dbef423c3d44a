package monitor

import (
	"io"
	"log/slog"

	"golang.org/x/term"
)

// NewLogger returns a logger that writes lines to w. The format is text or json. If it is
// empty, it is text on a terminal, and otherwise json.
func NewLogger(w io.Writer, format string) *slog.Logger {
	if format == "" {
		format = "json"
		if f, ok := w.(interface{ Fd() uintptr }); ok && term.IsTerminal(int(f.Fd())) {
			format = "text"
		}
	}
	o := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration { // not a number of nanoseconds
			a.Value = slog.StringValue(a.Value.Duration().String())
		}
		return a
	}}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

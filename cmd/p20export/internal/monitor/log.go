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
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, nil))
	}
	return slog.New(slog.NewJSONHandler(w, nil))
}

package exchange

import (
	"log"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// BodyTimeout limits the time that one read of a request body may take.
const BodyTimeout = time.Minute

// NewServer returns a server with limits for the time and the size of request headers.
func NewServer(h http.Handler, l *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    HeaderBytes,
		ErrorLog:          ErrorLog(l),
	}
}

// ErrorLog returns a logger for package net/http, which writes to l at debug level, and a
// panic at error level. It cuts a message at the first quotation mark, because net/http
// quotes what it received.
func ErrorLog(l *slog.Logger) *log.Logger { return log.New(errorLog{l}, "", 0) }

type errorLog struct{ log *slog.Logger }

func (e errorLog) Write(p []byte) (int, error) {
	text := strings.TrimSpace(string(p))
	if strings.Contains(text, "panic serving") {
		e.log.Error("a handler panicked", "text", text)
		return len(p), nil
	}
	text, _, _ = strings.Cut(text, `"`)
	e.log.Debug("net/http", "text", text)
	return len(p), nil
}

// Local reports whether host, the Host header of a request, names this machine by a
// loopback name or address, or is one of the allowed names. The port does not matter. A
// server on a loopback address must refuse other hosts: a page in a browser can give its
// own name the address 127.0.0.1 and then send requests to the server.
func Local(host string, allowed []string) bool {
	if rest, ok := strings.CutPrefix(host, "["); ok {
		host, rest, ok = strings.Cut(rest, "]")
		address, err := netip.ParseAddr(host)
		return ok && (rest == "" || rest[0] == ':') && err == nil && address.Unmap().IsLoopback()
	}
	host, _, _ = strings.Cut(host, ":")
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback() ||
		host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		slices.ContainsFunc(allowed, func(name string) bool { return strings.EqualFold(name, host) })
}

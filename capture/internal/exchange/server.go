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

// NewServer returns a server with limits for the time and the size of request headers. The
// handler gets all requests, including OPTIONS *.
func NewServer(h http.Handler, l *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    HeaderBytes,
		ErrorLog:          ErrorLog(l),

		DisableGeneralOptionsHandler: true,
	}
}

// ErrorLog returns a logger for package net/http, which writes to l at debug level, a failure
// to accept connections at warn level, at most once in acceptInterval, and a panic at error
// level. It cuts a message at the first quotation mark, because net/http quotes what it
// received.
func ErrorLog(l *slog.Logger) *log.Logger { return log.New(&errorLog{log: l}, "", 0) }

// acceptInterval is the time between warnings that connections cannot be accepted. The
// server tries again up to 200 times a second.
const acceptInterval = 10 * time.Second

type errorLog struct {
	log    *slog.Logger
	warned time.Time // protected by the mutex of log.Logger
}

func (e *errorLog) Write(p []byte) (int, error) {
	text := strings.TrimSpace(string(p))
	if strings.Contains(text, "panic serving") {
		e.log.Error("a handler panicked", "text", text)
		return len(p), nil
	}
	text, _, _ = strings.Cut(text, `"`)
	if reason, ok := strings.CutPrefix(text, "http: Accept error: "); ok && time.Since(e.warned) >= acceptInterval {
		e.warned = time.Now()
		e.log.Warn("connections cannot be accepted", "error", reason)
		return len(p), nil
	}
	e.log.Debug("net/http", "text", text)
	return len(p), nil
}

// Local reports whether host, the Host header of a request, names this machine by a
// loopback name or address, or is one of the allowed names. The port does not matter. A
// server on a loopback address must refuse other hosts: a page in a browser can give its
// own name the address 127.0.0.1 and then send requests to the server.
func Local(host string, allowed []string) bool {
	name, ok := hostName(host)
	if !ok {
		return false
	}
	if address, err := netip.ParseAddr(name); err == nil && address.Unmap().IsLoopback() {
		return true
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") ||
		slices.ContainsFunc(allowed, func(a string) bool { return strings.EqualFold(a, name) })
}

// hostName returns a host in lower case, without its port, the brackets of an IPv6 address
// and a dot at the end, and whether it is well-formed.
func hostName(host string) (name string, ok bool) {
	// The colons of an address are in brackets.
	if end := strings.LastIndexByte(host, ':'); end > strings.LastIndexByte(host, ']') {
		if strings.Trim(host[end+1:], "0123456789") != "" {
			return "", false
		}
		host = host[:end]
	}
	if address, bracketed := strings.CutPrefix(host, "["); bracketed {
		address, ok = strings.CutSuffix(address, "]")
		return address, ok && strings.Contains(address, ":")
	}
	return strings.ToLower(strings.TrimSuffix(host, ".")), !strings.ContainsAny(host, ":]")
}

package exchange

import (
	"log"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// BodyTimeout limits the time that one read of a request body may take.
const BodyTimeout = time.Minute

// NewServer returns a server with limits for the time and the size of request headers, and
// for the number and the age of idle connections. The handler gets all requests, including
// OPTIONS *.
func NewServer(h http.Handler, l *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    HeaderBytes,
		ErrorLog:          ErrorLog(l),

		DisableGeneralOptionsHandler: true,
	}
	newIdleConns(MaxIdle(), l).limit(s)
	return s
}

// ErrorLog returns a logger for package net/http, which writes to l at debug level, a failure
// to accept connections at warn level, at most once in warnInterval, and a panic at error
// level. It cuts a message at the first quotation mark, because net/http quotes what it
// received.
func ErrorLog(l *slog.Logger) *log.Logger { return log.New(&errorLog{log: l}, "", 0) }

// warnInterval is the time between warnings about connections. If they cannot be accepted,
// the server tries again up to 200 times a second.
const warnInterval = 10 * time.Second

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
	if reason, ok := strings.CutPrefix(text, "http: Accept error: "); ok && time.Since(e.warned) >= warnInterval {
		e.warned = time.Now()
		e.log.Warn("connections cannot be accepted", "error", reason)
		return len(p), nil
	}
	e.log.Debug("net/http", "text", text)
	return len(p), nil
}

package serve

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/p20export/p20export/store/transfer"
)

// export serves GET /threads/{thread}/export: the thread in the portable form, while it is read.
// If that fails after the head was sent, the response breaks off.
func (s *Server) export(q *request) {
	leave, ok := s.enter(q, s.exports)
	if !ok {
		return
	}
	defer leave()
	w := &exportWriter{sender: s.sender(q)}
	defer w.sender.end()
	switch err := transfer.WriteThread(q.Context(), s.settings.Log, q.key(), w); {
	case err == nil, errors.Is(err, errNoBody):
	case !w.began:
		s.fail(q, err)
	default:
		if _, known := refusalOf(err); !known && !errors.Is(err, errLeft) && q.Context().Err() == nil {
			s.say(slog.LevelWarn, "the log failed", "error", err)
		}
		s.settings.Logger.Debug("an export broke off", "error", err)
		panic(http.ErrAbortHandler)
	}
}

// Errors of an exportWriter.
var (
	errNoBody = errors.New("the response has no body")
	errLeft   = errors.New("the client has left, or does not read")
)

// exportWriter writes the body of an export. The first write sends the head.
type exportWriter struct {
	sender *sender
	began  bool
}

func (w *exportWriter) Write(text []byte) (int, error) {
	q := w.sender.request
	if !w.began {
		w.began = true
		h := q.w.Header()
		h.Set("Content-Type", "application/x-ndjson")
		h.Set("Content-Disposition", `attachment; filename="thread.ndjson"`)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		q.w.WriteHeader(http.StatusOK)
	}
	switch {
	case q.Method == http.MethodHead:
		return 0, errNoBody
	case !w.sender.send(text):
		return 0, errLeft
	}
	return len(text), nil
}

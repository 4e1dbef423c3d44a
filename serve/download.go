package serve

import (
	"errors"
	"io"
	"mime"
	"net/http"
)

// attachment sets the headers of content that a browser saves to a file, and never runs.
func attachment(h http.Header, name string) {
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
}

// download sends what write writes, as a file, while it is written. If that fails after the head
// was sent, the response breaks off: the client must not take a part for the whole.
func (s *Server) download(q *request, name, mediaType string, write func(io.Writer) error) {
	t := s.sender(q)
	defer t.end()
	w := &downloadWriter{sender: t, name: name, mediaType: mediaType}
	err := write(w)
	switch {
	case err == nil, errors.Is(err, errNoBody):
		return
	case !t.began:
		s.fail(q, err)
		return
	}
	if _, known := refusalOf(err); !known && !isUnsent(err) && q.Context().Err() == nil {
		s.sayFailed(err)
	}
	s.settings.Logger.Debug("a download broke off", "error", err)
	panic(http.ErrAbortHandler)
}

// Errors of a downloadWriter.
var (
	errNoBody = errors.New("the response has no body")
	errLeft   = errors.New("the client has left, or does not read")
)

// isUnsent reports whether an error is one of a downloadWriter.
func isUnsent(err error) bool { return errors.Is(err, errNoBody) || errors.Is(err, errLeft) }

// downloadWriter writes the body of a download. The first write sends the head.
type downloadWriter struct {
	*sender
	name, mediaType string
}

func (w *downloadWriter) Write(text []byte) (int, error) {
	if !w.began {
		w.began = true
		h := w.request.w.Header()
		attachment(h, w.name)
		h.Set("Content-Type", w.mediaType)
		h.Set("Cache-Control", "no-store")
		w.request.w.WriteHeader(http.StatusOK)
	}
	switch {
	case w.request.Method == http.MethodHead:
		return 0, errNoBody
	case !w.send(text):
		return 0, errLeft
	}
	return len(text), nil
}

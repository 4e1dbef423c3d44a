package serve

import (
	"errors"
	"iter"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/attach"
)

// A response is a stream of server-sent events.
type response struct {
	view View
	// texts are what the client receives. An empty one is a comment.
	texts iter.Seq2[[]byte, error]
	// wait delays the head until there is a text. Until then an error is answered with a
	// status.
	wait bool
	// endless means that the events never end by themselves. When the server stops, such
	// a response ends as if it were complete; others break off, because a client would
	// take the end for that of the run.
	endless bool
	// empty, if not nil, is the error if there is no event at all.
	empty error
}

// comment is what a reader without events receives.
const comment = ":\n\n"

// rewound is sent to a reader whose thread lost events that it may have. The empty id makes
// an EventSource begin with the first event when it connects again (WHATWG HTML §9.2.6).
const rewound = ": the log was rewound: read the thread again from the beginning\nid\n\n"

// stream sends a response until it ends or the client leaves.
func (s *Server) stream(q *request, p response, since time.Time) {
	s.settings.Observer.Reading(p.view, 1)
	defer s.settings.Observer.Reading(p.view, -1)
	s.streams.add(1)
	defer s.streams.add(-1)
	t := s.sender(q)
	defer t.end()
	if !p.wait && !t.begin() || q.Method == http.MethodHead {
		return
	}
	first := true
	for text, err := range p.texts {
		switch {
		case err != nil && q.Context().Err() != nil:
			return
		case err != nil && !t.began && !errors.Is(err, store.ErrRewound):
			s.fail(q, err)
			return
		case errors.Is(err, attach.ErrClosed) && p.endless:
			return
		case err != nil:
			if errors.Is(err, store.ErrRewound) && (t.began || t.begin()) {
				t.send([]byte(rewound))
			} else if _, known := refusalOf(err); !known {
				s.sayFailed(err)
			}
			s.settings.Logger.Debug("a response broke off", "view", string(p.view), "error", err)
			panic(http.ErrAbortHandler)
		}
		if !t.began && !t.begin() {
			return
		}
		idle := len(text) == 0
		if idle {
			text = []byte(comment)
		}
		if !t.send(text) {
			return
		}
		if first && !idle {
			first = false
			s.settings.Observer.Joined(p.view, time.Since(since))
		}
	}
	switch {
	case first && p.empty != nil && !t.began:
		s.fail(q, p.empty)
	case first && p.empty != nil:
		panic(http.ErrAbortHandler) // it is too late for a status
	case !t.began:
		t.begin()
	}
}

// reader counts the client of a request as a reader until leave is called. If there are too
// many readers, it refuses the request.
func (s *Server) reader(q *request) (leave func(), ok bool) {
	if leave, ok = s.guard.Reader(q.Context()); !ok {
		s.refuse(q, TooManyReaders, "too many clients are reading")
	}
	return leave, ok
}

// A sender writes a response. Each write has a deadline: a client that does not read is
// dropped, and can join again.
type sender struct {
	server  *Server
	request *request
	control *http.ResponseController
	began   bool
}

func (s *Server) sender(q *request) *sender {
	return &sender{server: s, request: q, control: http.NewResponseController(q.w)}
}

// end removes the deadline. A later request on the connection must not have it.
func (t *sender) end() { _ = t.control.SetWriteDeadline(time.Time{}) }

// begin sends the head, and reports whether that succeeded.
func (t *sender) begin() bool {
	t.began = true
	h := t.request.w.Header()
	h.Set("Content-Type", "text/event-stream")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // nginx
	t.request.w.WriteHeader(http.StatusOK)
	return t.send(nil)
}

// writeBytes is how much a client has to accept in Settings.ReaderTimeout.
const writeBytes = 64 << 10

// send sends a text, and reports whether that succeeded.
func (t *sender) send(text []byte) bool {
	var err error
	for part := range slices.Chunk(text, writeBytes) {
		if err = t.deadline(); err == nil {
			_, err = t.request.w.Write(part)
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		if err = t.deadline(); err == nil {
			err = t.control.Flush()
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.server.settings.Observer.ReaderDropped()
		t.server.settings.Logger.Info("dropped a reader that does not read")
	}
	if err == nil {
		t.server.settings.Observer.Sent(len(text))
	}
	return err == nil
}

// deadline sets the time at which the next write fails.
func (t *sender) deadline() error {
	err := t.control.SetWriteDeadline(time.Now().Add(t.server.settings.ReaderTimeout))
	if errors.Is(err, http.ErrNotSupported) {
		return nil // the response has no connection
	}
	return err
}

// cursor returns the place after which the client wants events: Last-Event-ID, which a client
// sends that lost its connection, or else the parameter after.
func (q *request) cursor() (attach.Cursor, error) {
	id := q.Header.Get("Last-Event-ID")
	if id == "" {
		id = q.query.Get("after")
	}
	if id == "" {
		return attach.Cursor{}, nil
	}
	return attach.ParseCursor(id)
}

// flag returns a parameter that is true or false.
func (q *request) flag(name string, absent bool) (value, ok bool) {
	text := q.query.Get(name)
	if text == "" {
		return absent, true
	}
	value, err := strconv.ParseBool(text)
	return value, err == nil
}

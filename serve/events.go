package serve

import (
	"errors"
	"iter"
	"strconv"
	"time"

	"github.com/p20export/p20export/serve/internal/guard"
	"github.com/p20export/p20export/serve/internal/runs"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/attach"
)

// events serves GET /threads/{thread}/events: the history of a thread after a place, and then
// each further event. With follow=false it ends with the history.
func (s *Server) events(q *request) {
	since := time.Now()
	place, err := q.cursor()
	if err != nil {
		s.fail(q, err)
		return
	}
	follow, ok := q.flag("follow", true)
	if !ok {
		s.refuse(q, InvalidQuery, "follow is true or false")
		return
	}
	o := attach.EventOptions{After: place, Follow: follow}
	p := response{view: Events, endless: true, wait: place.Compacted > 0}
	switch q.query.Get("view") {
	case "", "raw":
		o.View = attach.Raw
	case "compact":
		o.View, p.view = attach.Compact, Compact
	default:
		s.refuse(q, InvalidQuery, "view is raw or compact")
		return
	}
	leave, ok := s.reader(q)
	if !ok {
		return
	}
	defer leave()
	if t, ok := s.thread(q, q.key()); !ok || !s.reaches(q, t, place) {
		return
	}
	p.texts = s.hub.Events(q.Context(), q.key(), o)
	s.stream(q, p, since)
}

// thread returns a thread, which need not exist. If it was deleted, or the log fails, it
// refuses the request: that is answered with a status, and what happens later breaks the
// response off.
func (s *Server) thread(q *request, key store.Key) (t store.Thread, ok bool) {
	t, err := s.settings.Log.Thread(q.Context(), key)
	if err == nil && !t.DeletedAt.IsZero() {
		err = store.ErrDeleted
	}
	if err != nil && !errors.Is(err, store.ErrNoThread) {
		s.fail(q, err)
		return t, false
	}
	return t, true
}

// reaches reports whether a thread has a place, or whether the Hub will find that out. If it has
// not, it refuses the request: the log is another one, or was replaced by an older copy, and the
// client would miss events.
func (s *Server) reaches(q *request, t store.Thread, place attach.Cursor) bool {
	if place.Check != 0 || place.Position <= t.Last {
		return true
	}
	s.refuse(q, InvalidCursor, "the thread ends at position "+strconv.FormatInt(t.Last, 10)+": read it from the beginning")
	return false
}

// connect serves POST /threads/{thread}/connect: what a client needs that joins the last run
// of a thread, and then the events of the run until it ends. A request whose agent has sent
// nothing yet is the last run. With follow=true it goes on with each further run.
func (s *Server) connect(q *request) {
	s.join(q, func(thread string) bool { return thread == q.ids[0] })
}

// connectAgent serves POST /agents/{name}/connect: connect of the thread that the body names.
// It is where clients look for it that know only the URL of an agent.
func (s *Server) connectAgent(q *request) {
	if s.settings.Agents[q.ids[0]] == nil {
		s.refuse(q, UnknownAgent, "there is no agent with this name")
		return
	}
	s.join(q, func(thread string) bool {
		q.ids = []string{thread}
		return true
	})
}

// join serves connect. Its parameter says whether the thread of the body may be joined.
func (s *Server) join(q *request, may func(thread string) bool) {
	since := time.Now()
	follow, ok := q.flag("follow", false)
	if !ok {
		s.refuse(q, InvalidQuery, "follow is true or false")
		return
	}
	body, ok := s.guard.ReadBody(q.w, q.Request)
	if !ok {
		return
	}
	var in input
	if err := in.read(body, "threadId"); err != nil {
		s.refuse(q, InvalidInput, err.Error())
		return
	}
	guard.KeepBody(q.Context())() // nothing more is needed of the body
	if !may(in.thread) {
		s.refuse(q, InvalidInput, "threadId is not the thread of the path")
		return
	}
	leave, ok := s.reader(q)
	if !ok {
		return
	}
	defer leave()
	t, ok := s.thread(q, q.key())
	if !ok {
		return
	}
	p := response{view: Connect, texts: s.hub.Connect(q.Context(), q.key(), follow), wait: t.Runs > 0}
	if pending, err := runs.Pending(q.Context(), s.settings.Log, q.key()); err != nil {
		s.fail(q, err)
		return
	} else if pending.ID != "" && !follow {
		p.wait, p.texts = false, after(s.hub.Stream(q.Context(), q.key(), pending.ID, pending.First), p.texts)
	}
	s.stream(q, p, since)
}

// after returns texts that begin when an agent has sent something. Until then there are
// comments.
func after(first, texts iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for text, err := range first {
			if err == nil && len(text) > 0 {
				break
			}
			if !yield(text, err) || err != nil {
				return
			}
		}
		texts(yield)
	}
}

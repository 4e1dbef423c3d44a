package serve

import (
	"errors"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/attach"
)

// events serves GET /threads/{thread}/events: the history of a thread after a place, and then
// each further event. With follow=false it ends with the history.
func (s *Server) events(q *request) {
	since := time.Now()
	after, err := q.cursor()
	if err != nil {
		s.fail(q, err)
		return
	}
	follow, ok := q.flag("follow", true)
	if !ok {
		s.refuse(q, InvalidQuery, "follow is true or false")
		return
	}
	o := attach.EventOptions{After: after, Follow: follow}
	p := response{view: Events, endless: true, wait: after.Compacted > 0}
	switch q.URL.Query().Get("view") {
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
	// What is wrong from the beginning is answered with a status.
	if t, err := s.settings.Log.Thread(q.Context(), q.key()); err != nil && !errors.Is(err, store.ErrNoThread) {
		s.fail(q, err)
		return
	} else if !t.DeletedAt.IsZero() {
		s.fail(q, store.ErrDeleted)
		return
	}
	p.texts = s.hub.Events(q.Context(), q.key(), o)
	s.stream(q, p, since)
}

package serve

import (
	"net/http"

	"github.com/p20export/p20export/artifact"
)

// ticket serves POST /threads/{thread}/ticket: a ticket with which the events of the thread can
// be read without a header. The thread need not exist.
func (s *Server) ticket(q *request) {
	if _, ok := s.thread(q, q.key()); !ok {
		return
	}
	text, expires := s.guard.Ticket(q.Context(), q.ids[0])
	s.answer(q, ticketOf{text, artifact.FormatTime(expires)})
}

// ticketOf is the answer to a request for a ticket.
type ticketOf struct {
	Ticket  string `json:"ticket"`
	Expires string `json:"expires"`
}

// ticketThread returns the thread whose events a request reads. A ticket is good for nothing
// else.
func ticketThread(r *http.Request) (thread string, ok bool) {
	ids, ok := (&route{path: []string{"threads", "", "events"}}).match(r.URL.EscapedPath())
	if !ok || r.Method != http.MethodGet {
		return "", false
	}
	return ids[0], true
}

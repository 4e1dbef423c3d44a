package serve

import (
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// fork serves GET /threads/{thread}/fork: a request that continues a run.
func (s *Server) fork(q *request) {
	var form lineage.Form
	switch q.query.Get("form") {
	case "", "full":
		form = lineage.Full
	case "normalized":
		form = lineage.Normalized
	default:
		s.refuse(q, InvalidQuery, "form is full or normalized")
		return
	}
	id := q.query.Get("run_id")
	if err := store.CheckID(id); err != nil {
		s.refuse(q, InvalidQuery, "run_id, the id of the new run: "+err.Error())
		return
	}
	s.build(q, s.heavy, func() (string, []byte, bool) {
		run, ok := s.runAt(q)
		if !ok {
			return "", nil, false
		}
		in, err := s.continued(q, run.Start, id, form)
		if err != nil {
			s.fail(q, err)
			return "", nil, false
		}
		return "application/json", event.AppendRunInput(nil, in), true
	})
}

// continued returns a request that continues the run that begins at a position.
func (s *Server) continued(q *request, position int64, id string, form lineage.Form) (*event.RunAgentInput, error) {
	t, err := restore.Open(q.Context(), s.settings.Log, q.key(), s.settings.Restore)
	if err != nil {
		return nil, err
	}
	for _, n := range t.Graph.Nodes {
		if n.Position == position {
			result, err := t.Run(q.Context(), n)
			if err != nil {
				return nil, err
			}
			return t.Fork(result, id, form)
		}
	}
	return nil, errNoRunAt
}

package serve

import (
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// lineageOf is the lineage of a thread.
type lineageOf struct {
	ThreadID string              `json:"thread_id"`
	Runs     []lineage.RunRow    `json:"runs"`
	Branches []lineage.BranchRow `json:"branches"`
	Findings []finding.Finding   `json:"findings"`
}

// listRuns serves GET /threads/{thread}/runs.
func (s *Server) listRuns(q *request) {
	s.build(q, func() (any, bool) { return s.lineage(q) })
}

// lineage makes the lineage of a thread. If that fails, it answers the request.
func (s *Server) lineage(q *request) (document any, ok bool) {
	key := q.key()
	t, err := s.settings.Log.Thread(q.Context(), key)
	if err == nil && !t.DeletedAt.IsZero() {
		err = store.ErrDeleted
	}
	if err != nil {
		s.fail(q, err)
		return nil, false
	}
	if t.Runs > maxRuns {
		s.refuse(q, ThreadTooLarge, "the thread has too many runs for one answer")
		return nil, false
	}
	var list []lineage.Run
	for r, err := range s.settings.Log.Runs(q.Context(), store.RunQuery{Tenant: &key.Tenant, Thread: &key.Thread}) {
		if err != nil {
			s.fail(q, err)
			return nil, false
		}
		list = append(list, restore.Lineage(&r))
	}
	return newLineage(key.Thread, lineage.New(list)), true
}

func newLineage(id string, g *lineage.Graph) lineageOf {
	doc := lineageOf{ThreadID: id, Runs: []lineage.RunRow{}, Branches: []lineage.BranchRow{}, Findings: g.Findings()}
	if t := g.Thread(id); t != nil {
		doc.Runs, doc.Branches = t.Rows()
	}
	return doc
}

package serve

import (
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/serve/internal/runs"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// lineageOf is the lineage of a thread.
type lineageOf struct {
	ThreadID string `json:"thread_id"`
	// Sealed is the position up to which the thread is sealed, or 0.
	Sealed   int64               `json:"sealed"`
	Runs     []runRow            `json:"runs"`
	Branches []lineage.BranchRow `json:"branches"`
	Findings []finding.Finding   `json:"findings"`
}

// runRow is a run of a thread.
type runRow struct {
	// Agent is the name of the agent, or null if the log does not have it.
	Agent *string `json:"agent"`
	lineage.RunRow
	// ClosingCode is the code with which a server closed the run, or null.
	ClosingCode *string `json:"closing_code"`
}

// listRuns serves GET /threads/{thread}/runs.
func (s *Server) listRuns(q *request) {
	s.buildDocument(q, func() (any, bool) { return s.lineage(q) })
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
	stopped := map[int64]int64{} // the last position of runs that a server may have closed, by their first one
	for r, err := range s.settings.Log.Runs(q.Context(), store.RunQuery{Tenant: &key.Tenant, Thread: &key.Thread}) {
		if err != nil {
			s.fail(q, err)
			return nil, false
		}
		if r.End == store.Failed || r.End == store.Cancelled {
			stopped[r.Start] = r.Last
		}
		list = append(list, restore.Lineage(&r))
	}
	doc := newLineage(key.Thread, lineage.New(list))
	doc.Sealed = t.Sealed
	for i := range doc.Runs {
		if last := stopped[doc.Runs[i].Position]; last > 0 {
			if doc.Runs[i].ClosingCode, err = s.closingCode(q, last); err != nil {
				s.fail(q, err)
				return nil, false
			}
		}
	}
	return doc, true
}

// closingCode returns the code of the closing at a position of the thread, or nil if the entry
// is of the agent.
func (s *Server) closingCode(q *request, position int64) (*string, error) {
	for e, err := range s.settings.Log.Select(q.Context(), q.key(), store.At(position)) {
		if err != nil || e.Kind != store.Closing {
			return nil, err
		}
		if code := runs.ClosingCode(e.Data); code != "" {
			return &code, nil
		}
		return nil, nil // the server completed an event of the agent
	}
	return nil, nil // the thread was deleted
}

func newLineage(id string, g *lineage.Graph) lineageOf {
	doc := lineageOf{ThreadID: id, Runs: []runRow{}, Branches: []lineage.BranchRow{}, Findings: g.Findings()}
	if t := g.Thread(id); t != nil {
		var rows []lineage.RunRow
		rows, doc.Branches = t.Rows()
		for _, r := range rows {
			doc.Runs = append(doc.Runs, runRow{RunRow: r, Agent: agentOf(r.Source)})
		}
	}
	return doc
}

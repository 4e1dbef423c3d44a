package serve

import (
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// lineageOf is the lineage of a thread.
type lineageOf struct {
	ThreadID string            `json:"thread_id"`
	Runs     []lineageRun      `json:"runs"`
	Branches []lineageBranch   `json:"branches"`
	Findings []finding.Finding `json:"findings"`
}

type lineageRun struct {
	Number      int          `json:"number"`
	RunID       string       `json:"run_id"`
	ParentRunID *string      `json:"parent_run_id"`
	Parent      *int         `json:"parent"`
	Edge        lineage.Edge `json:"edge"`
	Branch      int          `json:"branch"`
	Depth       int          `json:"depth"`
	Source      string       `json:"source"`
	Position    int64        `json:"position"`
	Events      int64        `json:"events"`
	StartedAt   *string      `json:"started_at"`
	LastAt      *string      `json:"last_at"`
	End         lineage.End  `json:"end"`
}

type lineageBranch struct {
	Number int  `json:"number"`
	From   *int `json:"from"`
	Level  int  `json:"level"`
	Runs   int  `json:"runs"`
	First  int  `json:"first"`
	Last   int  `json:"last"`
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
	doc := lineageOf{ThreadID: id, Runs: []lineageRun{}, Branches: []lineageBranch{}, Findings: append([]finding.Finding{}, g.Findings()...)}
	number := func(n *lineage.Node) *int {
		if n == nil {
			return nil
		}
		i := n.Index + 1
		return &i
	}
	for _, n := range g.Nodes {
		doc.Runs = append(doc.Runs, lineageRun{
			n.Index + 1, n.ID, optional(n.ParentID), number(n.Parent), n.Edge, n.Branch.Number, n.Depth, n.Source, n.Position, n.Events,
			optionalTime(n.StartedAt), optionalTime(n.LastAt), n.End,
		})
	}
	if t := g.Thread(id); t != nil {
		for _, b := range t.Branches {
			doc.Branches = append(doc.Branches, lineageBranch{b.Number, number(b.From), b.Level, len(b.Runs), b.Runs[0].Index + 1, b.Head().Index + 1})
		}
	}
	return doc
}

package serve

import (
	"errors"
	"strconv"

	"github.com/p20export/p20export/serve/internal/facts"
	"github.com/p20export/p20export/store"
)

// factsOf are the facts of a run.
type factsOf struct {
	// Run is the position of RUN_STARTED.
	Run int64 `json:"run"`
	// RunID is null if RUN_STARTED has no id that the log has an index of.
	RunID *string `json:"run_id"`
	// Agent is the name of the agent, or null if the log does not have it.
	Agent *string `json:"agent"`
	facts.Facts
	// Capture is the name of the run's capture, or null if this server has none that is
	// finished.
	Capture *string `json:"capture"`
}

// runFacts serves GET /threads/{thread}/facts: what the log shows of a run besides its
// conversation.
func (s *Server) runFacts(q *request) {
	s.buildDocument(q, func() (any, bool) {
		run, ok := s.runAt(q)
		if !ok {
			return nil, false
		}
		f, err := facts.Of(q.Context(), s.settings.Log, run)
		if err != nil {
			s.fail(q, err)
			return nil, false
		}
		doc := factsOf{Run: run.Start, Agent: agentOf(run.Stream), Facts: *f}
		if run.ID != "" {
			doc.RunID = &run.ID
		}
		var unreadable *captureError
		switch name, err := s.captureOf(q.Context(), run); {
		case err == nil:
			doc.Capture = &name
		case errors.As(err, &unreadable):
			s.sayFailed(err)
		case !isNoCapture(err):
			s.fail(q, err)
			return nil, false
		}
		return doc, true
	})
}

// errNoRunAt is the error for a position at which no run begins.
var errNoRunAt = errors.New("the thread has no run that begins at this position")

// runAt returns the run that the parameter run names by the position of its RUN_STARTED. If
// there is none, runAt answers the request.
func (s *Server) runAt(q *request) (*store.Run, bool) {
	position, err := strconv.ParseInt(q.query.Get("run"), 10, 64)
	if err != nil || position < 1 {
		s.refuse(q, InvalidQuery, "run is the position of the RUN_STARTED of a run, from 1")
		return nil, false
	}
	key := q.key()
	t, err := s.settings.Log.Thread(q.Context(), key)
	if err == nil && !t.DeletedAt.IsZero() {
		err = store.ErrDeleted
	}
	if err != nil {
		s.fail(q, err)
		return nil, false
	}
	for run, err := range s.settings.Log.Runs(q.Context(), store.RunQuery{Tenant: &key.Tenant, Thread: &key.Thread}) {
		switch {
		case err != nil:
			s.fail(q, err)
			return nil, false
		case run.Start == position:
			return &run, true
		case run.Start > position:
			s.fail(q, errNoRunAt)
			return nil, false
		}
	}
	s.fail(q, errNoRunAt)
	return nil, false
}

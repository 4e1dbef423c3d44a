package serve

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/serve/internal/runs"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

const (
	// defaultThreads and maxThreads are the number of threads of a page.
	defaultThreads = 100
	maxThreads     = 1000
	// maxRuns limits the runs of a lineage. It bounds memory.
	maxRuns = 100_000
)

// threadList is a page of threads. The keys of all documents are those of the commands that
// print the same.
type threadList struct {
	Threads []thread `json:"threads"`
	// Next is the parameter after of the next page, or null on the last one.
	Next *string `json:"next"`
}

type thread struct {
	ThreadID  string `json:"thread_id"`
	Entries   int64  `json:"entries"`
	Runs      int64  `json:"runs"`
	Bytes     int64  `json:"bytes"`
	Packed    int64  `json:"packed"`
	Sealed    int64  `json:"sealed"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
	// Latest is the run that began last, or null.
	Latest *latestRun `json:"latest"`
}

// latestRun is the last run of a thread in a list.
type latestRun struct {
	// Position is that of RUN_STARTED.
	Position int64        `json:"position"`
	RunID    string       `json:"run_id"`
	End      store.RunEnd `json:"end"`
	// StartedAt and LastAt are the times at which the first and the last event arrived, or null.
	StartedAt *string `json:"started_at"`
	LastAt    *string `json:"last_at"`
	// Agent is the name of the agent, or null if the log does not have it.
	Agent *string `json:"agent"`
}

func newThread(t *store.Thread) thread {
	row := thread{ThreadID: t.Thread, Entries: t.Last, Runs: t.Runs, Bytes: t.Bytes, Packed: t.Packed, Sealed: t.Sealed, CreatedAt: artifact.FormatTime(t.CreatedAt), UpdatedAt: artifact.FormatTime(t.UpdatedAt)}
	if r := t.Latest; r != nil {
		row.Latest = &latestRun{Position: r.Start, RunID: r.ID, End: r.End, StartedAt: known(r.StartedAt), LastAt: known(r.LastAt), Agent: agentOf(r.Stream)}
	}
	return row
}

// agentOf returns the name of the agent that answers in a stream, or nil if the log does not have
// it.
func agentOf(stream string) *string {
	if name := runs.AgentOf(stream); name != "" {
		return &name
	}
	return nil
}

// known returns a time as text, or nil if it is not known.
func known(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(artifact.FormatTime(t))
}

// threadCursor returns the parameter after of the page that follows a thread. In the order of
// the newest it has the time before the id.
func threadCursor(t *store.Thread, newest bool) *string {
	if newest {
		return new(strconv.FormatInt(t.UpdatedAt.UnixMicro(), 10) + "." + t.Thread)
	}
	return &t.Thread
}

// threadQuery returns the query of a page of threads. If a parameter is not valid, it refuses
// the request.
func (s *Server) threadQuery(q *request) (_ store.ThreadQuery, ok bool) {
	list := store.ThreadQuery{Tenant: &q.tenant, Latest: true}
	after := q.query.Get("after")
	if after != "" {
		list.After = store.Key{Tenant: q.tenant, Thread: after}
	}
	switch order := q.query.Get("order"); order {
	case "", "id":
	case "newest":
		list.Newest = true
		if after == "" {
			break
		}
		at, id, _ := strings.Cut(after, ".")
		micros, err := strconv.ParseInt(at, 10, 64)
		if err != nil || id == "" {
			s.refuse(q, InvalidCursor, "after is not a next of a list in this order")
			return list, false
		}
		list.AfterAt, list.After.Thread = time.UnixMicro(micros), id
	default:
		s.refuse(q, InvalidQuery, "order is id or newest")
		return list, false
	}
	return list, true
}

// listThreads serves GET /threads.
func (s *Server) listThreads(q *request) {
	limit, ok := s.limit(q, defaultThreads, maxThreads)
	if !ok {
		return
	}
	list, ok := s.threadQuery(q)
	if !ok {
		return
	}
	page := threadList{Threads: []thread{}}
	var last store.Thread
	for t, err := range s.settings.Log.Threads(q.Context(), list) {
		if err != nil {
			s.fail(q, err)
			return
		}
		if len(page.Threads) == limit {
			page.Next = threadCursor(&last, list.Newest)
			break
		}
		page.Threads = append(page.Threads, newThread(&t))
		last = t
	}
	s.answer(q, page)
}

// limit returns the parameter limit. If it is not valid, it refuses the request.
func (s *Server) limit(q *request, absent, most int) (n int, ok bool) {
	text := q.query.Get("limit")
	if text == "" {
		return absent, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		s.refuse(q, InvalidQuery, "limit is a number from 1 to "+strconv.Itoa(most))
		return 0, false
	}
	return n, true
}

// restore serves GET /threads/{thread}/restore: the conversation at the end of a run, or at
// a position. Without a parameter the run is the last that began.
func (s *Server) restore(q *request) {
	run, at := q.query.Get("run"), q.query.Get("position")
	position, err := strconv.ParseInt(at, 10, 64)
	if at != "" && (err != nil || run != "") {
		s.refuse(q, InvalidQuery, "give either run, which is a run id, or position, which is a number")
		return
	}
	s.buildDocument(q, func() (any, bool) { return s.conversation(q, run, at, position) })
}

// conversation restores a conversation. If that fails, it answers the request.
func (s *Server) conversation(q *request, run, at string, position int64) (document any, ok bool) {
	t, err := restore.Open(q.Context(), s.settings.Log, q.key(), s.settings.Restore)
	if err != nil {
		s.fail(q, err)
		return nil, false
	}
	var result *restore.Result
	switch nodes := t.Graph.Find(q.ids[0], run); {
	case at != "":
		result, err = t.At(q.Context(), position)
	case run == "" && len(t.Graph.Nodes) == 0:
		result, err = t.At(q.Context(), t.Last)
	case run == "":
		result, err = t.Run(q.Context(), t.Graph.Nodes[len(t.Graph.Nodes)-1])
	case len(nodes) == 0:
		s.refuse(q, UnknownRun, "the thread has no run with this id")
		return nil, false
	default:
		result, err = t.Run(q.Context(), nodes[len(nodes)-1])
	}
	if err != nil {
		s.fail(q, err)
		return nil, false
	}
	return result.Row(), true
}

// enterTime is how long a request waits until a lineage, a conversation or a proof may be built.
const enterTime = 10 * time.Second

// buildDocument is like build with a JSON document.
func (s *Server) buildDocument(q *request, build func() (document any, ok bool)) {
	s.build(q, s.heavy, func() (string, []byte, bool) {
		document, ok := build()
		if !ok {
			return "", nil, false
		}
		return "application/json", s.encode(document), true
	})
}

// build answers a request with a text that needs much memory. Only as many are built at the same
// time as there are places. The place is free again before the client reads the answer. What build returns is false
// if it has answered the request itself.
func (s *Server) build(q *request, places chan struct{}, build func() (mediaType string, text []byte, ok bool)) {
	leave, ok := s.enter(q, places)
	if !ok {
		return
	}
	mediaType, text, ok := func() (string, []byte, bool) {
		defer leave()
		return build()
	}()
	if ok {
		s.writeText(q, http.StatusOK, mediaType, text)
	}
}

// enter takes a place until leave is called. If none is free in time, it refuses the request.
func (s *Server) enter(q *request, places chan struct{}) (leave func(), ok bool) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, true
	case <-time.After(enterTime):
		s.refuse(q, Overloaded, "too many answers of this kind are being built: try again")
	case <-q.Context().Done():
	}
	return nil, false
}

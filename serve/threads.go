package serve

import (
	"net/http"
	"strconv"
	"time"

	"github.com/p20export/p20export/artifact"
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
}

// listThreads serves GET /threads.
func (s *Server) listThreads(q *request) {
	limit, after := defaultThreads, q.query.Get("after")
	if text := q.query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxThreads {
			s.refuse(q, InvalidQuery, "limit is a number from 1 to "+strconv.Itoa(maxThreads))
			return
		}
		limit = n
	}
	page := threadList{Threads: []thread{}}
	for t, err := range s.settings.Log.Threads(q.Context(), store.ThreadQuery{Tenant: &q.tenant, After: store.Key{Tenant: q.tenant, Thread: after}}) {
		if err != nil {
			s.fail(q, err)
			return
		}
		if len(page.Threads) == limit {
			page.Next = &page.Threads[limit-1].ThreadID
			break
		}
		page.Threads = append(page.Threads, thread{t.Thread, t.Last, t.Runs, t.Bytes, t.Packed, t.Sealed, artifact.FormatTime(t.CreatedAt), artifact.FormatTime(t.UpdatedAt)})
	}
	s.answer(q, page)
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
	select {
	case places <- struct{}{}:
	case <-time.After(enterTime):
		s.refuse(q, Overloaded, "too many answers of this kind are being built: try again")
		return
	case <-q.Context().Done():
		return
	}
	mediaType, text, ok := func() (string, []byte, bool) {
		defer func() { <-places }()
		return build()
	}()
	if ok {
		s.writeText(q, http.StatusOK, mediaType, text)
	}
}

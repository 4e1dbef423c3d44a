package serve

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/serve/internal/guard"
	"github.com/p20export/p20export/store"
)

// A request is an HTTP request to a Server.
type request struct {
	*http.Request
	w      http.ResponseWriter
	tenant string
	ids    []string // the ids in the path
	query  url.Values
}

// A route is a path and what it serves. The path is a list of segments; an empty segment
// is an id.
type route struct {
	path []string
	get  func(*Server, *request)
	post func(*Server, *request)
	// refused says why there is no post, if that depends on the settings.
	refused string
}

// routes returns all routes.
func (s *Server) allRoutes() []route {
	events := route{path: []string{"threads", "", "events"}, get: (*Server).events, post: (*Server).append}
	if !s.settings.AllowAppend {
		events.post, events.refused = nil, ": this server does not let clients append events"
	}
	return []route{
		{path: []string{"session"}, get: (*Server).session},
		{path: []string{"threads"}, get: (*Server).listThreads},
		{path: []string{"threads", "", "entries"}, get: (*Server).listEntries},
		{path: []string{"threads", "", "entries", ""}, get: (*Server).entry},
		{path: []string{"threads", "", "export"}, get: (*Server).export},
		{path: []string{"threads", "", "runs"}, get: (*Server).listRuns},
		{path: []string{"threads", "", "restore"}, get: (*Server).restore},
		{path: []string{"threads", "", "moment"}, get: (*Server).moment},
		{path: []string{"threads", "", "messages", ""}, get: (*Server).message},
		{path: []string{"threads", "", "state"}, get: (*Server).state},
		{path: []string{"threads", "", "checkpoint"}, get: (*Server).checkpoint},
		{path: []string{"threads", "", "proof"}, get: (*Server).proof},
		{path: []string{"threads", "", "facts"}, get: (*Server).runFacts},
		{path: []string{"threads", "", "fork"}, get: (*Server).fork},
		{path: []string{"threads", "", "capture"}, get: (*Server).sendCapture},
		{path: []string{"threads", "", "report"}, get: (*Server).sendReport},
		events,
		{path: []string{"threads", "", "connect"}, post: (*Server).connect},
		{path: []string{"threads", "", "ticket"}, post: (*Server).ticket},
		{path: []string{"threads", "", "runs", "", "cancel"}, post: (*Server).cancel},
		{path: []string{"streams", ""}, get: (*Server).threadStream},
		{path: []string{"streams", "", ""}, get: (*Server).runStream},
		{path: []string{"agents"}, get: (*Server).listAgents},
		{path: []string{"agents", ""}, post: (*Server).run},
		{path: []string{"agents", "", "connect"}, post: (*Server).connectAgent},
	}
}

// route serves a request. Ids in the path may contain slashes and dots, if they are escaped.
// So package http's own router, which cleans paths and redirects, is not used.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	q := &request{Request: r, w: w, tenant: guard.Tenant(r.Context())}
	for i := range s.routes {
		route := &s.routes[i]
		ids, ok := route.match(r.URL.EscapedPath())
		if !ok {
			continue
		}
		for _, id := range ids {
			if err := store.CheckID(id); err != nil {
				s.refuse(q, InvalidID, "an id of the path: "+err.Error())
				return
			}
		}
		q.ids = ids
		var err error
		if q.query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
			s.refuse(q, InvalidQuery, "the query is malformed")
			return
		}
		for name, values := range q.query {
			if len(values) > 1 {
				s.refuse(q, InvalidQuery, "the parameter "+finding.Quote(name)+" is given more than once")
				return
			}
		}
		switch {
		case route.get != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			route.get(s, q)
		case route.post != nil && r.Method == http.MethodPost:
			route.post(s, q)
		default:
			w.Header().Set("Allow", route.allowed())
			s.refuse(q, MethodNotAllowed, "the methods of this path are "+route.allowed()+route.refused)
		}
		return
	}
	s.refuse(q, NotFound, "there is nothing at this path")
}

// match returns the ids of an escaped path, and whether the path is that of the route. Clients
// that append to the URL of an agent may leave a slash after it.
func (r *route) match(path string) (ids []string, ok bool) {
	if r.path[0] == "agents" && len(r.path) > 2 {
		path = strings.TrimSuffix(path, "/")
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(segments) != len(r.path) {
		return nil, false
	}
	for i, want := range r.path {
		segment, err := url.PathUnescape(segments[i])
		switch {
		case err != nil || segment == "" || want != "" && segments[i] != want:
			return nil, false
		case want == "":
			ids = append(ids, segment)
		}
	}
	return ids, true
}

// allowed returns the value of Allow.
func (r *route) allowed() string {
	var methods []string
	if r.get != nil {
		methods = append(methods, http.MethodGet, http.MethodHead)
	}
	if r.post != nil {
		methods = append(methods, http.MethodPost)
	}
	return strings.Join(slices.Clip(methods), ", ")
}

// key returns the thread that the path names.
func (q *request) key() store.Key { return store.Key{Tenant: q.tenant, Thread: q.ids[0]} }

package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/serve/internal/guard"
	"github.com/p20export/p20export/serve/internal/runs"
	"github.com/p20export/p20export/store"
)

// run serves POST /agents/{name}: it starts a run, or attaches to the one that the same
// request has started.
func (s *Server) run(q *request) {
	since := time.Now()
	upstream := s.settings.Agents[q.ids[0]]
	if upstream == nil {
		s.refuse(q, UnknownAgent, "there is no agent with this name")
		return
	}
	active := s.runs.Load()
	if active == nil {
		s.fail(q, runs.ErrDraining)
		return
	}
	after, err := q.cursor()
	if err != nil || after.Compacted > 0 {
		s.refuse(q, InvalidCursor, "Last-Event-ID is not an id that this path sent")
		return
	}
	body, ok := s.guard.ReadBody(q.w, q.Request)
	if !ok {
		return
	}
	var in input
	if err := in.read(body, "threadId", "runId"); err != nil {
		s.refuse(q, InvalidInput, err.Error())
		return
	}
	leave, ok := s.reader(q)
	if !ok {
		return
	}
	defer leave()
	key := store.Key{Tenant: q.tenant, Thread: in.thread}
	if after.Position > 0 {
		if t, ok := s.thread(q, key); !ok || !s.reaches(q, t, after) {
			return
		}
		if err := s.hub.Verify(q.Context(), key, after); err != nil { // before the run begins again
			s.stream(q, response{view: Run, texts: func(yield func([]byte, error) bool) { yield(nil, err) }, wait: true}, since)
			return
		}
	}
	release := guard.KeepBody(q.Context())
	a, err := active.Begin(q.Context(), runs.Request{
		Key: key, RunID: in.run, Body: body, Agent: q.ids[0], Upstream: upstream, Header: forwarded(q.Header, s.settings.PassCookies),
	})
	if err == nil && a.Started {
		// The run has the body until the agent answers, even if the client leaves.
		go func() {
			defer release()
			_ = a.Head(context.WithoutCancel(q.Context()))
		}()
	} else {
		release() // the body was only compared with that of the run
	}
	if err == nil {
		defer a.Leave()
		if a.Superseded != "" {
			q.w.Header().Set(supersededHeader, url.PathEscape(a.Superseded))
		}
		err = a.Head(q.Context())
	}
	var refused *proxy.Refused
	switch {
	case errors.As(err, &refused) && refused.Status >= http.StatusBadRequest:
		s.passOn(q, refused, a != nil && a.Started)
		return
	case err != nil:
		s.fail(q, err)
		return
	}
	s.passHeaders(q, a.Header(), true)
	p := response{view: Run, texts: s.hub.Stream(q.Context(), key, a.Stream, max(a.First, after.Position))}
	if !a.Known {
		p.wait, p.empty = true, runs.ErrNoEvents
	}
	s.stream(q, p, since)
}

// upstreamHeader names the agent in a response that has the agent's status and body. It tells
// them from refusals of this server.
const upstreamHeader = "P20export-Upstream"

// supersededHeader names the run that was cancelled to start another one, as in a path.
const supersededHeader = "P20export-Superseded"

// passOn answers with the status and the body of an agent that refused a request.
func (s *Server) passOn(q *request, refused *proxy.Refused, started bool) {
	s.passHeaders(q, refused.Header, started)
	h := q.w.Header()
	for _, name := range []string{"Content-Type", "Retry-After", "Www-Authenticate"} {
		if values := refused.Header[name]; len(values) > 0 {
			h[name] = values
		}
	}
	h.Set(upstreamHeader, q.ids[0])
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	q.w.WriteHeader(refused.Status)
	_, _ = q.w.Write(refused.Body) // the client may have left
}

// passed are the headers of an agent that a client may need. docs/serve.md lists them.
var passed = []string{
	"Content-Language", "Deprecation", "Ratelimit", "Ratelimit-Policy", "Request-Id", "Server-Timing", "Sunset", "Traceparent", "Traceresponse",
	"X-Correlation-Id", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Request-Id",
}

// maxPassed limits the bytes of a header of an agent that is passed on.
const maxPassed = 8 << 10

// passHeaders passes on headers of an agent, before the head is sent. Cookies are only for the
// client that started the run.
func (s *Server) passHeaders(q *request, from http.Header, started bool) {
	h := q.w.Header()
	pass := func(name string) bool {
		size := 0
		for _, value := range from[name] {
			size += len(value)
		}
		if size == 0 || size > maxPassed {
			return false
		}
		h[name] = slices.Clone(from[name])
		return true
	}
	for _, name := range passed {
		if pass(name) && h.Get("Access-Control-Allow-Origin") != "" {
			h.Set("Access-Control-Expose-Headers", h.Get("Access-Control-Expose-Headers")+", "+name)
		}
	}
	if s.settings.PassCookies && started {
		pass("Set-Cookie")
	}
}

// forwarded returns the headers of a request that the agent receives. What browsers and proxies
// add belongs to this server, and so do cookies, unless they are passed. Only browsers can set
// Sec- headers (WHATWG Fetch §2.2.2). The Caller removes the headers of the connection.
func forwarded(h http.Header, cookies bool) http.Header {
	to := h.Clone()
	for name := range h {
		switch name := strings.ToLower(name); name {
		case "cookie":
			if cookies {
				continue
			}
		case "origin", "referer", "last-event-id", "forwarded", "x-real-ip":
		default:
			if !strings.HasPrefix(name, "sec-") && !strings.HasPrefix(name, "x-forwarded-") {
				continue
			}
		}
		delete(to, name)
	}
	return to
}

// cancel serves POST /threads/{thread}/runs/{run}/cancel.
func (s *Server) cancel(q *request) {
	cancel := func() error { return runs.Cancel(q.Context(), s.settings.Log, q.key(), q.ids[1]) }
	if active := s.runs.Load(); active != nil {
		cancel = func() error { return active.Cancel(q.Context(), q.key(), q.ids[1]) }
	}
	if err := cancel(); err != nil {
		s.fail(q, err)
		return
	}
	s.answer(q, cancelledRun{q.ids[0], q.ids[1], "cancelled"})
}

// cancelledRun is the answer to a cancellation.
type cancelledRun struct {
	ThreadID string `json:"thread_id"`
	RunID    string `json:"run_id"`
	End      string `json:"end"`
}

// readObject reads the object that a body is.
func readObject(o *strictjson.Object, body []byte) error {
	v, err := strictjson.ReadText(o, new(strictjson.Decoder), body)
	if err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	if v.Kind != strictjson.ObjectStart {
		return errors.New("the body is not an object")
	}
	return nil
}

// input is what a Server reads of a RunAgentInput.
type input struct{ thread, run string }

// read reads ids of a RunAgentInput. The rest is for the agent.
func (in *input) read(body []byte, names ...string) error {
	var o strictjson.Object
	if err := readObject(&o, body); err != nil {
		return err
	}
	for _, name := range names {
		v, ok := o.Get(name)
		id, valid := v.Text()
		if !ok || v.Kind != strictjson.String || !valid {
			return fmt.Errorf("%s is missing or not a string", name)
		}
		if err := store.CheckID(id); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if name == "threadId" {
			in.thread = id
		} else {
			in.run = id
		}
	}
	return nil
}

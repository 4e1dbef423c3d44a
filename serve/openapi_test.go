package serve_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
)

// TestOpenAPI sends requests to which each operation of the description answers with each of
// its statuses, except untested, and compares the responses with the description.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	a, log, agent := readAPI(t), &failing{Log: newMemory(t)}, newAgent(t)
	var servers []*httptest.Server
	serving := func(s serve.Settings) *process {
		p := start(t, log, agent, s)
		described := httptest.NewServer(a.described(t, p.server))
		t.Cleanup(described.Close)
		t.Cleanup(described.CloseClientConnections)
		servers = append(servers, described)
		p.url = described.URL
		return p
	}
	recorded, closed := captures(t)
	p := serving(serve.Settings{AllowAppend: true, PollTime: 10 * time.Millisecond, Exchanges: recorded, Report: page})

	// A run that is open, one that has ended, and a thread that is deleted.
	_, open := p.begin(agent, "open", "r")
	c, ended := p.begin(agent, "ended", "r")
	c.send(finished("ended", "r"))
	c.end()
	ended.text()
	closed.next(t)
	for _, thread := range []string{"deleted", "gone"} {
		c, answer := p.begin(agent, thread, "r")
		c.send(finished(thread, "r"))
		c.end()
		answer.text()
		if _, err := log.Delete(t.Context(), store.Key{Thread: thread}); err != nil {
			t.Fatal(err)
		}
	}
	o := newOperator(t)
	o.seal(t, log, store.Key{Thread: "ended"})
	fill(t, log, store.Key{Thread: "rewritten"}, "r")
	log.rewritten.Store(true)
	o.seal(t, log, store.Key{Thread: "rewritten"})
	log.rewritten.Store(false)
	for _, path := range []string{"/streams/ended", "/streams/ended/r", "/threads/ended/checkpoint"} {
		p.get(path, "If-None-Match", p.get(path).header.Get("ETag")).want(http.StatusNotModified, "")
	}
	for _, r := range []struct {
		status       int
		method, path string
		body         string
	}{
		{200, "GET", "/threads", ""},
		{200, "HEAD", "/threads", ""},
		{200, "GET", "/threads?limit=1", ""},
		{400, "GET", "/threads?limit=0", ""},
		{200, "GET", "/threads?order=newest&limit=1", ""},
		{400, "GET", "/threads?order=oldest", ""},
		{200, "GET", "/session", ""},
		{400, "GET", "/session?x=1&x=2", ""},
		{200, "GET", "/threads/ended/entries", ""},
		{400, "GET", "/threads/ended/entries?after=-1", ""},
		{404, "GET", "/threads/none/entries", ""},
		{410, "GET", "/threads/deleted/entries", ""},
		{200, "GET", "/threads/ended/entries/2", ""},
		{400, "GET", "/threads/ended/entries/x", ""},
		{404, "GET", "/threads/ended/entries/1000", ""},
		{410, "GET", "/threads/deleted/entries/1", ""},
		{200, "GET", "/threads/ended/export", ""},
		{200, "HEAD", "/threads/ended/export", ""},
		{400, "GET", "/threads/%FF/export", ""},
		{404, "GET", "/threads/none/export", ""},
		{410, "GET", "/threads/deleted/export", ""},
		{200, "GET", "/threads/open/runs", ""},
		{400, "GET", "/threads/%00/runs", ""},
		{404, "GET", "/threads/none/runs", ""},
		{410, "GET", "/threads/deleted/runs", ""},
		{405, "POST", "/threads/open/runs", ""},
		{200, "GET", "/threads/open/restore", ""},
		{200, "GET", "/threads/ended/restore?run=r", ""},
		{400, "GET", "/threads/open/restore?position=x", ""},
		{404, "GET", "/threads/open/restore?run=none", ""},
		{410, "GET", "/threads/deleted/restore", ""},
		{200, "GET", "/threads/open/moment", ""},
		{200, "HEAD", "/threads/open/moment?position=1", ""},
		{200, "GET", "/threads/ended/moment?position=2&from=0&limit=1", ""},
		{400, "GET", "/threads/open/moment?position=99", ""},
		{404, "GET", "/threads/none/moment", ""},
		{410, "GET", "/threads/deleted/moment", ""},
		{200, "GET", "/threads/ended/messages/0", ""},
		{400, "GET", "/threads/ended/messages/0?position=x", ""},
		{404, "GET", "/threads/ended/messages/99", ""},
		{404, "GET", "/threads/ended/messages/-1", ""},
		{410, "GET", "/threads/deleted/messages/0", ""},
		{200, "GET", "/threads/ended/state?position=1", ""},
		{400, "GET", "/threads/ended/state?position=0", ""},
		{404, "GET", "/threads/none/state", ""},
		{410, "GET", "/threads/deleted/state", ""},
		{200, "GET", "/threads/ended/checkpoint", ""},
		{400, "GET", "/threads/%FF/checkpoint", ""},
		{404, "GET", "/threads/open/checkpoint", ""},
		{410, "GET", "/threads/deleted/checkpoint", ""},
		{200, "GET", "/threads/ended/proof?at=1", ""},
		{200, "GET", "/threads/ended/proof?run=r", ""},
		{400, "GET", "/threads/ended/proof", ""},
		{404, "GET", "/threads/open/proof?at=1", ""},
		{409, "GET", "/threads/rewritten/proof?at=1", ""},
		{410, "GET", "/threads/deleted/proof?at=1", ""},
		{200, "GET", "/threads/ended/facts?run=2", ""},
		{200, "GET", "/threads/open/facts?run=2", ""},
		{400, "GET", "/threads/ended/facts?run=x", ""},
		{404, "GET", "/threads/ended/facts?run=1", ""},
		{410, "GET", "/threads/deleted/facts?run=2", ""},
		{200, "GET", "/threads/ended/fork?run=2&run_id=new", ""},
		{200, "GET", "/threads/open/fork?run=2&run_id=new&form=normalized", ""},
		{400, "GET", "/threads/ended/fork?run=2", ""},
		{400, "GET", "/threads/ended/fork?run=2&run_id=new&form=none", ""},
		{404, "GET", "/threads/ended/fork?run=1&run_id=new", ""},
		{409, "GET", "/threads/ended/fork?run=2&run_id=r", ""},
		{410, "GET", "/threads/deleted/fork?run=2&run_id=new", ""},
		{200, "GET", "/threads/ended/capture?run=2", ""},
		{200, "HEAD", "/threads/ended/capture?run=2", ""},
		{400, "GET", "/threads/ended/capture", ""},
		{404, "GET", "/threads/open/capture?run=2", ""},
		{410, "GET", "/threads/deleted/capture?run=2", ""},
		{200, "GET", "/threads/ended/report?run=2", ""},
		{200, "HEAD", "/threads/ended/report?run=2", ""},
		{400, "GET", "/threads/ended/report?run=0", ""},
		{404, "GET", "/threads/rewritten/report?run=2", ""},
		{410, "GET", "/threads/deleted/report?run=2", ""},
		{200, "GET", "/threads/open/events?follow=false", ""},
		{200, "GET", "/threads/none/events?follow=false&view=compact", ""},
		{400, "GET", "/threads/open/events?view=none", ""},
		{400, "GET", "/threads/open/events?after=x", ""},
		{410, "GET", "/threads/deleted/events", ""},
		{200, "POST", "/threads/ended/connect", input("ended", "any")},
		{200, "POST", "/threads/none/connect", input("none", "any")},
		{400, "POST", "/threads/open/connect", input("other", "any")},
		{410, "POST", "/threads/deleted/connect", input("deleted", "any")},
		{200, "POST", "/agents/a/connect", input("ended", "any")},
		{200, "POST", "/agents/a/connect/", input("none", "any")},
		{400, "POST", "/agents/a/connect", `{"threadId":1}`},
		{404, "POST", "/agents/none/connect", input("ended", "any")},
		{410, "POST", "/agents/a/connect", input("deleted", "any")},
		{200, "POST", "/threads/none/ticket", ""},
		{400, "POST", "/threads/%FF/ticket", ""},
		{410, "POST", "/threads/deleted/ticket", ""},
		{400, "POST", "/threads/%FF/runs/r/cancel", ""},
		{404, "POST", "/threads/open/runs/none/cancel", ""},
		{409, "POST", "/threads/ended/runs/r/cancel", ""},
		{410, "POST", "/threads/deleted/runs/r/cancel", ""},
		{400, "POST", "/agents/a", `[]`},
		{404, "POST", "/agents/none", input("t", "r")},
		{409, "POST", "/agents/a", input("open", "other")},
		{409, "POST", "/agents/a", input("ended", "r") + " "},
		{410, "POST", "/agents/a", input("deleted", "r")},
		{200, "POST", "/threads/appended/events", batch("appended", "r", 0, started("appended", "r"))},
		{400, "POST", "/threads/appended/events", batch("appended", "other", 0, finished("appended", "other"))},
		{409, "POST", "/threads/appended/events", batch("appended", "r", 2, finished("appended", "r"))},
		{409, "POST", "/threads/open/events", batch("open", "other", 0, started("open", "other"))},
		{200, "POST", "/threads/appended/events", batch("appended", "r", 1, finished("appended", "r"))},
		{410, "POST", "/threads/deleted/events", batch("deleted", "r", 0, started("deleted", "r"))},
		{200, "GET", "/agents", ""},
		{200, "GET", "/streams/ended", ""},
		{200, "GET", "/streams/ended/r?offset=-1&live=sse", ""},
		{200, "HEAD", "/streams/open/r", ""},
		{200, "GET", "/streams/ended/r?offset=-1&live=long-poll", ""},
		{204, "GET", "/streams/ended/r?offset=now&live=long-poll", ""},
		{204, "GET", "/streams/ended?offset=now&live=long-poll", ""},
		{400, "GET", "/streams/ended?live=sse", ""},
		{400, "GET", "/streams/ended/r?offset=1", ""},
		{404, "GET", "/streams/none", ""},
		{404, "GET", "/streams/ended/none", ""},
		{410, "GET", "/streams/deleted", ""},
		{410, "GET", "/streams/deleted/r", ""},
		{410, "GET", "/streams/ended?offset=0000000000000002-00000001", ""},
		{200, "POST", "/threads/open/runs/r/cancel", ""}, // the last that needs the run
		{404, "GET", "/", ""},
		{404, "GET", "/threads/", ""},
	} {
		answer := p.do(r.method, r.path, r.body)
		if answer.text(); answer.status != r.status {
			t.Errorf("%s %s: status %d, want %d", r.method, r.path, answer.status, r.status)
		}
	}
	open.text()

	// What the agent answers, or does not.
	for _, status := range []int{http.StatusOK, http.StatusTeapot} {
		go func() { agent.next().refuse(status, "no events") }()
		p.post("/agents/a", input("refused", "r")).want(map[int]int{200: 502, 418: 418}[status], "")
	}
	serving(serve.Settings{Exchanges: proxy.Settings{Timeout: time.Millisecond}}).post("/agents/a", input("slow", "r")).want(http.StatusGatewayTimeout, "agent_timeout")
	serving(serve.Settings{Limits: serve.Limits{Threads: 1}}).post("/agents/a", input("another", "r")).want(http.StatusForbidden, "too_many_threads")

	// What is refused before the path counts, and the log that is away.
	guarded := serving(serve.Settings{Guard: serve.GuardSettings{TokenFile: tokens(t), MaxRequestBytes: 1000}})
	guarded.post("/threads/open/events", "{}", "Authorization", "Bearer "+token).want(http.StatusMethodNotAllowed, "method_not_allowed")
	log.away.Store(true)
	for path, operations := range a.Paths {
		path = strings.NewReplacer("{thread}", "open", "{run}", "r", "{agent}", "a", "{position}", "1", "{index}", "0").Replace(path)
		for method := range operations {
			method = strings.ToUpper(method)
			body := input("open", "new")
			if path == "/threads/open/events" {
				body = batch("open", "new", 0, started("open", "new"))
			}
			path += map[string]string{
				"/threads/open/proof": "?at=1", "/threads/open/facts": "?run=2", "/threads/open/fork": "?run=2&run_id=new", "/threads/open/capture": "?run=2", "/threads/open/report": "?run=2",
			}[path]
			if path != "/agents" && path != "/session" {
				p.refuses(503, "log_failed", method, path, body, nil)
			}
			p.refuses(403, "origin_not_allowed", method, path, "", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") })
			p.refuses(421, "host_not_allowed", method, path, "", func(r *http.Request) { r.Host = "evil.example" })
			guarded.refuses(401, "unauthorized", method, path, "", nil)
			if method == http.MethodPost {
				p.refuses(415, "unsupported_media_type", method, path, "", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") })
				guarded.refuses(413, "body_too_large", method, path, strings.Repeat(" ", 1001), func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
			}
		}
	}
	for _, s := range servers {
		s.Close() // waits until the responses were compared
	}
	missing := slices.DeleteFunc(a.missing(), func(at string) bool {
		// A body that arrives slowly needs half a minute, and a thread with too many runs, a
		// run with too many events, or a large conversation much memory.
		return strings.HasSuffix(at, " 408") || at == "GET /threads/{thread}/runs 422" || at == "GET /threads/{thread}/proof 422" || at == "GET /threads/{thread}/fork 422"
	})
	if len(missing) > 0 {
		t.Errorf("not seen: %q", missing)
	}
}

// refuses sends a request that is changed first, and checks the status and the code.
func (p *process) refuses(status int, code, method, path, body string, change func(*http.Request)) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Body = io.NopCloser(strings.NewReader(body))
		r.ContentLength = int64(len(body))
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status || !strings.Contains(string(text), `"code":"`+code+`"`) {
		p.t.Errorf("%s %s: status %d, %v, want %d %s: %s", method, path, response.StatusCode, err, status, code, text)
	}
}

const token = "0123456789abcdef0123456789abcdef"

// tokens returns a file with the token.
func tokens(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, fmt.Appendf(nil, "alice sha256:%x\n", sha256.Sum256([]byte(token))), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

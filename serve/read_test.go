package serve_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
)

// fill appends runs to a thread.
func fill(t *testing.T, log store.Log, key store.Key, runs ...string) {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	last := int64(0)
	for _, run := range runs {
		var err error
		last, err = log.Append(t.Context(), key, last, []store.Entry{
			{Stream: run, Kind: store.Input, Arrived: at, Data: []byte(input(key.Thread, run))},
			{Stream: run, Kind: store.Event, Arrived: at, Data: []byte(started(key.Thread, run))},
			{Stream: run, Kind: store.Event, Arrived: at, Data: []byte(`{"type":"STATE_SNAPSHOT","snapshot":{"run":"` + run + `"}}`)},
			{Stream: run, Kind: store.Event, Arrived: at, Data: []byte(finished(key.Thread, run))},
			{Stream: run, Kind: store.End, Arrived: at, Data: []byte("eof")},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// decode decodes a JSON answer.
func (a *answer) decode(into any) {
	a.t.Helper()
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		a.t.Fatalf("status %d, %s: %s", a.status, a.header.Get("Content-Type"), a.text())
	}
	if err := json.Unmarshal([]byte(a.text()), into); err != nil {
		a.t.Fatal(err)
	}
}

// Ids with any characters work in paths, in queries and in bodies.
func TestIDs(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		for _, id := range []string{
			"..", ".", "a/b", "/", "../threads", "%2F", "a b+c?d#e&f=g;h", "é\u0301👩\u200d🔬", "\n\r\t\x01", `"\`, "runs", strings.Repeat("é", 512),
		} {
			key := store.Key{Thread: id}
			path := "/threads/" + url.PathEscape(id)
			if strings.Trim(id, ".") == "" {
				path = "/threads/" + strings.ReplaceAll(id, ".", "%2e")
			}
			go func() {
				c := a.next()
				c.accept()
				c.send(`{"type":"RUN_STARTED","threadId":"x","runId":"x"}`) // it need not be true
				<-c.left
			}()
			body, err := json.Marshal(map[string]any{"threadId": id, "runId": id})
			if err != nil {
				t.Fatal(err)
			}
			first := p.post("/agents/a", string(body))
			same(t, first.event(), `2 {"type":"RUN_STARTED","threadId":"x","runId":"x"}`)
			same(t, p.get(path+"/events").event(), `2 {"type":"RUN_STARTED","threadId":"x","runId":"x"}`)
			run := url.PathEscape(id)
			if strings.Trim(id, ".") == "" {
				run = strings.ReplaceAll(id, ".", "%2e")
			}
			p.post(path+"/runs/"+run+"/cancel", "").want(http.StatusOK, "cancelled")
			first.wantClosing("cancelled")
			var runs struct {
				ThreadID string `json:"thread_id"`
				Runs     []struct{ Position int64 }
			}
			p.get(path + "/runs").decode(&runs)
			if runs.ThreadID != id || len(runs.Runs) != 1 || runs.Runs[0].Position != 2 {
				t.Errorf("%q: %+v", id, runs)
			}
			p.get(path+"/restore?run=x").want(http.StatusOK, `"run_id":"x"`)
			if thread, err := log.Thread(t.Context(), key); err != nil || thread.Last != 4 {
				t.Errorf("%q: %+v, %v", id, thread, err)
			}
		}
	})
}

// What is wrong with a request is said in a problem document.
func TestRefusals(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	fill(t, log, store.Key{Thread: "t"}, "r")
	p := start(t, log, newAgent(t), serve.Settings{})
	long := strings.Repeat("x", store.MaxIDBytes+1)
	for _, c := range []struct {
		method, path, body string
		status             int
		code               serve.Refusal
	}{
		{"GET", "/", "", 404, serve.NotFound},
		{"GET", "/threads/", "", 404, serve.NotFound},
		{"GET", "//threads", "", 404, serve.NotFound},
		{"GET", "/threads/t", "", 404, serve.NotFound},
		{"GET", "/threads/t/events/", "", 404, serve.NotFound},
		{"GET", "/threads//events", "", 404, serve.NotFound},
		{"GET", "/threads/../threads", "", 404, serve.NotFound},
		{"GET", "/threads/t/../t/events", "", 404, serve.NotFound},
		{"GET", "/threads%2Ft%2Fevents", "", 404, serve.NotFound},
		{"GET", "/threads/%FF/events", "", 400, serve.InvalidID},
		{"GET", "/threads/%00/runs", "", 400, serve.InvalidID},
		{"GET", "/threads/" + long + "/restore", "", 400, serve.InvalidID},
		{"POST", "/threads", "", 405, serve.MethodNotAllowed},
		{"DELETE", "/threads/t/events", "", 405, serve.MethodNotAllowed},
		{"GET", "/agents/a", "", 405, serve.MethodNotAllowed},
		{"GET", "/threads/t/runs/r/cancel", "", 405, serve.MethodNotAllowed},
		{"GET", "/threads?limit=0", "", 400, serve.InvalidQuery},
		{"GET", "/threads?limit=1001", "", 400, serve.InvalidQuery},
		{"GET", "/threads?limit=x", "", 400, serve.InvalidQuery},
		{"GET", "/threads?after=%00", "", 400, serve.InvalidID},
		{"GET", "/threads/t/events?after=-1", "", 400, serve.InvalidCursor},
		{"GET", "/threads/t/events?after=x", "", 400, serve.InvalidCursor},
		{"GET", "/threads/t/events?after=1.1", "", 400, serve.InvalidCursor},
		{"GET", "/threads/t/events?after=6", "", 400, serve.InvalidCursor},
		{"GET", "/threads/t/events?after=6.1&view=compact", "", 400, serve.InvalidCursor},
		{"GET", "/threads/u/events?after=1", "", 400, serve.InvalidCursor},
		{"GET", "/threads/t/events?after=%zz", "", 400, serve.InvalidQuery},
		{"GET", "/threads/t/events?follow=false;after=3", "", 400, serve.InvalidQuery},
		{"GET", "/threads/t/events?after=1&after=2", "", 400, serve.InvalidQuery},
		{"POST", "/agents/a?after=6", input("t", "r"), 400, serve.InvalidCursor},
		{"GET", "/threads/t/events?view=x", "", 400, serve.InvalidQuery},
		{"GET", "/threads/t/events?follow=x", "", 400, serve.InvalidQuery},
		{"GET", "/threads/u/runs", "", 404, serve.UnknownThread},
		{"GET", "/threads/u/restore", "", 404, serve.UnknownThread},
		{"GET", "/threads/t/restore?run=x", "", 404, serve.UnknownRun},
		{"GET", "/threads/t/restore?position=9", "", 400, serve.InvalidQuery},
		{"GET", "/threads/t/restore?position=0", "", 400, serve.InvalidQuery},
		{"GET", "/threads/t/restore?position=x", "", 400, serve.InvalidQuery},
		{"GET", "/threads/t/restore?position=1&run=r", "", 400, serve.InvalidQuery},
		{"POST", "/threads/t/runs/r/cancel", "", 404, serve.UnknownRun}, // a run of another program
		{"POST", "/agents/b", input("t", "r"), 404, serve.UnknownAgent},
		{"POST", "/agents/a", "", 400, serve.InvalidInput},
		{"POST", "/agents/a", "[]", 400, serve.InvalidInput},
		{"POST", "/agents/a", `{"threadId":"t"}`, 400, serve.InvalidInput},
		{"POST", "/agents/a", `{"threadId":"t","runId":1}`, 400, serve.InvalidInput},
		{"POST", "/agents/a", `{"threadId":"t","runId":""}`, 400, serve.InvalidInput},
		{"POST", "/agents/a", `{"threadId":"\u0000","runId":"r"}`, 400, serve.InvalidInput},
		{"POST", "/agents/a", `{"threadId":"t","runId":"\ud800"}`, 400, serve.InvalidInput},
		{"POST", "/agents/a", `{"threadId":"t","runId":"r","runId":"s"}`, 400, serve.InvalidInput},
		{"POST", "/agents/a", `{"threadId":"t","runId":"` + long + `"}`, 400, serve.InvalidInput},
		{"POST", "/agents/a?after=x", input("t", "r"), 400, serve.InvalidCursor},
	} {
		answer := p.do(c.method, c.path, c.body)
		if answer.status != c.status || answer.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %.40s %.40s: %d, %s", c.method, c.path, c.body, answer.status, answer.header.Get("Content-Type"))
		}
		if text := answer.text(); !strings.Contains(text, `"code":"`+string(c.code)+`"`) {
			t.Errorf("%s %.40s %.40s: %s, want %s", c.method, c.path, c.body, text, c.code)
		}
		if allow := answer.header.Get("Allow"); (allow != "") != (c.status == 405) {
			t.Errorf("%s %s: Allow is %q", c.method, c.path, allow)
		}
	}
}

// The list of threads has pages. A tenant is not shown to others.
func TestThreads(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		for _, id := range []string{"a", "b", "b/c", "d"} {
			fill(t, log, store.Key{Thread: id}, "r")
		}
		fill(t, log, store.Key{Tenant: "x", Thread: "b"}, "r")
		p := start(t, log, nil, serve.Settings{})
		var got []string
		for path := "/threads?limit=2"; path != ""; {
			var page struct {
				Threads []struct {
					ID   string `json:"thread_id"`
					Runs int
				}
				Next *string
			}
			p.get(path).decode(&page)
			if path = ""; page.Next != nil {
				path = "/threads?limit=2&after=" + url.QueryEscape(*page.Next)
			}
			for _, thread := range page.Threads {
				got = append(got, thread.ID)
			}
		}
		same(t, got, []string{"a", "b", "b/c", "d"})
		p.get("/threads?after=d").want(http.StatusOK, `{"threads":[],"next":null}`)
		head := p.do(http.MethodHead, "/threads", "")
		same(t, head.status, http.StatusOK)
		same(t, p.do(http.MethodHead, "/threads/a/events", "").header.Get("Content-Type"), "text/event-stream")
		p.post("/agents/a", input("a", "r")).want(http.StatusNotFound, "unknown_agent")
	})
}

// Lineage and conversations have the keys of the commands.
func TestDocuments(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	fill(t, log, store.Key{Thread: "t"}, "r1", "r2")
	p := start(t, log, nil, serve.Settings{})
	same(t, p.get("/threads").text()[:101], `{"threads":[{"thread_id":"t","entries":10,"runs":2,"bytes":594,"packed":0,"sealed":0,"created_at":"20`)
	same(t, p.get("/threads/t/runs").text(), `{"thread_id":"t","sealed":0,"runs":[`+
		`{"agent":null,"number":1,"run_id":"r1","parent_run_id":null,"parent":null,"edge":"root","branch":1,"depth":0,"source":"r1","position":2,"events":3,"started_at":"2026-01-02T03:04:05Z","last_at":"2026-01-02T03:04:05Z","end":"finished","closing_code":null},`+
		`{"agent":null,"number":2,"run_id":"r2","parent_run_id":null,"parent":1,"edge":"implied","branch":1,"depth":1,"source":"r2","position":7,"events":3,"started_at":"2026-01-02T03:04:05Z","last_at":"2026-01-02T03:04:05Z","end":"finished","closing_code":null}],`+
		`"branches":[{"number":1,"from":null,"level":0,"runs":2,"first":1,"last":2}],"findings":[]}`)
	restored := `{"thread_id":"t","position":4,"run":2,"run_id":"r1","end":"finished","messages":[{"id":"u-r1","role":"user","content":"Hello."}],"state":{"run":"r1"},"known":true,` +
		`"pending_tool_calls":[],"interrupts":[],"used":[2],"entries":4,"findings":[]}`
	same(t, p.get("/threads/t/restore?run=r1").text(), restored)
	same(t, p.get("/threads/t/restore?position=4").text(), restored)
	p.get("/threads/t/restore").want(http.StatusOK, `"run_id":"r2"`)
}

// A reader gets the history and then what follows, from any place. Without follow it gets the
// history.
func TestEvents(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		key := store.Key{Thread: "t"}
		early := start(t, log, nil, serve.Settings{Idle: 10 * time.Millisecond}).get("/threads/t/events")
		same(t, early.status, http.StatusOK)
		p := start(t, log, nil, serve.Settings{}) // writes no comments
		p.get("/threads/t/events?follow=false").want(http.StatusOK, "")
		line, err := early.body.ReadString('\n')
		same(t, line, ":\n")
		same(t, err, nil)
		fill(t, log, key, "r")
		events := []string{"2 " + started("t", "r"), `3 {"type":"STATE_SNAPSHOT","snapshot":{"run":"r"}}`, "4 " + finished("t", "r")}
		same(t, early.events(3), events)
		for after, want := range [][]string{events, events, events[1:], events[2:], nil, nil} {
			id := string(rune('0' + after))
			for _, answer := range []*answer{
				p.get("/threads/t/events?follow=false&after=" + id), p.get("/threads/t/events?follow=false&after=1", "Last-Event-ID", id),
			} {
				same(t, answer.events(len(want)), want)
				same(t, answer.text(), "")
			}
		}
		same(t, p.get("/threads/t/events?view=compact&follow=false").event(), "1.1 "+started("t", "r"))
		if _, err := log.Append(t.Context(), key, 5, []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte("a\nb\r\nc")}}); err != nil {
			t.Fatal(err)
		}
		if text := p.get("/threads/t/events?follow=false&after=5").text(); !strings.HasPrefix(text, "id: 6-") || !strings.HasSuffix(text, "\ndata: a\ndata: b\ndata: c\n\n") {
			t.Errorf("%q", text)
		}
	})
}

// A client that joins without ids gets a prelude, and then the live events of the run.
func TestConnect(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		p.post("/threads/t/connect", input("t", "x")).want(http.StatusOK, "")
		for _, body := range []string{"", "{}", input("u", "x"), `{"threadId":1}`} {
			p.post("/threads/t/connect", body).want(http.StatusBadRequest, `"code":"invalid_input"`)
		}
		p.post("/threads/t/connect?follow=x", input("t", "x")).want(http.StatusBadRequest, `"code":"invalid_query"`)
		follower := p.post("/threads/t/connect?follow=true", `{"threadId":"t"}`)
		c, first := p.begin(a, "t", "r")
		open := `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`
		c.send(open)
		first.event()
		joined := p.post("/threads/t/connect", input("t", "x"))
		same(t, joined.event(), " "+started("t", "r"))
		if e := joined.event(); !strings.Contains(e, `"MESSAGES_SNAPSHOT"`) || !strings.Contains(e, "u-r") {
			t.Error(e)
		}
		for _, answer := range []*answer{joined, follower} {
			for !strings.HasPrefix(answer.event(), "3 ") {
			}
		}
		content := `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}`
		end := `{"type":"TEXT_MESSAGE_END","messageId":"m"}`
		c.send(content, end, finished("t", "r"))
		c.end()
		rest := []string{"4 " + content, "5 " + end, "6 " + finished("t", "r")}
		same(t, joined.events(3), rest)
		same(t, joined.text(), "")
		same(t, follower.events(3), rest)
		first.events(3)
		same(t, first.text(), "")
		want := p.post("/threads/t/connect", input("t", "x")).text()
		for _, path := range []string{"/agents/a/connect", "/agents/a/connect/"} {
			same(t, p.post(path, input("t", "x")).text(), want)
		}
		c, _ = p.begin(a, "t", "r2")
		same(t, follower.event(), " "+started("t", "r2"))
		if _, err := log.Delete(t.Context(), store.Key{Thread: "t"}); err != nil {
			t.Fatal(err)
		}
		<-c.left
		follower.broken()
		p.post("/threads/t/connect", input("t", "x")).want(http.StatusGone, "thread_deleted")
	})
}

// A client that joins before the agent has sent anything waits for the run. So does one of
// another process.
func TestConnectEarly(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	fill(t, log, store.Key{Thread: "t"}, "before")
	a := newAgent(t)
	owner := start(t, log, a, serve.Settings{Idle: time.Millisecond})
	other := start(t, log, nil, serve.Settings{Idle: time.Millisecond})
	var posts sync.WaitGroup
	defer posts.Wait()
	posts.Go(func() { owner.post("/agents/a", input("t", "r")) })
	c := a.next()
	early := []*answer{owner.post("/threads/t/connect", input("t", "x")), other.post("/threads/t/connect", input("t", "x"))}
	for _, answer := range early {
		line, err := answer.body.ReadString('\n')
		same(t, line, ":\n")
		same(t, err, nil)
	}
	c.accept()
	c.send(started("t", "r"))
	for _, answer := range early {
		same(t, answer.event(), " "+started("t", "r"))
		if e := answer.event(); !strings.Contains(e, "u-r") {
			t.Errorf("the request is missing in %s", e)
		}
	}
	c.send(finished("t", "r"))
	c.end()
	for _, answer := range early {
		if text := answer.text(); !strings.Contains(text, finished("t", "r")) {
			t.Error(text)
		}
	}

	// A request that comes to nothing leaves the run before it.
	posts.Go(func() { owner.post("/agents/a", input("t", "refused")) })
	c = a.next()
	answer := other.post("/threads/t/connect", input("t", "x"))
	c.refuse(http.StatusBadRequest, "no")
	same(t, answer.event(), " "+started("t", "r"))
	if text := answer.text(); !strings.Contains(text, finished("t", "r")) {
		t.Error(text)
	}
}

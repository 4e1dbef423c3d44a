package serve_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
)

// An agent that refuses a request is passed on, and the request can be sent again, also with
// another body.
func TestRefusedByAgent(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		for i := range 3 {
			go func() { a.next().refuse(http.StatusTooManyRequests, "wait") }()
			answer := p.post("/agents/a", input("t", "r"))
			same(t, answer.header.Get("Content-Type"), "text/plain")
			same(t, answer.header.Values("P20export-Upstream"), []string{"a"})
			answer.want(http.StatusTooManyRequests, "wait")
			same(t, p.ended(i+1), serve.Refused)
		}
		go func() { a.next().refuse(http.StatusOK, "hello") }()
		answer := p.post("/agents/a", input("t", "r"))
		same(t, answer.header.Values("P20export-Upstream"), nil)
		answer.want(http.StatusBadGateway, `"code":"agent_not_streaming"`)
		go func() { a.next().refuse(http.StatusFound, "") }()
		p.post("/agents/a", input("t", "r")).want(http.StatusBadGateway, `"code":"agent_not_streaming"`)
		p.ended(5)
		body := input("t", "r") + " "
		go func() {
			c := a.next()
			c.accept()
			c.send(started("t", "r"), finished("t", "r"))
			c.end()
		}()
		answer = p.post("/agents/a", body)
		same(t, answer.events(2), []string{"12 " + started("t", "r"), "13 " + finished("t", "r")})
		p.post("/agents/a", input("t", "r")).want(http.StatusConflict, "run_differs")
		p.ended(6)
		for s, err := range log.Streams(t.Context(), store.StreamQuery{}) {
			if err != nil || !s.Ended {
				t.Error(s, err)
			}
		}
	})
}

// An agent that cannot be reached, or does not answer in time, has a status of its own.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	gone := newAgent(t)
	gone.url, _ = url.Parse("http://127.0.0.1:1/")
	start(t, newMemory(t), gone, serve.Settings{}).post("/agents/a", input("t", "r")).want(http.StatusBadGateway, `"code":"agent_failed"`)
	// The agent holds the first request, and begins to answer the second.
	p := start(t, newMemory(t), a, serve.Settings{Exchanges: proxy.Settings{Timeout: time.Second}})
	p.post("/agents/a", input("t", "r")).want(http.StatusGatewayTimeout, `"code":"agent_timeout"`)
	same(t, p.ended(1), serve.TimedOut)
	open := newAgent(t)
	p = start(t, newMemory(t), open, serve.Settings{Exchanges: proxy.Settings{Timeout: 5 * time.Second}})
	c, answer := p.begin(open, "t", "r")
	<-c.left
	answer.wantClosing("timeout")
	same(t, p.ended(1), serve.TimedOut)
}

// A request whose stream an older release has begun, without the name of the agent, is found
// again. Only one that led to no run is sent again, by this release.
func TestStreamsOfOlderReleases(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		key, older := store.Key{Thread: "t"}, "serve:454349e422f05297191ead13:1" // of the run r
		list := []store.Entry{{Stream: older, Kind: store.Input, Data: []byte(input("t", "r"))}, {Stream: older, Kind: store.End, Data: []byte("error")}}
		if _, err := log.Append(t.Context(), key, 0, list); err != nil {
			t.Fatal(err)
		}
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		c, answer := p.begin(a, "t", "r")
		c.send(finished("t", "r"))
		c.end()
		answer.text()
		p.ended(1)
		var page entryPage
		p.get("/threads/t/entries").decode(&page)
		same(t, page.Streams, []string{older, "serve:454349e422f05297191ead13:2@a"})

		key.Thread = "finished"
		list = []store.Entry{
			{Stream: older, Kind: store.Input, Data: []byte(input("finished", "r"))}, {Stream: older, Kind: store.Event, Data: []byte(started("finished", "r"))},
			{Stream: older, Kind: store.Event, Data: []byte(finished("finished", "r"))}, {Stream: older, Kind: store.End, Data: []byte("eof")},
		}
		if _, err := log.Append(t.Context(), key, 0, list); err != nil {
			t.Fatal(err)
		}
		p.post("/agents/a", input("finished", "r")).want(http.StatusOK, finished("finished", "r"))
		p.post("/agents/a", input("finished", "r")+" ").want(http.StatusConflict, "run_differs")
		p.post("/threads/finished/runs/r/cancel", "").want(http.StatusConflict, "run_ended")
		if len(a.calls) > 0 {
			t.Error("the agent was called again")
		}
	})
}

package serve_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// same compares what a test got with what it wants.
func same[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A run goes on when its client leaves. The answer, and what other clients read, have the
// events of the agent byte for byte.
func TestDetached(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		go func() {
			c := a.next()
			c.accept()
			c.send(started("t", "r"), `{"type":"CUSTOM",  "name":"é","value":1}`)
			a.calls <- c
		}()
		first := p.post("/agents/a", input("t", "r"), "X-Custom", "v", "Cookie", "secret=1", "Last-Event-ID", "0",
			"X-Forwarded-For", "192.0.2.1", "X-Forwarded-User", "ann", "x-forwarded-port", "1", "X-Forwarded-Prefix", "/p", "Forwarded", "for=x", "X-Real-IP", "192.0.2.1",
			"Sec-Fetch-Storage-Access", "none", "Sec-Fetch-Site", "same-origin", "Sec-CH-UA", "x")
		same(t, first.status, http.StatusOK)
		same(t, first.header.Get("Content-Type"), "text/event-stream")
		same(t, first.events(2), []string{"2 " + started("t", "r"), `3 {"type":"CUSTOM",  "name":"é","value":1}`})
		c := a.next()
		same(t, c.body, input("t", "r"))
		same(t, []string{c.header.Get("X-Custom"), c.header.Get("Cookie"), c.header.Get("Last-Event-Id"), c.header.Get("Accept")},
			[]string{"v", "", "", "text/event-stream"})
		for name := range c.header {
			if name := strings.ToLower(name); strings.Contains(name, "forwarded") || strings.HasPrefix(name, "sec-") || name == "x-real-ip" {
				t.Errorf("the agent receives %s", name)
			}
		}
		first.close()

		second := p.get("/threads/t/events?after=2")
		same(t, second.event(), `3 {"type":"CUSTOM",  "name":"é","value":1}`)
		third := p.post("/agents/a", input("t", "r"), "Last-Event-ID", "3")
		c.send(step(2), finished("t", "r"))
		c.end()
		want := []string{"4 " + step(2), "5 " + finished("t", "r")}
		same(t, second.events(2), want)
		same(t, third.events(2), want)
		same(t, third.text(), "")
		same(t, p.ended(1), serve.Finished)
		same(t, entries(t, log, "t"), []string{
			"input " + input("t", "r"), "event " + started("t", "r"), `event {"type":"CUSTOM",  "name":"é","value":1}`,
			"event " + step(2), "event " + finished("t", "r"), "end eof",
		})
		whole := p.post("/agents/a", input("t", "r"))
		same(t, len(whole.events(4)), 4)
		same(t, whole.text(), "")
		p.post("/agents/a", strings.Replace(input("t", "r"), "Hello", "Hullo", 1)).want(http.StatusConflict, `"code":"run_differs"`)
		if len(a.calls) != 0 {
			t.Error("the agent was called again")
		}
	})
}

// A run that its agent leaves open is closed in the log.
func TestUpstreamEnded(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		go func() {
			c := a.next()
			c.accept()
			c.send(started("t", "r"))
			c.end()
		}()
		answer := p.post("/agents/a", input("t", "r"))
		same(t, answer.event(), "2 "+started("t", "r"))
		if e := answer.event(); !strings.HasPrefix(e, `3 {"type":"RUN_ERROR"`) || !strings.Contains(e, `"code":"p20export.upstream_ended"`) {
			t.Error(e)
		}
		same(t, answer.text(), "")
		same(t, p.ended(1), serve.UpstreamEnded)
		p.get("/threads/t/runs").want(http.StatusOK, `"end":"failed","closing_code":"p20export.upstream_ended"}`)
	})
}

// A response with events that begin no run is closed, too, but not one whose run could not
// start.
func TestUpstreamWithoutRun(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		failed := `{"type":"RUN_ERROR","message":"no model"}`
		go func() {
			for _, event := range []string{step(1), failed} {
				c := a.next()
				c.accept()
				c.send(event)
				c.end()
			}
		}()
		answer := p.post("/agents/a", input("t", "r"))
		same(t, answer.event(), "2 "+step(1))
		if e := answer.event(); !strings.HasPrefix(e, `3 {"type":"RUN_ERROR"`) || !strings.Contains(e, `"code":"p20export.upstream_ended"`) {
			t.Error(e)
		}
		same(t, answer.text(), "")
		same(t, p.ended(1), serve.UpstreamEnded)
		answer = p.post("/agents/a", input("t", "s"))
		same(t, answer.event(), "6 "+failed)
		same(t, answer.text(), "")
		same(t, p.ended(2), serve.Finished)
	})
}

// An event whose bytes cannot be sent as they are is refused, with the reason.
func TestUpstreamCarriageReturn(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	p := start(t, memory.New(), a, serve.Settings{})
	go func() {
		c := a.next()
		c.do(func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			fmt.Fprintf(w, "%s\r\n{\"type\":\"CUSTOM\",\r\"name\":\"step\",\"value\":1}\n%s\n", started("t", "r"), finished("t", "r"))
		})
		c.end()
	}()
	answer := p.post("/agents/a", input("t", "r"))
	same(t, answer.event(), "2 "+started("t", "r"))
	if e := answer.event(); !strings.HasPrefix(e, `3 {"type":"RUN_ERROR"`) || !strings.Contains(e, "carriage return") {
		t.Error(e)
	}
	same(t, answer.text(), "")
	same(t, p.ended(1), serve.UpstreamEnded)
}

// A second run of a thread is refused while the first is active, and allowed as soon as its
// response has ended.
func TestRefuse(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		for range 5 {
			run := "r" + string(rune('0'+len(entries(t, log, "t"))))
			go func() { c := a.next(); c.accept(); c.send(started("t", run)); a.calls <- c }()
			first := p.post("/agents/a", input("t", run))
			first.event()
			p.post("/agents/a", input("t", "other")).want(http.StatusConflict, `"code":"thread_busy","run_id":"`+run+`"`)
			c := a.next()
			c.send(finished("t", run))
			c.end()
			first.event()
			same(t, first.text(), "")
		}
	})
}

// With a queue, runs of a thread wait for their turn, in order. A client that leaves is
// dropped from the queue.
func TestQueue(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{Policy: serve.Queue})
		go func() { c := a.next(); c.accept(); c.send(started("t", "0")); a.calls <- c }()
		first := p.post("/agents/a", input("t", "0"))
		first.event()
		c := a.next()
		done := make(chan *answer, 3)
		for i, run := range []string{"1", "2", "3"} {
			go func() { done <- p.post("/agents/a", input("t", run)) }()
			p.seen.until(t, "the request waits", func() bool { return p.seen.queued == i+1 })
		}
		for _, run := range []string{"0", "1", "2", "3"} {
			c.send(finished("t", run))
			c.end()
			if run == "3" {
				break
			}
			c = a.next()
			c.accept()
			next := string(rune(run[0] + 1))
			same(t, c.body, input("t", next))
			c.send(started("t", next))
		}
		for range 3 {
			answer := <-done
			same(t, answer.status, http.StatusOK)
			answer.events(2)
			same(t, answer.text(), "")
		}
		p.seen.until(t, "no request waits", func() bool { return p.seen.queued == 0 })
	})
}

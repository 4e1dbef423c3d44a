package serve_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
)

// begin starts a run and returns the agent's side and the client's, after RUN_STARTED.
func (p *process) begin(a *agent, thread, run string) (*call, *answer) {
	p.t.Helper()
	accepted := make(chan *call)
	go func() {
		c := a.next()
		c.accept()
		c.send(started(thread, run))
		accepted <- c
	}()
	answer := p.post("/agents/a", input(thread, run))
	if answer.status != http.StatusOK {
		p.t.Fatalf("status %d: %s", answer.status, answer.text())
	}
	c := <-accepted
	answer.event()
	return c, answer
}

// wantClosing checks that the next event closes the run with a code, and that it is the last.
func (a *answer) wantClosing(code string) {
	a.t.Helper()
	if e := a.event(); !strings.Contains(e, `{"type":"RUN_ERROR"`) && !strings.Contains(e, `"outcome":{"type":"cancelled"}`) || !strings.Contains(e, `"code":"p20export.`+code+`"`) {
		a.t.Errorf("the event is %s, want the end of the run with the code %s", e, code)
	}
	same(a.t, a.text(), "")
}

// stopped is the text of a RUN_FINISHED in entries that closes a run.
func stopped(thread, run, code, message string) string {
	return fmt.Sprintf(`closing {"type":"RUN_FINISHED","metadata":{"p20export":{"code":"p20export.%s","message":%q}},"threadId":%q,"runId":%q,"outcome":{"type":"cancelled"}}`, code, message, thread, run)
}

// closing is the text of a RUN_ERROR in entries that closes a run.
const closing = `closing {"type":"RUN_ERROR","message":"`

// A run is cancelled by the process that runs it or by another one. An idle agent is left at
// once.
func TestCancel(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	a := newAgent(t)
	owner, other := start(t, log, a, serve.Settings{}), start(t, log, a, serve.Settings{})
	reader := start(t, log, nil, serve.Settings{})
	for i, by := range []*process{owner, other, reader} {
		thread := "thread " + string(rune('0'+i))
		path := "/threads/" + strings.ReplaceAll(thread, " ", "%20") + "/runs/r/cancel"
		by.post(path, "").want(http.StatusNotFound, `"code":"unknown_run"`)
		c, answer := owner.begin(a, thread, "r")
		by.post(path, "").want(http.StatusOK, `{"thread_id":"`+thread+`","run_id":"r","end":"cancelled"}`)
		<-c.left
		answer.wantClosing("cancelled")
		same(t, owner.ended(i+1), serve.Cancelled)
		by.post(path, "").want(http.StatusOK, `"end":"cancelled"`)
		same(t, entries(t, log, thread), []string{
			"input " + input(thread, "r"), "event " + started(thread, "r"), stopped(thread, "r", "cancelled", "The run was cancelled."), "end cancelled",
		})
		// The run is over: it is not started again, and the thread is free.
		owner.post("/agents/a", input(thread, "r")).want(http.StatusOK, "p20export.cancelled")
		c, answer = owner.begin(a, thread, "r2")
		c.send(finished(thread, "r2"))
		c.end()
		same(t, answer.event(), "7 "+finished(thread, "r2"))
		same(t, answer.text(), "")
		by.post("/threads/"+strings.ReplaceAll(thread, " ", "%20")+"/runs/r2/cancel", "").want(http.StatusConflict, `"code":"run_ended"`)
		owner.ended(i + 2)
		owner.seen.mu.Lock()
		owner.seen.outcomes = owner.seen.outcomes[:i+1]
		owner.seen.mu.Unlock()
	}
}

// A run can be cancelled by the id that its agent gave it, which the list of runs has, too. An
// earlier run of the same response has ended.
func TestCancelNamed(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		go func() {
			c := a.next()
			c.accept()
			c.send(started("t", "one"), finished("t", "one"), started("t", "two"))
		}()
		answer := p.post("/agents/a", input("t", "r"))
		answer.events(3)
		p.post("/threads/t/runs/one/cancel", "").want(http.StatusConflict, `"code":"run_ended"`)
		for _, id := range []string{"two", "two", "r"} {
			p.post("/threads/t/runs/"+id+"/cancel", "").want(http.StatusOK, `"end":"cancelled"`)
		}
		p.post("/threads/t/runs/one/cancel", "").want(http.StatusConflict, `"code":"run_ended"`)
		answer.wantClosing("cancelled")
		same(t, p.ended(1), serve.Cancelled)
	})
}

// A run can be cancelled before its agent answers.
func TestCancelBeforeHead(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		done := make(chan *answer)
		go func() { done <- p.post("/agents/a", input("t", "r")) }()
		c := a.next()
		p.post("/threads/t/runs/r/cancel", "").want(http.StatusOK, "cancelled")
		<-c.left
		(<-done).wantClosing("cancelled")
		p.post("/agents/a", input("t", "r")).wantClosing("cancelled")
		if len(a.calls) != 0 {
			t.Error("the run was started again")
		}
	})
}

// A run that never pauses can be cancelled by another process.
func TestCancelBusy(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		owner := start(t, log, a, serve.Settings{})
		other := start(t, log, nil, serve.Settings{})
		c, answer := owner.begin(a, "t", "r")
		go func() {
			for {
				select {
				case <-c.over:
					return
				default:
					c.send(step(1))
				}
			}
		}()
		answer.events(20)
		other.post("/threads/t/runs/r/cancel", "").want(http.StatusOK, "cancelled")
		same(t, owner.ended(1), serve.Cancelled)
		list := entries(t, log, "t")
		same(t, list[len(list)-1], "end cancelled")
	})
}

// An agent that keeps its response open after its run has ended does not keep the thread: it
// can be cancelled, and is left after a while.
func TestLingering(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	a := newAgent(t)
	p := start(t, log, a, serve.Settings{})
	c, answer := p.begin(a, "t", "r")
	c.send(finished("t", "r"))
	answer.event()
	for range 2 {
		p.post("/threads/t/runs/r/cancel", "").want(http.StatusOK, "cancelled")
	}
	<-c.left
	same(t, answer.text(), "")
	p.post("/agents/a", input("t", "r")).want(http.StatusOK, "RUN_FINISHED")

	p = start(t, log, a, serve.Settings{Limits: serve.Limits{EndTimeout: 50 * time.Millisecond}})
	c, answer = p.begin(a, "u", "r")
	for range 3 { // runs of one response
		c.send(finished("u", "r"), started("u", "r"))
		answer.events(2)
	}
	c.send(finished("u", "r"), step(1))
	answer.events(2)
	<-c.left
	same(t, answer.text(), "")
	same(t, p.ended(1), serve.Finished)
}

package serve_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
)

const supersededText = "The run was cancelled, because its client had left and another run of the thread was started."

// A run whose client has left is superseded by the next one, at the process that runs it or
// at another one. What is open in it is closed in order. Whoever has joined it sees its end.
func TestSupersede(t *testing.T) {
	t.Parallel()
	for i := range 2 {
		log, a, thread := newMemory(t), newAgent(t), "t"
		owner, other := start(t, log, a, serve.Settings{}), start(t, log, a, serve.Settings{})
		by := []*process{owner, other}[i]
		c, answer := owner.begin(a, thread, "r/ü")
		open := []string{
			`{"type":"STEP_STARTED","stepName":"plan"}`,
			`{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"S"}`,
			`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`,
			`{"type":"REASONING_START","messageId":"h"}`,
			`{"type":"REASONING_MESSAGE_START","messageId":"h","role":"reasoning"}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","subagentRunId":"s"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hel"}`,
		}
		c.send(open...)
		answer.events(len(open))
		joiner := other.post("/threads/"+thread+"/connect", input(thread, "any"))
		joiner.events(4)
		answer.close()
		c2, answer2 := by.begin(a, thread, "r2")
		same(t, answer2.header.Get("P20export-Superseded"), "r%2F%C3%BC")
		<-c.left
		if text := joiner.text(); !strings.Contains(text, `"code":"p20export.superseded"`) || strings.Contains(text, `"r2"`) {
			t.Errorf("the client that joined the run got %s", text)
		}
		same(t, owner.ended(1), serve.Cancelled)
		want := []string{"input " + input(thread, "r/ü"), "event " + started(thread, "r/ü")}
		for _, e := range open {
			want = append(want, "event "+e)
		}
		same(t, entries(t, log, thread), append(want,
			`closing {"type":"TEXT_MESSAGE_END","messageId":"m"}`,
			`closing {"type":"TOOL_CALL_END","subagentRunId":"s","toolCallId":"c"}`,
			`closing {"type":"REASONING_MESSAGE_END","messageId":"h"}`,
			`closing {"type":"REASONING_END","messageId":"h"}`,
			`closing {"type":"STEP_FINISHED","stepName":"plan"}`,
			`closing {"type":"SUBAGENT_ERROR","subagentRunId":"s","message":"`+supersededText+`","code":"p20export.superseded"}`,
			stopped(thread, "r/ü", "superseded", supersededText), "end cancelled",
			"input "+input(thread, "r2"), "event "+started(thread, "r2"),
		))
		by.get("/threads/"+thread+"/runs").want(http.StatusOK, `"end":"cancelled","closing_code":"p20export.superseded"}`)
		by.get("/threads/"+thread+"/restore?run=r%2F%C3%BC").want(http.StatusOK, `"run_id":"r/ü","end":"cancelled"`)
		by.post("/threads/"+thread+"/runs/r%2F%C3%BC/cancel", "").want(http.StatusOK, `"end":"cancelled"`)
		// The same request gets the run that was superseded, and starts none.
		again := by.post("/agents/a", input(thread, "r/ü"))
		same(t, again.header.Values("P20export-Superseded"), nil)
		again.want(http.StatusOK, `"code":"p20export.superseded"`)
		c2.send(finished(thread, "r2"))
		c2.end()
		same(t, answer2.event(), fmt.Sprintf("%d %s", len(open)+13, finished(thread, "r2")))
		same(t, answer2.text(), "")
		same(t, by.ended(2-i), serve.Finished)
	}
}

// A run whose client is connected is not superseded, also if the client has lost its network
// meanwhile and has come back with the same body, at any process.
func TestSupersedeConnected(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		back := p
		if t.Name() == "TestSupersedeConnected/memory" {
			back = start(t, log, a, serve.Settings{})
		}
		c, answer := p.begin(a, "t", "r")
		back.post("/agents/a", input("t", "r2")).want(http.StatusConflict, `"code":"thread_busy","run_id":"r"`)
		answer.close()
		answer = back.post("/agents/a", input("t", "r"))
		same(t, answer.event(), "2 "+started("t", "r"))
		for _, by := range []*process{p, back} {
			by.post("/agents/a", input("t", "r2")).want(http.StatusConflict, `"code":"thread_busy","run_id":"r"`)
		}
		answer.close()
		c2, _ := p.begin(a, "t", "r2")
		<-c.left
		same(t, p.ended(1), serve.Cancelled)
		c2.send(finished("t", "r2"))
		c2.end()
		p.ended(2)
	})
}

// A client that leaves before the agent has begun a run is superseded too. Its request has no
// run that could be closed in order.
func TestSupersedeBeforeRun(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		go func() {
			c := a.next()
			c.accept()
			a.calls <- c
		}()
		answer := p.post("/agents/a", input("t", "r"))
		c := a.next()
		answer.close()
		c2, _ := p.begin(a, "t", "r2")
		<-c.left
		same(t, entries(t, log, "t")[:3], []string{"input " + input("t", "r"), closing + supersededText + `","code":"p20export.superseded"`, "end cancelled"})
		c2.send(finished("t", "r2"))
		c2.end()
		p.ended(2)
	})
}

// With the policy refuse, a run is never superseded.
func TestSupersedeRefused(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	p := start(t, newMemory(t), a, serve.Settings{Policy: serve.Refuse})
	c, answer := p.begin(a, "t", "r")
	answer.close()
	p.seen.until(t, "the client has left", func() bool { return p.seen.readers[serve.Run] == 0 })
	p.post("/agents/a", input("t", "r2")).want(http.StatusConflict, `"code":"thread_busy","run_id":"r"`)
	c.send(finished("t", "r"))
	c.end()
	same(t, p.ended(1), serve.Finished)
}

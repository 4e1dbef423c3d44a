package serve_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// appends starts a Server without agents that lets clients append.
func appends(t *testing.T, log store.Log, s serve.Settings) *process {
	s.AllowAppend = true
	return start(t, log, nil, s)
}

// Batches are appended once, also if they are repeated, overlap or come to another server, and
// readers get the bytes of each event.
func TestAppend(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		p := appends(t, log, serve.Settings{})
		post := func(body string, status int, want string) {
			t.Helper()
			p.post("/threads/t/events", body).want(status, want)
		}
		has := func(n int, end string) string {
			return fmt.Sprintf(`{"thread_id":"t","run_id":"r","events":%d,"end":%s}`, n, end)
		}
		odd := "{ \"type\" : \"CUSTOM\",\n\"name\":\"step\", \"value\": 1.0e0, \"é\":\"\\u00e9\" }"

		post(batch("t", "r", 1, step(1)), 409, `"code":"sequence_gap","events":0`)
		post(batch("t", "r", 0, started("t", "r"), step(0)), 200, has(2, "null"))
		post(batch("t", "r", 0, started("t", "r"), step(0)), 200, has(2, "null"))
		post(batch("t", "r", 1, step(0), odd, step(2)), 200, has(4, "null"))
		post(batch("t", "r", 2, odd), 200, has(4, "null"))
		post(batch("t", "r", 4), 200, has(4, "null"))
		post(batch("t", "r", 2, step(2)), 409, "run_differs")
		post(batch("t", "r", 3, step(3)), 409, "run_differs")
		post(batch("t", "r", 5, step(5)), 409, `"code":"sequence_gap","events":4`)
		post(batch("t", "r", 6), 409, "sequence_gap")
		post(strings.Replace(batch("t", "r", 4, step(4)), `"p"`, `"other"`, 1), 409, "other_producer")
		post(strings.Replace(batch("t", "r", 0, started("t", "r")), "Hello", "Bye", 1), 409, "run_differs")
		post(batch("t", "next", 0, started("t", "next")), 409, `"code":"thread_busy","run_id":"r"`)
		post(batch("t", "r", 4, step(4), finished("t", "r")), 200, has(6, `"finished"`))
		post(batch("t", "r", 4, step(4), finished("t", "r")), 200, has(6, `"finished"`))
		post(batch("t", "r", 0, started("t", "r")), 200, has(6, `"finished"`))
		post(batch("t", "r", 6, step(6)), 409, "run_ended")
		post(batch("t", "r", 9, step(6)), 409, "run_ended")
		post(batch("t", "r", 3, step(3)), 409, "run_differs")
		post(batch("t", "next", 0, `{"type":"RUN_ERROR","message":"no"}`), 200, `"events":1,"end":"failed"`)

		want := []string{
			"input " + input("t", "r"), "event " + started("t", "r"), "event " + step(0), "event " + odd, "event " + step(2), "event " + step(4), "event " + finished("t", "r"), "end eof",
			"input " + input("t", "next"), `event {"type":"RUN_ERROR","message":"no"}`, "end eof",
		}
		same(t, entries(t, log, "t"), want)
		for e, err := range log.Read(t.Context(), store.Key{Thread: "t"}, 0) {
			if err != nil || !strings.HasPrefix(e.Stream, "serve:append:") {
				t.Errorf("the entry at position %d has the stream %q: %v", e.Position, e.Stream, err)
			}
		}
		if text := p.get("/threads/t/events?follow=false").text(); !strings.Contains(text, "data: "+strings.ReplaceAll(odd, "\n", "\ndata: ")+"\n\n") {
			t.Errorf("readers get %s", text)
		}
	})
}

// What is not a batch of one run is refused, and nothing of it is appended.
func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	p := appends(t, log, serve.Settings{})
	good := batch("t", "r", 0, started("t", "r"))
	many := make([]string, 1001)
	for i := range many {
		many[i] = step(i)
	}
	for name, body := range map[string]string{
		"the body is not JSON":                       good[1:],
		"the body is not an object":                  "[]",
		"runId: the id is not valid":                 strings.Replace(good, `{"runId":"r"`, `{"runId":""`, 1),
		"producer is not":                            strings.Replace(good, `"p"`, `"`+strings.Repeat("p", 129)+`"`, 1),
		"sequence is not":                            strings.Replace(good, `:0,"input"`, `:-1,"input"`, 1),
		"input is only given":                        strings.Replace(good, `:0,"input"`, `:1,"input"`, 1),
		"another runId than the batch":               strings.Replace(good, `{"runId":"r"`, `{"runId":"s"`, 1),
		"input: runId is missing":                    strings.Replace(good, `"runId":"r","state"`, `"state"`, 1),
		"another threadId than the path":             batch("u", "r", 0, started("u", "r")),
		"events is not an array":                     strings.Replace(good, `"events":[`, `"events":{"a":[`, 1)[:len(good)+3] + "]}}",
		"events is empty":                            batch("t", "r", 0),
		"events[0]: it is not an object with a type": batch("t", "r", 0, `{"type":1}`),
		"events[1]: it is not an object with a type": batch("t", "r", 0, started("t", "r"), `[]`),
		"events[0]: a run begins with RUN_STARTED":   batch("t", "r", 0, step(0)),
		"events[0]: it has another threadId":         batch("t", "r", 0, started("t", "s")),
		"events[1]: the run has begun":               batch("t", "r", 0, started("t", "r"), started("t", "r")),
		"events[2]: it follows the end of the run":   batch("t", "r", 0, started("t", "r"), finished("t", "r"), step(0)),
		"events[0]: it has a carriage return":        batch("t", "r", 1, "{\r\"type\":\"CUSTOM\"}"),
		"events[1000]: a batch has at most":          batch("t", "r", 1, many...),
		"a key appears twice":                        strings.Replace(good, `"runId":"r","state"`, `"a":1,"a":2,"runId":"r","state"`, 1),
	} {
		p.post("/threads/t/events", body).want(http.StatusBadRequest, name)
	}
	if _, err := log.Thread(t.Context(), store.Key{Thread: "t"}); err != store.ErrNoThread {
		t.Errorf("the log has something of it: %v", err)
	}
	start(t, log, nil, serve.Settings{}).post("/threads/t/events", good).want(http.StatusMethodNotAllowed, "does not let clients append")
}

// The run of a producer and that of an agent exclude each other.
func TestAppendBusy(t *testing.T) {
	t.Parallel()
	log, a := newMemory(t), newAgent(t)
	p := start(t, log, a, serve.Settings{AllowAppend: true})
	c, answer := p.begin(a, "t", "r")
	p.post("/threads/t/events", batch("t", "s", 0, started("t", "s"))).want(http.StatusConflict, `"run_id":"r"`)
	c.send(finished("t", "r"))
	p.post("/threads/t/events", batch("t", "s", 0, started("t", "s"))).want(http.StatusConflict, "thread_busy") // the agent can go on
	c.end()
	same(t, answer.event(), "3 "+finished("t", "r"))
	answer.text()
	p.post("/threads/t/events", batch("t", "r", 0, started("t", "r"))).want(http.StatusConflict, "run_differs")
	p.post("/threads/t/events", batch("t", "s", 0, started("t", "s"))).want(http.StatusOK, `"end":null`)
	p.post("/agents/a", input("t", "u")).want(http.StatusConflict, `"run_id":"s"`)
	p.post("/agents/a", input("t", "s")).want(http.StatusConflict, "run_differs")
	p.post("/threads/t/events", batch("t", "s", 1, finished("t", "s"))).want(http.StatusOK, `"end":"finished"`)
	c, answer = p.begin(a, "t", "u")
	c.end()
	answer.text()
}

// A run that is appended can be cancelled at any server, and its producer learns it.
func TestAppendCancelled(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	first, second := appends(t, log, serve.Settings{}), appends(t, log, serve.Settings{})
	reader := second.get("/threads/t/events")
	first.post("/threads/t/events", batch("t", "r", 0, started("t", "r"))).want(http.StatusOK, "")
	second.post("/threads/t/events", batch("t", "r", 1, `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`)).want(http.StatusOK, `"events":2`)
	second.post("/threads/t/runs/r/cancel", "").want(http.StatusOK, "")
	first.post("/threads/t/events", batch("t", "r", 2)).want(http.StatusOK, `"events":2,"end":"cancelled"`)
	first.post("/threads/t/events", batch("t", "r", 2, step(1))).want(http.StatusConflict, "run_ended")
	same(t, reader.events(3)[2], `4 {"type":"TEXT_MESSAGE_END","messageId":"m"}`)
	if end := reader.event(); !strings.Contains(end, "p20export.cancelled") {
		t.Errorf("the run ends with %s", end)
	}
}

// A run whose producer is silent is closed, by a server that never heard of it, too. While any
// server hears of the producer, it is not.
func TestAppendSilent(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		p := appends(t, log, serve.Settings{AppendTimeout: time.Hour})
		p.post("/threads/t/events", batch("t", "r", 0, started("t", "r"))).want(http.StatusOK, "")
		p.stop()
		p = appends(t, log, serve.Settings{AppendTimeout: time.Hour}) // its first search finds the run
		p.post("/threads/t/events", batch("t", "r", 1, step(1))).want(http.StatusOK, `"events":2,"end":null`)
		if _, memory := log.(*memory.Log); memory { // which several servers can share
			other := appends(t, log, serve.Settings{AppendTimeout: time.Nanosecond})
			for range 3 { // each looks for runs whose producers are silent
				other.post("/threads/t/events", batch("t", "s", 0, started("t", "s"))).want(http.StatusConflict, "thread_busy")
			}
			p.post("/threads/t/events", batch("t", "r", 2)).want(http.StatusOK, `"end":null`)
			other.stop()
		}
		p.stop()
		p = appends(t, log, serve.Settings{AppendTimeout: time.Nanosecond})
		p.post("/threads/t/events", batch("t", "s", 0, started("t", "s"))).want(http.StatusOK, "") // the second search
		p.seen.closed(t, 1)
		p.post("/threads/t/events", batch("t", "r", 2, step(2))).want(http.StatusConflict, "run_ended")
		p.post("/threads/t/events", batch("t", "r", 1, step(1))).want(http.StatusOK, `"events":2,"end":"failed"`)
		list := entries(t, log, "t")
		same(t, list[len(list)-4:len(list)-2], []string{closing + `The producer of the run sent nothing for too long. The run was closed.","code":"p20export.producer_silent"`, "end error"})
	})
}

// Only a token with the scope may append.
func TestAppendScope(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	lines := fmt.Sprintf("alice sha256:%x\nalice sha256:%x append\n", sha256.Sum256([]byte(token)), sha256.Sum256([]byte("append"+token)))
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	p := appends(t, newMemory(t), serve.Settings{Guard: serve.GuardSettings{TokenFile: file}})
	body := batch("t", "r", 0, started("t", "r"))
	p.post("/threads/t/events", body).want(http.StatusUnauthorized, "")
	p.post("/threads/t/events", body, "Authorization", "Bearer "+token).want(http.StatusForbidden, "append_not_allowed")
	p.post("/threads/t/events", body, "Authorization", "Bearer "+token, "P20export-Scope", "append").want(http.StatusForbidden, "append_not_allowed")
	p.post("/threads/t/events", body, "Authorization", "Bearer append"+token).want(http.StatusOK, "")
	p.get("/threads/t/events?follow=false", "Authorization", "Bearer "+token).want(http.StatusOK, "RUN_STARTED")
}

// The run id of a request that the agent refused can be that of a run that is appended, which is
// then the run of this id.
func TestAppendAfterRefusal(t *testing.T) {
	t.Parallel()
	log, a := newMemory(t), newAgent(t)
	p := start(t, log, a, serve.Settings{AllowAppend: true})
	go func() { a.next().refuse(http.StatusTeapot, "no") }()
	p.post("/agents/a", input("t", "r")).want(http.StatusTeapot, "")
	p.post("/threads/t/events", batch("t", "r", 0, started("t", "r"))).want(http.StatusOK, "")
	p.post("/agents/a", input("t", "r")).want(http.StatusConflict, "run_differs")
	p.get("/streams/t/r").want(http.StatusOK, started("t", "r"))
	p.post("/threads/t/runs/r/cancel", "").want(http.StatusOK, "")
	p.post("/agents/a", input("t", "r")).want(http.StatusConflict, "run_differs")
}

// A request that waits for a run that is appended begins when that ends, in each way.
func TestAppendQueued(t *testing.T) {
	t.Parallel()
	log, a := newMemory(t), newAgent(t)
	p := start(t, log, a, serve.Settings{AllowAppend: true, Policy: serve.Queue})
	for i, end := range []func(run string){
		func(run string) {
			p.post("/threads/t/events", batch("t", run, 1, finished("t", run))).want(http.StatusOK, "")
		},
		func(run string) { p.post("/threads/t/runs/"+run+"/cancel", "").want(http.StatusOK, "") },
	} {
		run, next := fmt.Sprint("r", i), fmt.Sprint("next", i)
		p.post("/threads/t/events", batch("t", run, 0, started("t", run))).want(http.StatusOK, "")
		answer := make(chan *answer, 1)
		go func() { answer <- p.post("/agents/a", input("t", next)) }()
		p.seen.until(t, "the request waits", func() bool { return p.seen.queued == 1 })
		end(run)
		c := a.next()
		c.accept()
		c.send(started("t", next), finished("t", next))
		c.end()
		(<-answer).text()
	}
}

// A run that has ended takes no place, also if its producer goes on sending.
func TestAppendPlaces(t *testing.T) {
	t.Parallel()
	p := appends(t, newMemory(t), serve.Settings{Limits: serve.Limits{Runs: 1}})
	for _, thread := range []string{"t", "u", "v"} {
		p.post("/threads/"+thread+"/events", batch(thread, "r", 0, started(thread, "r"))).want(http.StatusOK, "")
		p.post("/threads/full/events", batch("full", "r", 0, started("full", "r"))).want(http.StatusServiceUnavailable, "too_many_runs")
		p.post("/threads/"+thread+"/runs/r/cancel", "").want(http.StatusOK, "")
		p.post("/threads/"+thread+"/events", batch(thread, "r", 1, step(1))).want(http.StatusConflict, "run_ended")
		p.post("/threads/"+thread+"/events", batch(thread, "r", 0, started(thread, "other"))).want(http.StatusBadRequest, "")
		p.post("/threads/"+thread+"/events", batch(thread, "r", 0, `{"type":"RUN_ERROR"}`)).want(http.StatusConflict, "run_differs")
		p.post("/threads/"+thread+"/events", batch(thread, "none", 3, step(1))).want(http.StatusConflict, "sequence_gap")
	}
}

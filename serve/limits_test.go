package serve_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/sqlite"
)

// The limits of runs, of threads and of requests that wait are kept, and each is said.
func TestLimits(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	p := start(t, newMemory(t), a, serve.Settings{Policy: serve.Queue, Limits: serve.Limits{Runs: 2, Queued: 2, QueuedBytes: 4000, Threads: 2}})
	c, first := p.begin(a, "t", "r")
	second, _ := p.begin(a, "u", "r")
	refused := p.post("/agents/a", input("v", "r"))
	same(t, refused.header.Get("Retry-After"), "1")
	refused.want(http.StatusServiceUnavailable, `"code":"too_many_runs"`)
	second.send(finished("u", "r"))
	second.end()
	p.ended(1)
	p.post("/agents/a", input("v", "r")).want(http.StatusForbidden, `"code":"too_many_threads"`)

	waiting := make(chan *answer, 2)
	for i := range 2 {
		go func() { waiting <- p.post("/agents/a", input("t", "w"+string(rune('0'+i)))) }()
		p.seen.until(t, "the request waits", func() bool { return p.seen.queued == i+1 })
	}
	p.post("/agents/a", input("t", "r3")).want(http.StatusServiceUnavailable, `"code":"too_many_queued"`)
	c.send(finished("t", "r"))
	c.end()
	first.event()
	for i := range 2 {
		c := a.next()
		c.accept()
		c.send(started("t", "w"+string(rune('0'+i))))
		c.end()
		(<-waiting).event()
	}
	p.ended(4)
	c, _ = p.begin(a, "t", "last")
	large := strings.Replace(input("t", "large"), "Hello", strings.Repeat("x", 4000), 1)
	p.post("/agents/a", large).want(http.StatusServiceUnavailable, `"code":"too_many_queued"`)
	c.end()
}

// The same request attaches also while it waits: the agent is called once. A client that
// leaves the queue is forgotten.
func TestQueueAttaches(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{Policy: serve.Queue})
		c, first := p.begin(a, "t", "r")
		answers := make(chan *answer, 5)
		for i := range 3 {
			go func() { answers <- p.post("/agents/a", input("t", "w")) }()
			p.seen.until(t, "the request waits", func() bool { return p.seen.queued == i+1 })
		}
		ctx, leave := context.WithCancel(t.Context())
		q, _ := http.NewRequestWithContext(ctx, "POST", p.url+"/agents/a", strings.NewReader(input("t", "left")))
		q.Header.Set("Content-Type", "application/json")
		go http.DefaultClient.Do(q)
		p.seen.until(t, "the request waits", func() bool { return p.seen.queued == 4 })
		leave()
		p.seen.until(t, "the client has left", func() bool { return p.seen.queued == 3 })
		c.send(finished("t", "r"))
		c.end()
		first.event()
		c = a.next()
		same(t, c.body, input("t", "w"))
		c.accept()
		c.send(started("t", "w"), finished("t", "w"))
		c.end()
		for range 3 {
			answer := <-answers
			same(t, answer.status, http.StatusOK)
			answer.events(2)
			same(t, answer.text(), "")
		}
		same(t, p.ended(2), serve.Finished)
		same(t, len(a.calls), 0)
	})
}

// A run can be cancelled while its requests wait: they are refused, and it is not started. Other
// requests go on waiting.
func TestQueueCancel(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{Policy: serve.Queue})
		c, first := p.begin(a, "t", "r")
		cancelled, other := make(chan *answer, 2), make(chan *answer, 1)
		for i := range 2 {
			go func() { cancelled <- p.post("/agents/a", input("t", "w")) }()
			p.seen.until(t, "the request waits", func() bool { return p.seen.queued == i+1 })
		}
		go func() { other <- p.post("/agents/a", input("t", "o")) }()
		p.seen.until(t, "the request waits", func() bool { return p.seen.queued == 3 })
		p.post("/threads/t/runs/w/cancel", "").want(http.StatusOK, `"end":"cancelled"`)
		for range 2 {
			(<-cancelled).want(http.StatusConflict, `"code":"run_cancelled"`)
		}
		p.post("/threads/t/runs/w/cancel", "").want(http.StatusNotFound, `"code":"unknown_run"`)
		c.send(finished("t", "r"))
		c.end()
		first.event()
		c = a.next()
		same(t, c.body, input("t", "o"))
		c.accept()
		c.send(started("t", "o"), finished("t", "o"))
		c.end()
		(<-other).events(2)
	})
}

// Two processes: a request waits for a run of the other one.
func TestQueueOfTwo(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	a := newAgent(t)
	one, two := start(t, log, a, serve.Settings{Policy: serve.Queue}), start(t, log, a, serve.Settings{Policy: serve.Queue})
	c, first := one.begin(a, "t", "r")
	waiting := make(chan *answer)
	go func() { waiting <- two.post("/agents/a", input("t", "w")) }()
	two.seen.until(t, "the request waits", func() bool { return two.seen.queued == 1 })
	c.send(finished("t", "r"))
	c.end()
	first.event()
	c = a.next()
	c.accept()
	c.send(started("t", "w"), finished("t", "w"))
	c.end()
	same(t, len((<-waiting).events(2)), 2)
	same(t, two.ended(1), serve.Finished)
}

// Many clients send requests of one thread to two processes at the same time. Each run is
// started once, and never two at a time.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	a := newAgent(t)
	processes := []*process{start(t, log, a, serve.Settings{Policy: serve.Queue}), start(t, log, a, serve.Settings{Policy: serve.Queue})}
	const runs, clients = 5, 4
	bodies := make(chan string, runs*clients)
	go func() {
		for c := range a.calls {
			bodies <- c.body
			c.accept()
			c.send(started("t", "x"))
			if len(a.calls) > 0 {
				t.Error("two runs at a time")
			}
			c.send(finished("t", "x"))
			c.end()
		}
	}()
	done := make(chan string, runs*clients)
	for i := range runs * clients {
		go func() {
			answer := processes[i%2].post("/agents/a", input("t", "r"+string(rune('0'+i/clients))))
			if answer.status != http.StatusOK {
				t.Errorf("status %d", answer.status)
			}
			done <- strings.Join(answer.events(2), "\n")
		}()
	}
	seen := map[string]int{}
	for range runs * clients {
		seen[<-done]++
	}
	same(t, len(seen), runs)
	for _, n := range seen {
		same(t, n, clients)
	}
	same(t, len(bodies), runs)
}

// While a Server drains, runs may end and readers stay. Then what is left is closed and said.
func TestDrain(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		c, first := p.begin(a, "t", "r")
		_, second := p.begin(a, "u", "r")
		reader := p.get("/threads/idle/events")
		ctx, cut := context.WithCancel(t.Context())
		drained := make(chan error)
		go func() { drained <- p.server.Drain(ctx) }()
		for p.server.Check(t.Context()) == nil {
			time.Sleep(time.Millisecond)
		}
		p.post("/agents/a", input("v", "r")).want(http.StatusServiceUnavailable, `"code":"unavailable"`)
		c.send(finished("t", "r"))
		c.end()
		first.event()
		same(t, first.text(), "")
		p.ended(1)
		cut()
		var e *serve.DrainError
		if err := <-drained; !errors.As(err, &e) || e.Ended != 1 {
			t.Error(err)
		}
		second.wantClosing("shutdown")
		same(t, p.ended(2), serve.ShutDown)
		same(t, reader.text(), "")
		same(t, p.server.Drain(t.Context()), nil)
	})
}

// A second process cannot run agents on the same file. It can read.
func TestSecondOfFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log.db")
	a := newAgent(t)
	var logs []store.Log
	for range 2 {
		log, err := sqlite.Open(t.Context(), file, true)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		logs = append(logs, log)
	}
	first := start(t, logs[0], a, serve.Settings{})
	second, err := serve.New(serve.Settings{Log: logs[1], Agents: map[string]*url.URL{"a": a.url}})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := second.Start(t.Context()); !errors.Is(err, store.ErrLeased) {
		t.Error(err)
	}
	reader := start(t, logs[1], nil, serve.Settings{})
	answer := reader.get("/threads/t/events")
	first.begin(a, "t", "r")
	same(t, answer.event(), "2 "+started("t", "r"))
	reader.post("/threads/t/runs/r/cancel", "").want(http.StatusOK, "cancelled")
	same(t, first.ended(1), serve.Cancelled)
}

// A reader that does not read is dropped. Others are not delayed, and the run goes on.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	a := newAgent(t)
	p := start(t, log, a, serve.Settings{ReaderTimeout: 2 * time.Second})
	c, answer := p.begin(a, "t", "r")
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Write([]byte("GET /threads/t/events HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	large := `{"type":"CUSTOM","name":"x","value":"` + strings.Repeat("x", 1<<20) + `"}`
	for range 64 { // more than fits into the buffers of a connection
		c.send(large)
		answer.event()
	}
	p.seen.until(t, "the reader is dropped", func() bool { return p.seen.dropped == 1 })
	c.send(finished("t", "r"))
	c.end()
	answer.event()
	same(t, answer.text(), "")
	same(t, p.ended(1), serve.Finished)
}

// What readers receive has a limit of memory. A reader for whom nothing is left is refused,
// or its response breaks off if that has begun.
func TestReaderBytes(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	entry := store.Entry{Stream: "s", Kind: store.Event, Data: []byte(started("t", "r"))}
	if _, err := log.Append(t.Context(), store.Key{Thread: "t"}, 0, []store.Entry{entry}); err != nil {
		t.Fatal(err)
	}
	p := start(t, log, nil, serve.Settings{ReaderBytes: 1})
	refused := p.post("/threads/t/connect", input("t", "x"))
	same(t, refused.header.Get("Retry-After"), "1")
	refused.want(http.StatusServiceUnavailable, `"code":"overloaded"`)
	same(t, p.get("/threads/t/events").broken(), "")
	same(t, p.server.Stats().Bytes, 0)
	p.stop()
	start(t, log, nil, serve.Settings{}).post("/threads/t/connect", input("t", "x")).event()
}

// A tenant whose requests wait for agents that do not answer leaves memory to others.
func TestBodiesOfTenants(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	a := newAgent(t)
	p := start(t, memory.New(), a, serve.Settings{Guard: serve.GuardSettings{
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, MaxRequestBytes: most, BodyBytes: 4 * most,
	}})
	large := func(thread string) string {
		body := input(thread, "r")
		return body[:len(body)-1] + strings.Repeat(" ", most-len(body)) + "}"
	}
	refused := make(chan int, 5)
	for i := range 5 {
		q, err := http.NewRequestWithContext(t.Context(), "POST", p.url+"/agents/a", strings.NewReader(large(fmt.Sprint("t", i))))
		if err != nil {
			t.Fatal(err)
		}
		q.Header = http.Header{"Content-Type": {"application/json"}, "P20export-Tenant": {"ann"}}
		go func() {
			if response, err := http.DefaultClient.Do(q); err == nil { // otherwise the test has ended
				refused <- response.StatusCode
				response.Body.Close()
			}
		}()
	}
	same(t, <-refused, http.StatusServiceUnavailable)
	answers := make(chan *answer)
	go func() { answers <- p.post("/agents/a", large("t"), "P20export-Tenant", "bob") }()
	for {
		c := a.next()
		if !strings.Contains(c.body, `"t"`) {
			continue // that of the other tenant is not answered
		}
		c.accept()
		break
	}
	same(t, (<-answers).status, http.StatusOK)
}

package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/sqlite"
)

// patience is how long a test waits for what must happen. It never passes in a test that
// succeeds.
const patience = 5 * time.Minute

// A call is a request that the agent received. The test answers it. What it sends after the
// caller has left is lost.
type call struct {
	header http.Header
	body   string
	steps  chan func(http.ResponseWriter)
	left   <-chan struct{} // closed when the caller has left
	over   chan struct{}   // closed when the handler returns
}

// do lets the handler do something, and waits for it.
func (c *call) do(step func(w http.ResponseWriter)) {
	done := make(chan struct{})
	select {
	case c.steps <- func(w http.ResponseWriter) { defer close(done); step(w) }:
		<-done
	case <-c.over:
	}
}

// accept begins a stream of events.
func (c *call) accept() {
	c.do(func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
	})
}

// send sends events.
func (c *call) send(events ...string) {
	c.do(func(w http.ResponseWriter) {
		for _, e := range events {
			fmt.Fprintf(w, "data: %s\n\n", e)
		}
		w.(http.Flusher).Flush()
	})
}

// end ends the response.
func (c *call) end() {
	select {
	case c.steps <- nil:
	case <-c.over:
	}
}

// refuse answers with a status.
func (c *call) refuse(status int, body string) {
	c.do(func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
	c.end()
}

// An agent passes its requests to the test.
type agent struct {
	t     *testing.T
	url   *url.URL
	calls chan *call
}

func newAgent(t *testing.T) *agent {
	a := &agent{t: t, calls: make(chan *call, 100)}
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c := &call{header: r.Header, body: string(body), steps: make(chan func(http.ResponseWriter)), left: r.Context().Done(), over: make(chan struct{})}
		defer close(c.over)
		a.calls <- c
		for {
			select {
			case step := <-c.steps:
				if step == nil {
					return
				}
				step(w)
			case <-c.left:
				return
			case <-over:
				return
			}
		}
	}))
	t.Cleanup(func() { close(over); server.Close() })
	a.url, _ = url.Parse(server.URL + "/run")
	return a
}

// next returns the next request.
func (a *agent) next() *call {
	a.t.Helper()
	select {
	case c := <-a.calls:
		return c
	case <-time.After(patience):
		a.t.Fatal("the agent was not called")
		return nil
	}
}

// logs calls a test with each kind of log.
func logs(t *testing.T, test func(t *testing.T, log store.Log)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		log := memory.New()
		t.Cleanup(func() { log.Close() })
		test(t, log)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		log, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "log.db"), true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { log.Close() })
		test(t, log)
	})
}

// A process is a Server with an address.
type process struct {
	t      *testing.T
	server *serve.Server
	url    string
	http   *httptest.Server
	seen   *observer
}

// start starts a Server. The settings have what is special about it.
func start(t *testing.T, log store.Log, a *agent, s serve.Settings) *process {
	t.Helper()
	p := &process{t: t, seen: &observer{}}
	s.Log, s.Observer = log, p.seen
	if a != nil {
		s.Agents = map[string]*url.URL{"a": a.url}
	}
	var err error
	if p.server, err = serve.New(s); err != nil {
		t.Fatal(err)
	}
	if err := p.server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.http = httptest.NewServer(readAPI(t).described(t, p.server))
	p.url = p.http.URL
	t.Cleanup(p.stop)
	return p
}

// stop ends a process as a kill does, but for its connections: nothing is closed in the log.
func (p *process) stop() {
	p.server.Close()
	p.http.CloseClientConnections()
	p.http.Close()
}

// An answer is what a client receives.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   *bufio.Reader
	close  func()
}

// do sends a request. The headers are pairs of names and values.
func (p *process) do(method, path, body string, headers ...string) *answer {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p.t.Cleanup(cancel)
	var reader io.Reader
	if method == http.MethodPost {
		reader = strings.NewReader(body)
	}
	q, err := http.NewRequestWithContext(ctx, method, p.url+path, reader)
	if err != nil {
		p.t.Fatal(err)
	}
	if method == http.MethodPost {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Add(headers[i], headers[i+1])
	}
	r, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		p.t.Fatal(err)
	}
	return &answer{p.t, r.StatusCode, r.Header, bufio.NewReader(r.Body), func() { cancel(); r.Body.Close() }}
}

func (p *process) get(path string, headers ...string) *answer {
	p.t.Helper()
	return p.do(http.MethodGet, path, "", headers...)
}

func (p *process) post(path, body string, headers ...string) *answer {
	p.t.Helper()
	return p.do(http.MethodPost, path, body, headers...)
}

// text returns the rest of an answer.
func (a *answer) text() string {
	a.t.Helper()
	text, err := io.ReadAll(a.body)
	if err != nil {
		a.t.Errorf("the answer broke off: %v", err)
	}
	return string(text)
}

// broken reads until the answer breaks off.
func (a *answer) broken() string {
	a.t.Helper()
	text, err := io.ReadAll(a.body)
	if err == nil {
		a.t.Errorf("the answer did not break off: %s", text)
	}
	return string(text)
}

// event returns the next event, as its id without the check, a space and its data.
func (a *answer) event() string {
	a.t.Helper()
	var id, data string
	for {
		line, err := a.body.ReadString('\n')
		if err != nil {
			a.t.Fatalf("the answer has no further event: %v", err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" && data != "" {
			return id + " " + data
		}
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			id, _, _ = strings.Cut(v, "-")
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok {
			data = v
		}
	}
}

// events returns the next n events.
func (a *answer) events(n int) (list []string) {
	a.t.Helper()
	for range n {
		list = append(list, a.event())
	}
	return list
}

// want checks the status of an answer, and that its body contains a text.
func (a *answer) want(status int, part string) {
	a.t.Helper()
	if a.status != status {
		a.t.Errorf("status %d, want %d", a.status, status)
	}
	if status < 300 && part == "" {
		return
	}
	if text := a.text(); !strings.Contains(text, part) {
		a.t.Errorf("the answer is %s, want %s", text, part)
	}
}

// input returns a RunAgentInput.
func input(thread, run string) string {
	return fmt.Sprintf(`{"threadId":%q,"runId":%q,"state":{},"messages":[{"id":"u-%s","role":"user","content":"Hello."}],"tools":[],"context":[],"forwardedProps":{}}`, thread, run, run)
}

func started(thread, run string) string {
	return fmt.Sprintf(`{"type":"RUN_STARTED","threadId":%q,"runId":%q}`, thread, run)
}

func finished(thread, run string) string {
	return fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":%q,"runId":%q}`, thread, run)
}

// batch returns the body of a request of the producer p that appends events.
func batch(thread, run string, sequence int, events ...string) string {
	request := ""
	if sequence == 0 {
		request = `"input":` + input(thread, run) + ","
	}
	return fmt.Sprintf(`{"runId":%q,"producer":"p","sequence":%d,%s"events":[%s]}`, run, sequence, request, strings.Join(events, ","))
}

func step(n int) string { return fmt.Sprintf(`{"type":"CUSTOM","name":"step","value":%d}`, n) }

// observer remembers what it observed.
type observer struct {
	mu       sync.Mutex
	outcomes []serve.Outcome
	queued   int
	most     int // of queued
	orphans  int
	rewound  int
	failed   int
	dropped  int
	readers  map[serve.View]int
	refusals []serve.Refusal
}

func (o *observer) lock() func() { o.mu.Lock(); return o.mu.Unlock }

func (o *observer) RunEnded(outcome serve.Outcome, _ time.Duration) {
	defer o.lock()()
	o.outcomes = append(o.outcomes, outcome)
}
func (o *observer) RunsQueued(delta int) {
	defer o.lock()()
	o.queued += delta
	o.most = max(o.most, o.queued)
}
func (o *observer) Appended(int, time.Duration) {}
func (o *observer) AppendFailed(error)          { defer o.lock()(); o.failed++ }
func (o *observer) OrphansClosed(n int)         { defer o.lock()(); o.orphans += n }
func (o *observer) ThreadRewound()              { defer o.lock()(); o.rewound++ }
func (o *observer) Reading(v serve.View, delta int) {
	defer o.lock()()
	if o.readers == nil {
		o.readers = map[serve.View]int{}
	}
	o.readers[v] += delta
}
func (o *observer) Joined(serve.View, time.Duration) {}
func (o *observer) Delivered(time.Duration)          {}
func (o *observer) Sent(int)                         {}
func (o *observer) ReaderDropped()                   { defer o.lock()(); o.dropped++ }
func (o *observer) Refused(r serve.Refusal)          { defer o.lock()(); o.refusals = append(o.refusals, r) }

// until waits until a condition holds.
func (o *observer) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if func() bool { defer o.lock()(); return holds() }() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen: %s", what)
		}
	}
}

// closed waits until a process has closed a number of runs of other processes.
func (o *observer) closed(t *testing.T, n int) {
	t.Helper()
	o.until(t, fmt.Sprintf("%d runs of other processes were closed", n), func() bool {
		if o.orphans > n {
			t.Fatalf("%d runs were closed, want %d", o.orphans, n)
		}
		return o.orphans == n
	})
}

// text is what a Server has logged until now. It also logs in the background.
type text struct {
	mu     sync.Mutex
	buffer strings.Builder
}

func (x *text) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buffer.Write(b)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buffer.String()
}

// ended waits for the end of a number of runs and returns the outcome of the last.
func (p *process) ended(n int) (last serve.Outcome) {
	p.t.Helper()
	p.seen.until(p.t, fmt.Sprintf("%d runs ended", n), func() bool {
		if len(p.seen.outcomes) >= n {
			last = p.seen.outcomes[n-1]
		}
		return len(p.seen.outcomes) >= n
	})
	return last
}

// timestamp matches the timestamp of a closing event.
var timestamp = regexp.MustCompile(`,"timestamp":\d+`)

// entries returns the entries of a thread as kinds and data.
func entries(t *testing.T, log store.Log, thread string) (list []string) {
	t.Helper()
	for e, err := range log.Read(t.Context(), store.Key{Thread: thread}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		data := string(e.Data)
		if i := strings.Index(data, `,"timestamp":`); i > 0 && e.Kind == store.Closing {
			if e.Type == "RUN_ERROR" {
				data = data[:i]
			} else {
				data = timestamp.ReplaceAllString(data, "")
			}
		}
		list = append(list, string(e.Kind)+" "+data)
	}
	return list
}

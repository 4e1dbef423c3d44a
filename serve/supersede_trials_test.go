package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/serve/internal/runs"
	"github.com/p20export/p20export/store"
)

// supersedeTrials is the number of trials of TestSupersedeTrials.
const supersedeTrials = 100

// TestSupersedeTrials runs one thread with clients that leave, come back, cancel and start the
// next run, at two servers that share a log and are killed at random. Readers and clients that
// join get every event once, and at any time one run is active.
func TestSupersedeTrials(t *testing.T) {
	t.Parallel()
	runSupersedeTrials(t, func(t *testing.T) (store.Log, error) { return newMemory(t), nil }, supersedeTrials, supersedeTrials/4)
}

// runSupersedeTrials runs n trials, each on a log of its own. In all of them together, at least
// so many runs are closed for each reason.
func runSupersedeTrials(t *testing.T, open func(t *testing.T) (store.Log, error), n uint64, least int) {
	var mu sync.Mutex
	sum := map[string]int{}
	t.Run("seeds", func(t *testing.T) {
		for i := range n {
			t.Run(fmt.Sprint("seed ", *seed+i), func(t *testing.T) {
				t.Parallel()
				log, err := open(t)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { log.Close() })
				codes := newSupersedeTrial(t, *seed+i, log).run()
				mu.Lock()
				defer mu.Unlock()
				for code, n := range codes {
					sum[code] += n
				}
			})
		}
	})
	t.Log(sum)
	for _, code := range []string{"superseded", "cancelled", "owner_lost"} {
		if sum[code] < least {
			t.Errorf("the trials show little: %v", sum)
		}
	}
}

// A supersedeTrial is one thread.
type supersedeTrial struct {
	t     *testing.T
	rand  *rand.Rand
	seed  uint64
	log   store.Log
	agent *agent

	// running ends when the last position is known.
	running context.Context
	cut     context.CancelFunc

	mu        sync.Mutex
	processes []*process
	final     int64 // the last position with an event, or 0 until it is known
	scripts   map[string][]string
	held      map[string]bool // the agent does not end the run
	named     []string        // the runs that responses named as superseded
}

func newSupersedeTrial(t *testing.T, seed uint64, log store.Log) *supersedeTrial {
	s := &supersedeTrial{t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 34)), log: log, scripts: map[string][]string{}, held: map[string]bool{}}
	s.running, s.cut = context.WithCancel(t.Context())
	upstream := httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(upstream.Close)
	address, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.agent = &agent{t: t, url: address}
	for range 2 {
		s.processes = append(s.processes, start(t, s.log, s.agent, serve.Settings{}))
	}
	return s
}

// script generates the events of a run.
func (s *supersedeTrial) script(run string) {
	h := fnv.New64a()
	io.WriteString(h, run)
	r := rand.New(rand.NewPCG(s.seed, h.Sum64()))
	var events []string
	for len(events) == 0 || !strings.HasPrefix(events[0], `{"type":"RUN_STARTED"`) {
		events = judge.Generate(r, judge.Generator{Events: 5 + r.IntN(30), Without: judge.MoreRuns | judge.Inputs | judge.Subagents | judge.Collisions | judge.Reopening})
	}
	events[0] = started("t", run)
	held := r.IntN(4) > 0
	if held {
		events = events[:1+r.IntN(len(events)-1)]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[run], s.held[run] = events, held
}

// answer is the agent.
func (s *supersedeTrial) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e, err := envelope.ReadEvent([]byte(strings.Replace(string(body), "{", `{"type":"INPUT",`, 1)))
	if err != nil {
		return // the server was killed
	}
	s.mu.Lock()
	events, held := s.scripts[e.Text("runId")], s.held[e.Text("runId")]
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		io.WriteString(w, testkit.SSE(e))
		_ = http.NewResponseController(w).Flush()
	}
	if held {
		<-r.Context().Done()
	}
}

// process returns a server that runs.
func (s *supersedeTrial) process(n int) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.processes[n%len(s.processes)]
}

// kill kills a server and starts another one in its place.
func (s *supersedeTrial) kill(n int) {
	s.process(n).stop()
	p := start(s.t, s.log, s.agent, serve.Settings{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes[n%len(s.processes)] = p
}

// post sends the request of a run. A server may not know yet that a client has left.
func (s *supersedeTrial) post(run string) *answer {
	for range 20 {
		answer := s.process(s.rand.IntN(2)).post("/agents/a", input("t", run))
		if answer.status == http.StatusOK {
			if name := answer.header.Get("P20export-Superseded"); name != "" {
				s.named = append(s.named, name)
			}
			return answer
		}
		if text := answer.text(); answer.status != http.StatusConflict {
			s.t.Fatalf("run %s: status %d: %s", run, answer.status, text)
		}
	}
	s.t.Fatalf("run %s: the thread stays busy", run)
	return nil
}

func (s *supersedeTrial) run() map[string]int {
	var reading sync.WaitGroup
	for n := range 3 {
		r := rand.New(rand.NewPCG(s.seed, uint64(100+n)))
		reading.Go(func() { s.read(r) })
	}
	join := rand.New(rand.NewPCG(s.seed, 200))
	reading.Go(func() { s.join(join) })
	count := 3 + s.rand.IntN(5)
	for i := range count {
		run := fmt.Sprint("r", i)
		s.script(run)
		answer := s.post(run)
		n := s.rand.IntN(len(s.scripts[run]) + 1)
		answer.events(n)
		switch action := s.rand.IntN(6); {
		case !s.held[run] && action > 2:
			answer.text()
		case action == 0 || i == count-1: // the last run must end
			s.process(s.rand.IntN(2)).post("/threads/t/runs/"+run+"/cancel", "").text()
			answer.text()
		case action == 1:
			s.kill(s.rand.IntN(2))
			answer.close()
		case action == 2: // comes back, and leaves again
			answer.close()
			again := s.post(run)
			same(s.t, strings.SplitN(again.event(), " ", 2)[1], started("t", run))
			again.close()
		default:
			answer.close()
		}
	}
	list := s.entries()
	last := int64(0)
	for _, e := range list {
		if e.Kind == store.Event || e.Kind == store.Closing {
			last = e.Position
		}
	}
	s.mu.Lock()
	s.final = last
	s.mu.Unlock()
	s.cut() // who follows the thread looks again
	reading.Wait()
	return s.compare(list)
}

// entries returns the entries of the thread when its runs have ended.
func (s *supersedeTrial) entries() (list []store.Entry) {
	open := true
	for open {
		list, open = nil, false
		streams := map[string]bool{}
		for e, err := range s.log.Read(s.t.Context(), store.Key{Thread: "t"}, 0) {
			if err != nil {
				s.t.Fatal(err)
			}
			e := *e
			e.Data = []byte(string(e.Data))
			list = append(list, e)
			streams[e.Stream] = e.Kind != store.End
		}
		for _, o := range streams {
			open = open || o
		}
	}
	return list
}

// compare checks the log, and counts how the runs were closed.
func (s *supersedeTrial) compare(list []store.Entry) map[string]int {
	codes := map[string]int{}
	var named []string
	active, run, sent := "", "", 0
	var checker *sequence.Checker
	for _, e := range list {
		switch {
		case e.Kind == store.Input && active == "":
			var o struct{ run string }
			o.run = strings.SplitN(strings.SplitN(string(e.Data), `"runId":"`, 2)[1], `"`, 2)[0]
			active, run, sent, checker = e.Stream, o.run, 0, sequence.New(sequence.Options{Client: true})
			continue
		case e.Stream != active || e.Kind == store.Input:
			s.t.Fatalf("position %d: two runs are active", e.Position)
		case e.Kind == store.End:
			if sent > 0 && !checker.End() {
				s.t.Errorf("position %d: run %s is open", e.Position, run)
			}
			active = ""
			continue
		case e.Kind == store.Event:
			if sent >= len(s.scripts[run]) || string(e.Data) != s.scripts[run][sent] {
				s.t.Fatalf("position %d is not event %d of run %s: %s", e.Position, sent+1, run, e.Data)
			}
			sent++
		default:
			if code := strings.TrimPrefix(runs.ClosingCode(e.Data), "p20export."); code != "" {
				codes[code]++
				if code == "superseded" {
					named = append(named, run)
				}
			}
		}
		s.check(checker, e.Data)
	}
	same(s.t, s.named, named)
	return codes
}

func (s *supersedeTrial) check(checker *sequence.Checker, data []byte) {
	e, err := envelope.ReadEvent(data)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range checker.Event(e) {
		s.t.Errorf("%s: %s", f, data)
	}
}

// done returns the last position, or 0 until it is known.
func (s *supersedeTrial) done() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.final
}

// read reads all events, and leaves and comes back at random.
func (s *supersedeTrial) read(r *rand.Rand) {
	position := int64(0)
	for {
		final := s.done()
		if final > 0 && position >= final {
			return
		}
		query := "?after=" + strconv.FormatInt(position, 10)
		if final > 0 || r.IntN(2) == 0 {
			query += "&follow=false"
		}
		s.frames(http.MethodGet, "/threads/t/events"+query, r, final > 0, func(id int64, data string) bool {
			if id <= position {
				s.t.Errorf("position %d comes after %d", id, position)
			}
			for e, err := range s.log.Select(s.t.Context(), store.Key{Thread: "t"}, store.Events(position, id)) {
				if err != nil || e.Position < id || e.Position == id && string(e.Data) != data {
					s.t.Errorf("a reader misses %d, or got something else at %d: %s, %v", e.Position, id, data, err)
				}
			}
			position = id
			return r.IntN(20) > 0
		})
	}
}

// join joins the last run again and again. What it gets must be valid.
func (s *supersedeTrial) join(r *rand.Rand) {
	for final := int64(0); ; {
		known := final > 0
		final = s.done()
		checker := sequence.New(sequence.Options{Client: true})
		last := int64(0)
		complete := s.frames(http.MethodPost, "/threads/t/connect", r, final > 0, func(id int64, data string) bool {
			s.check(checker, []byte(data))
			last = max(last, id)
			return final > 0 || r.IntN(20) > 0
		})
		if complete && !checker.End() {
			s.t.Error("the response of connect ends in an open run")
		}
		if known && complete {
			if last < final {
				s.t.Errorf("the last run was joined up to %d of %d", last, final)
			}
			return
		}
	}
}

// frames reads a response until the end, until got returns false or a server is killed, or, of a
// caller that did not know the last position, until it is known. It reports whether it got to
// the end.
func (s *supersedeTrial) frames(method, path string, r *rand.Rand, known bool, got func(id int64, data string) bool) (complete bool) {
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	if !known {
		defer context.AfterFunc(s.running, cancel)()
	}
	q, err := http.NewRequestWithContext(ctx, method, s.process(r.IntN(2)).url+path, strings.NewReader(input("t", "any")))
	if err != nil {
		s.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	if method == http.MethodGet {
		q.Body, q.ContentLength = nil, 0
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return false
	}
	id := int64(0)
	for lines := bufio.NewReader(response.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err == io.EOF
		}
		line = strings.TrimSuffix(line, "\n")
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			number, _, _ := strings.Cut(text, "-") // the position is followed by a check
			id, _ = strconv.ParseInt(number, 10, 64)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if !got(id, data) {
				return false
			}
			id = 0
		}
	}
}

//go:build client

package serve_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/serve/servetest"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// A node is a reference client in a process of its own.
type node struct {
	t       *testing.T
	in      io.WriteCloser
	answers *bufio.Reader
}

// outcome is what a client ends with.
type outcome struct{ Messages, State, End, Error string }

// startNode starts a client of a thread.
func startNode(t *testing.T, server, thread string) *node {
	t.Helper()
	client := os.Getenv("P20EXPORT_CLIENT")
	if client == "" {
		t.Fatal("P20EXPORT_CLIENT does not name the directory of the reference client: run make client")
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(client, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(dir, "package.json"), `{"type":"module"}`)
	testkit.Write(t, filepath.Join(dir, "agent.js"), string(testkit.Read(t, "../examples/resumable-chat/agent.js")))
	testkit.Write(t, filepath.Join(dir, "client.mjs"), string(testkit.Read(t, "testdata/client.mjs")))
	cmd := exec.Command("node", "--preserve-symlinks", filepath.Join(dir, "client.mjs"), server, servetest.Upstream, thread)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("cannot start the reference client: %v", err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the reference client: %v", err)
		}
	})
	return &node{t: t, in: in, answers: bufio.NewReader(out)}
}

func (n *node) command(command map[string]string) {
	n.t.Helper()
	line, err := json.Marshal(command)
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := n.in.Write(append(line, '\n')); err != nil {
		n.t.Fatalf("the reference client: %v", err)
	}
}

func (n *node) answer() (o outcome) {
	line, err := n.answers.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err != nil {
		o.Error = fmt.Sprintf("the client answers %q: %v", line, err)
	}
	return o
}

// counter counts the requests to join.
type counter struct {
	inner http.Handler
	mu    sync.Mutex
	more  *sync.Cond
	joins int
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/connect") {
		c.mu.Lock()
		c.joins++
		c.more.Broadcast()
		c.mu.Unlock()
	}
	c.inner.ServeHTTP(w, r)
}

// await waits for the number of joins.
func (c *counter) await(joins int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.joins < joins {
		c.more.Wait()
	}
}

// TestClientTrials lets real clients join a run while another client runs it. They leave and
// join again at random, and end with the messages and the state of the one that saw
// everything.
func TestClientTrials(t *testing.T) {
	for n := range uint64(min(*trials, 10)) {
		t.Run(fmt.Sprint("seed ", *seed+n), func(t *testing.T) {
			t.Parallel()
			clientTrial(t, *seed+n)
			if t.Failed() {
				t.Logf("repeat with: P20EXPORT_CLIENT=$PWD/.build/client go test -tags client ./serve -run '^TestClientTrials$' -trials 1 -seed %d", *seed+n)
			}
		})
	}
}

func clientTrial(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 22))
	thread := fmt.Sprintf("thread/%d", seed)
	const runs = 2
	var answers [runs][]string
	for i := range answers {
		// Clients refuse to go on after an interrupt that nobody answers.
		for len(answers[i]) == 0 || !strings.HasPrefix(answers[i][0], `{"type":"RUN_STARTED"`) || strings.Contains(answers[i][len(answers[i])-1], `"interrupts"`) {
			answers[i] = judge.Generate(r, judge.Generator{Events: 20 + r.IntN(60), Without: judge.MoreRuns | judge.Inputs | judge.Subagents | judge.Surrogates | judge.Collisions | judge.Reopening})
		}
		answers[i][0] = fmt.Sprintf(`{"type":"RUN_STARTED","threadId":%q,"runId":"run-%d"}`, thread, i)
	}
	pieces := make(chan string) // of the answer to the last run
	run := 0
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if run++; run < runs {
			_, _ = io.WriteString(w, testkit.SSE(answers[0]...))
			return
		}
		for piece := range pieces {
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(agent.Close)
	log := memory.New()
	t.Cleanup(func() { log.Close() })
	c := &counter{inner: startServe(t, log, agent.URL, serve.Refuse).Config.Handler}
	c.more = sync.NewCond(&c.mu)
	front := httptest.NewServer(c)
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)

	witness := startNode(t, front.URL, thread)
	joiners := []*node{startNode(t, front.URL, thread), startNode(t, front.URL, thread)}
	witness.command(map[string]string{"command": "run", "runId": "run-0", "message": "Hello."})
	if got := witness.answer(); got.Error != "" || got.End == "" {
		t.Fatalf("the first run ends with %+v", got)
	}
	witness.command(map[string]string{"command": "run", "runId": "run-1", "parentRunId": "run-0", "message": "And now?"})
	answered := make(chan outcome, 1)
	go func() { answered <- witness.answer() }()
	var joins int
	var joined [2]bool
	events := answers[1]
	for len(events) > 0 {
		size := 1 + r.IntN(min(8, len(events)))
		select {
		case pieces <- testkit.SSE(events[:size]...):
		case got := <-answered:
			t.Fatalf("the second run ends with %+v before the agent has sent\n%s", got, strings.Join(events, "\n"))
		}
		if len(events) == len(answers[1]) {
			// Now a join joins this run.
			for e, err := range log.Follow(t.Context(), store.Key{Thread: thread}, 0) {
				if err != nil {
					t.Fatal(err)
				}
				if string(e.Data) == answers[1][0] {
					break
				}
			}
		}
		events = events[size:]
		for i, j := range joiners {
			last := len(events) == 0
			switch {
			case !joined[i] && (last || r.IntN(3) == 0):
				j.command(map[string]string{"command": "join"})
				joined[i] = true
			case joined[i] && !last && r.IntN(3) == 0:
				j.command(map[string]string{"command": "drop"})
			default:
				continue
			}
			joins++
			c.await(joins)
		}
	}
	close(pieces)
	want := <-answered
	if want.Error != "" || want.End == "" {
		t.Fatalf("the second run ends with %+v", want)
	}
	for i, j := range joiners {
		got := j.answer()
		if got.Error != want.Error || got.End != want.End || !judge.Equal(got.Messages, want.Messages) || !judge.Equal(got.State, want.State) {
			t.Errorf("client %d ends with %+v\nwant %+v\nevents:\n%s", i+1, got, want, strings.Join(answers[1], "\n"))
		}
	}
}

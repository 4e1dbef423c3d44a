package serve_test

import (
	"context"
	"flag"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/serve/servetest"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/sqlite"
)

var (
	trials = flag.Int("trials", 50, "the number of trials on each log")
	seed   = flag.Uint64("seed", 0, "the seed of the first trial")
)

// hang is when a trial has failed. A trial takes less than a second.
const hang = 2 * time.Minute

// startServe starts a server for the agent on a log.
func startServe(t *testing.T, log store.Log, agent string, policy serve.Policy) *httptest.Server {
	t.Helper()
	upstream, err := url.Parse(agent)
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Settings{Log: log, Agents: map[string]*url.URL{servetest.Upstream: upstream}, Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(s)
	t.Cleanup(func() {
		front.CloseClientConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		front.Close()
	})
	return front
}

// runTrials runs trials on a log, half of them with servers that queue the runs of a thread.
func runTrials(t *testing.T, open func(t *testing.T) (store.Log, error), count int) {
	for name, queue := range map[string]bool{"refuse": false, "queue": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { log.Close() })
			first := *seed
			if queue {
				first += uint64(count / 2)
			}
			runTrialsOf(t, log, queue, first, max(1, count/2))
		})
	}
}

// runTrialsOf runs trials with one server, several at a time, and with seeds from the first.
func runTrialsOf(t *testing.T, log store.Log, queue bool, first uint64, count int) {
	agent := servetest.NewAgent()
	t.Cleanup(agent.Close)
	policy := serve.Refuse
	if queue {
		policy = serve.Queue
	}
	front := startServe(t, log, agent.URL, policy)
	seeds := make(chan uint64)
	var running sync.WaitGroup
	var mu sync.Mutex
	var sum servetest.Summary
	for range 4 {
		running.Go(func() {
			for n := range seeds {
				ctx, cancel := context.WithTimeout(t.Context(), hang)
				got, err := servetest.Run(ctx, servetest.Settings{
					Seed: n, Agent: agent, Log: log, Queue: queue,
					URL: func(context.Context) (string, error) { return front.URL, nil },
				})
				cancel()
				if err != nil {
					t.Errorf("%v\nrepeat with: go test ./serve -run '^%s$' -trials 1 -seed %d", err, strings.ReplaceAll(t.Name(), "/", "$/^"), n)
				}
				mu.Lock()
				sum.Add(got)
				mu.Unlock()
			}
		})
	}
	for n := range uint64(count) {
		seeds <- first + n
	}
	close(seeds)
	running.Wait()
	t.Logf("%+v", sum)
	if count >= 20 && min(sum.Compacted, sum.Closed, sum.Drops, sum.Preludes) < count/10 {
		t.Errorf("the trials show little: %+v", sum)
	}
}

// TestTrials runs trials on logs in memory.
func TestTrials(t *testing.T) {
	t.Parallel()
	runTrials(t, func(*testing.T) (store.Log, error) { return memory.New(), nil }, min(*trials, 20))
}

// TestSQLiteTrials runs trials on logs in files.
func TestSQLiteTrials(t *testing.T) {
	t.Parallel()
	runTrials(t, func(t *testing.T) (store.Log, error) {
		return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "log.db"), true)
	}, *trials)
}

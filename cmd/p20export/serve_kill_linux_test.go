package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/p20export/p20export/serve/servetest"
	"github.com/p20export/p20export/store/sqlite"
)

var serveKills = flag.Int("servekills", 25, "how often TestServeKilledOften kills the program")

// A killable is a p20export serve that is killed and started again.
type killable struct {
	args []string

	mu  sync.Mutex
	s   *server
	url string
	up  chan struct{} // closed if it runs
}

func startKillable(t *testing.T, args ...string) *killable {
	t.Helper()
	k := &killable{args: args, up: make(chan struct{})}
	k.start(t)
	t.Cleanup(func() { k.kill(t, syscall.SIGTERM) })
	return k
}

func (k *killable) start(t *testing.T) {
	t.Helper()
	s, url := startServer(t, append([]string{"serve"}, k.args...)...)
	go func() { _, _ = io.Copy(io.Discard, s.log) }()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.s, k.url = s, url
	close(k.up)
}

func (k *killable) kill(t *testing.T, sig syscall.Signal) {
	t.Helper()
	k.mu.Lock()
	s := k.s
	k.up = make(chan struct{})
	k.mu.Unlock()
	s.kill(t, sig)
	_ = s.cmd.Wait()
}

// address returns the URL when the program runs.
func (k *killable) address(ctx context.Context) (string, error) {
	k.mu.Lock()
	up := k.up
	k.mu.Unlock()
	select {
	case <-up:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.url, nil
}

// TestServeKilledOften kills p20export serve in the middle of runs and starts it again. What any
// reader has seen is still there, the runs are closed, and readers that join again go on.
func TestServeKilledOften(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	agent := servetest.NewAgent()
	t.Cleanup(agent.Close)
	k := startKillable(t, "--store", "sqlite:"+file, "--upstream", servetest.Upstream+"="+agent.URL)
	log, err := sqlite.Open(t.Context(), file, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var sum servetest.Summary
	for round := range *serveKills {
		got, err := killDuring(t, rand.Uint64(), func(seed uint64, observe func(int)) (servetest.Summary, error) {
			ctx, cancel := context.WithTimeout(t.Context(), patience) // only if it hangs
			defer cancel()
			return servetest.Run(ctx, servetest.Settings{Seed: seed, Agent: agent, Log: log, URL: k.address, Killed: true, Observe: observe})
		}, func() {
			k.kill(t, syscall.SIGKILL)
			k.start(t)
		})
		sum.Add(got)
		if err != nil {
			t.Fatalf("kill %d: %v", round+1, err)
		}
	}
	t.Logf("%+v", sum)
	if sum.Lost < *serveKills/2 {
		t.Errorf("%d kills closed only %d runs", *serveKills, sum.Lost)
	}
}

// killDuring runs three trials at the same time, and calls kill once when the agent has sent
// some events, or at the end.
func killDuring(t *testing.T, seed uint64, trial func(seed uint64, observe func(int)) (servetest.Summary, error), kill func()) (sum servetest.Summary, err error) {
	t.Helper()
	left := atomic.Int64{}
	left.Store(1 + rand.Int64N(60))
	var once sync.Once
	now := make(chan struct{})
	observe := func(events int) {
		if left.Add(-int64(events)) <= 0 {
			once.Do(func() { close(now) })
		}
	}
	var mu sync.Mutex
	var running sync.WaitGroup
	for n := range uint64(3) {
		running.Go(func() {
			got, problem := trial(seed+n, observe)
			mu.Lock()
			defer mu.Unlock()
			sum.Add(got)
			err = errors.Join(err, problem)
		})
	}
	go func() {
		running.Wait()
		once.Do(func() { close(now) })
	}()
	<-now
	kill()
	running.Wait()
	return sum, err
}

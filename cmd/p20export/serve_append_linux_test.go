package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

var (
	appendTrials = flag.Int("appendtrials", 100, "the number of trials of TestServeAppendKilled")
	appendSeed   = flag.Uint64("appendseed", 0, "the seed of its first trial; 0 is a random one")
)

// An appender is a producer that appends one run. It loses requests and answers, repeats and
// reorders batches, and forgets how far it came.
type appender struct {
	*rand.Rand
	ks     []*killable // each batch goes to any of them
	thread string
	events []string
	// sent is called after each batch, with the number of events that the log has.
	sent func(events int)

	lost, repeated, reordered, forgotten int
}

// appendedTo is the answer to a batch, or a problem.
type appendedTo struct {
	status int
	Events int
	End    *string
	Code   string
}

var errLost = errors.New("lost on purpose")

// post sends a batch once.
func (a *appender) post(ctx context.Context, from, to int) (r appendedTo, err error) {
	url, err := a.address(ctx)
	if err != nil {
		return r, err
	}
	batch := map[string]any{"runId": "r", "producer": "p", "sequence": from, "events": raw(a.events[from:to])}
	if from == 0 {
		batch["input"] = json.RawMessage(`{"threadId":"` + a.thread + `","runId":"r","messages":[]}`)
	}
	body, err := json.Marshal(batch)
	if err != nil {
		return r, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/threads/"+a.thread+"/events", bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return r, errors.Join(errLost, err) // the server was killed
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return r, errors.Join(errLost, err)
	}
	r.status = response.StatusCode
	return r, json.Unmarshal(text, &r)
}

// address returns the URL of a server.
func (a *appender) address(ctx context.Context) (string, error) {
	return a.ks[rand.IntN(len(a.ks))].address(ctx)
}

func raw(events []string) []json.RawMessage {
	list := []json.RawMessage{}
	for _, e := range events {
		list = append(list, json.RawMessage(e))
	}
	return list
}

// send sends a batch until it is answered.
func (a *appender) send(ctx context.Context, from, to int) (appendedTo, error) {
	for {
		if a.IntN(5) == 0 { // the request does not arrive
			a.lost++
			continue
		}
		r, err := a.post(ctx, from, to)
		switch {
		case err == nil && a.IntN(5) == 0: // nor does the answer
			a.lost++
		case err == nil && r.status != http.StatusServiceUnavailable:
			return r, nil
		case err != nil && !errors.Is(err, errLost):
			return r, err
		case ctx.Err() != nil:
			return r, ctx.Err()
		}
	}
}

// run appends the run. It returns how many events were appended when the run was cancelled, or
// all.
func (a *appender) run(ctx context.Context) (int, error) {
	for at := 0; at < len(a.events); a.sent(at) {
		to := min(at+1+a.IntN(5), len(a.events))
		switch a.IntN(5) {
		case 0: // twice at the same time
			a.repeated++
			var both sync.WaitGroup
			both.Go(func() { _, _ = a.post(ctx, at, to) })
			_, _ = a.post(ctx, at, to)
			both.Wait()
		case 1: // the next one first
			a.reordered++
			if to < len(a.events) {
				if r, err := a.post(ctx, to, to+1); err == nil && r.status == http.StatusOK {
					return 0, fmt.Errorf("a batch after %d events was accepted, and %d had been sent", to, at)
				}
			}
		case 2: // a new process of the producer does not know how far it came
			a.forgotten++
			at = a.IntN(at + 1)
			to = min(at+1+a.IntN(5), len(a.events))
		}
		r, err := a.send(ctx, at, to)
		switch {
		case err != nil:
			return 0, err
		case r.status == http.StatusConflict && r.Code == "run_ended":
			return at, nil
		case r.status != http.StatusOK || r.Events < to:
			return 0, fmt.Errorf("the batch from %d to %d is answered with %+v", at, to, r)
		case r.End != nil && *r.End != "finished":
			return to, nil
		}
		at = r.Events
	}
	return len(a.events), nil
}

// TestServeAppendKilled appends runs while the server is killed and started again, and while
// requests and answers are lost, repeated and reordered. The log has each event once, in order,
// and nothing after the end of a run. Half of the runs are cancelled, if they still go on then.
func TestServeAppendKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	k := startKillable(t, "--store", "sqlite:"+file, "--allow-append")
	log, err := sqlite.Open(t.Context(), file, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	killAppending(t, log, k)
}

// killAppending runs the trials with servers of a log.
func killAppending(t *testing.T, log store.Log, ks ...*killable) {
	t.Helper()
	const together = 10
	first := *appendSeed
	if first == 0 {
		first = rand.Uint64()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience) // only if it hangs
	defer cancel()
	var lost, repeated, reordered, forgotten, kills, cancelled int
	for from := 0; from < *appendTrials; from += together {
		var trials []*appender
		steps := make(chan struct{})
		var running sync.WaitGroup
		for i := range min(together, *appendTrials-from) {
			seed := first + uint64(from+i)
			a := &appender{Rand: rand.New(rand.NewPCG(seed, 0)), ks: ks, thread: fmt.Sprint("t", seed), sent: func(int) { steps <- struct{}{} }}
			a.events = []string{`{"type":"RUN_STARTED","threadId":"` + a.thread + `","runId":"r"}`}
			for n := range 5 + a.IntN(40) {
				a.events = append(a.events, fmt.Sprintf(`{"type":"CUSTOM","name":"n","value":%d}`, n))
			}
			a.events = append(a.events, `{"type":"RUN_FINISHED","threadId":"`+a.thread+`","runId":"r"}`)
			trials = append(trials, a)
			running.Go(func() {
				stop := -1
				if a.IntN(2) == 0 {
					stop = a.IntN(10)
				}
				sent := a.sent
				a.sent = func(events int) {
					if stop--; stop == -1 {
						a.cancel(ctx)
					}
					sent(events)
				}
				if n, err := a.run(ctx); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				} else if err := a.check(ctx, log, n); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			})
		}
		done := make(chan struct{})
		go func() { running.Wait(); close(done) }()
		for left := 5 + rand.IntN(20); ; {
			select {
			case <-steps:
				if left--; left == 0 {
					k := ks[rand.IntN(len(ks))]
					k.kill(t, syscall.SIGKILL)
					k.start(t)
					kills++
					left = 5 + rand.IntN(60)
				}
				continue
			case <-done:
			}
			break
		}
		for _, a := range trials {
			lost, repeated, reordered, forgotten = lost+a.lost, repeated+a.repeated, reordered+a.reordered, forgotten+a.forgotten
			if r, err := log.Stream(ctx, store.Key{Thread: a.thread}, a.stream(ctx, log)); err != nil || r.Entries < int64(len(a.events)+2) {
				cancelled++
			}
		}
	}
	t.Logf("seeds from %d: %d kills; %d requests or answers lost, %d batches repeated, %d reordered, %d producers that forgot; %d runs cancelled", first, kills, lost, repeated, reordered, forgotten, cancelled)
	if trials := *appendTrials; kills < trials/10 || lost < trials || repeated < trials || reordered < trials || forgotten < trials || cancelled < trials/10 {
		t.Error("the trials were too quiet")
	}
}

// cancel cancels the run, if it goes on.
func (a *appender) cancel(ctx context.Context) {
	for {
		url, err := a.address(ctx)
		if err != nil {
			return
		}
		response, err := http.Post(url+"/threads/"+a.thread+"/runs/r/cancel", "application/json", strings.NewReader("{}"))
		if err == nil {
			response.Body.Close()
			if response.StatusCode != http.StatusServiceUnavailable {
				return
			}
		}
	}
}

// stream returns the id of the stream of the run.
func (a *appender) stream(ctx context.Context, log store.Log) (id string) {
	for s, err := range log.Streams(ctx, store.StreamQuery{Thread: &a.thread}) {
		if err == nil {
			id = s.ID
		}
	}
	return id
}

// check compares the log with the events that were appended: at least n, unless all were.
func (a *appender) check(ctx context.Context, log store.Log, n int) error {
	var events, rest []string
	for e, err := range log.Read(ctx, store.Key{Thread: a.thread}, 0) {
		switch {
		case err != nil:
			return err
		case e.Kind == store.Event && len(rest) > 0:
			return fmt.Errorf("position %d has an event after the end", e.Position)
		case e.Kind == store.Event:
			events = append(events, string(e.Data))
		case e.Kind != store.Input:
			rest = append(rest, string(e.Kind))
		}
	}
	if len(events) < n || !slices.Equal(events, a.events[:len(events)]) {
		return fmt.Errorf("the log has %d events %q, and %d were appended of %q", len(events), events, n, a.events)
	}
	if whole := len(events) == len(a.events); whole != (len(rest) == 1) || len(rest) == 0 || rest[len(rest)-1] != "end" {
		return fmt.Errorf("after %d of %d events, the log has %q", len(events), len(a.events), rest)
	}
	return nil
}

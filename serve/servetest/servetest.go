// Package servetest has the trials of package serve. In a trial, an agent answers runs of
// one thread with generated events, while readers join, leave and join again at random
// points, in each way that there is:
//
//	agent := servetest.NewAgent()
//	... // start a server with agent.URL as the upstream servetest.Upstream
//	err := servetest.Run(ctx, servetest.Settings{Seed: 1, Agent: agent, Log: log, URL: url})
//
// Each reader must get every event once, in order and byte for byte. What a reader of
// connect got must be valid, and lead to the messages and the state of the whole thread.
//
// The same seed gives the same runs, and the same decisions of the agent and of each
// reader. When they take place depends on the scheduler.
//
// The package knows HTTP and the log. It must not know package serve. Only tests use it.
package servetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/store"
)

// Upstream is the name under which the server has the agent.
const Upstream = "agent"

// Settings describe a trial.
type Settings struct {
	// Seed is the number of the trial.
	Seed uint64
	// Agent is the upstream of the server.
	Agent *Agent
	// Log is the log of the server.
	Log store.Log
	// URL returns the address of a server for a join. If several servers have the same
	// log, it may return another one each time. If there is none at the moment, it waits.
	URL func(ctx context.Context) (string, error)
	// Queue starts all runs of the thread at once. Otherwise each waits for the one before.
	Queue bool
	// Steady lets the agent send without waiting when each reader of the thread has joined,
	// and readers leave only when they have everything.
	Steady bool
	// Killed allows servers to be killed: then responses may break off.
	Killed bool
	// Observe, if not nil, is called when the agent has sent events, with their number.
	Observe func(events int)
}

// Summary counts what happened in trials.
type Summary struct {
	// Runs and Events count those of the log. Joins and Drops count requests of readers and
	// those that they left.
	Runs, Events, Joins, Drops int
	// Compacted counts runs that a reader got compacted, and Preludes those of connect.
	Compacted, Preludes int
	// Closed counts runs that the server closed. Lost are those without owner among them.
	Closed, Lost int
}

// Add adds the counts of another summary.
func (s *Summary) Add(o Summary) {
	s.Runs += o.Runs
	s.Events += o.Events
	s.Joins += o.Joins
	s.Drops += o.Drops
	s.Compacted += o.Compacted
	s.Preludes += o.Preludes
	s.Closed += o.Closed
	s.Lost += o.Lost
}

// A trial is a thread, its runs and its readers.
type trial struct {
	Settings
	key     store.Key
	scripts []*script
	readers []*reader // of the thread
	fail    context.CancelCauseFunc

	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	final   int64         // the last position with an event, or 0 until it is known
	// finalRun is the position at which the last run ends.
	finalRun int64
	book     map[int64]string
	summary  Summary
}

// Run runs a trial. The error says what a reader got that is wrong.
func Run(ctx context.Context, s Settings) (Summary, error) {
	t := newTrial(s)
	s.Agent.add(t)
	defer s.Agent.remove(t)
	err := t.run(ctx)
	if err != nil {
		err = fmt.Errorf("trial with seed %d, thread %s: %w", s.Seed, t.key.Thread, err)
	}
	return t.summary, err
}

func newTrial(s Settings) *trial {
	r := rand.New(rand.NewPCG(s.Seed, 21))
	t := &trial{
		Settings: s,
		// The id needs to be escaped in a path.
		key:     store.Key{Thread: fmt.Sprintf("thread %d/%x ü", s.Seed, rand.Uint32())},
		changed: make(chan struct{}),
		book:    make(map[int64]string),
	}
	// A client that joins refuses events that name another subagent than the messages do, which
	// is a limit of package join. The runs of a thread use the same ids, so only threads of one
	// run have subagents.
	runs, without := 1+r.IntN(4), judge.Subagents
	if r.IntN(3) == 0 {
		runs, without = 1, judge.MoreRuns|judge.OtherOwners|judge.Collisions
	}
	for i := range runs {
		id, parent := fmt.Sprintf("run-%d-%d", s.Seed, i), ""
		if i > 0 && r.IntN(2) == 0 {
			parent = t.scripts[i-1].runID
		}
		t.scripts = append(t.scripts, newScript(r, t.key.Thread, id, parent, without))
	}
	for i, v := range []view{raw, compacted, connected, followed, view(r.IntN(int(views)))} {
		t.readers = append(t.readers, newReader(t, v, nil, r.Uint64(), i))
	}
	for _, s := range t.scripts {
		for i := range 1 + r.IntN(3) {
			s.readers = append(s.readers, newReader(t, posted, s, r.Uint64(), i))
		}
	}
	return t
}

func (t *trial) run(ctx context.Context) error {
	ctx, t.fail = context.WithCancelCause(ctx)
	defer t.fail(nil)
	var running sync.WaitGroup
	for _, r := range t.readers {
		running.Go(func() { t.check(r.run(ctx)) })
	}
	var posting sync.WaitGroup
	for _, s := range t.scripts {
		for _, r := range s.readers {
			posting.Go(func() { t.check(r.run(ctx)) })
		}
		if !t.Queue {
			posting.Wait()
		}
	}
	posting.Wait()
	if ctx.Err() == nil {
		t.check(t.finish(ctx))
	}
	running.Wait()
	if ctx.Err() == nil {
		t.check(t.compare(ctx))
	}
	if err := context.Cause(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("the trial hangs: %s", t.status())
		}
		return err
	}
	return nil
}

// check ends the trial if err is not nil.
func (t *trial) check(err error) {
	if err != nil {
		t.fail(err)
	}
}

// finish finds out the last position with an event, at which readers leave.
func (t *trial) finish(ctx context.Context) error {
	th, err := t.thread(ctx)
	if err != nil {
		return err
	}
	if len(th.runs) == 0 {
		return errors.New("the thread has no runs")
	}
	t.change(func() {
		t.final = th.visible[len(th.visible)-1].Position
		t.finalRun = th.runs[len(th.runs)-1].end()
	})
	for _, r := range t.readers {
		r.drop()
	}
	return nil
}

// change changes the state of the trial, and wakes who waits for it.
func (t *trial) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

// await waits until a condition is true. It reports false if ctx is done before.
func (t *trial) await(ctx context.Context, condition func() bool) bool {
	for {
		t.mu.Lock()
		done, changed := condition(), t.changed
		t.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// record records what is at a position. All readers must see the same there, also after a
// restart of the server.
func (t *trial) record(position int64, data string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before, ok := t.book[position]; ok && before != data {
		return fmt.Errorf("position %d is %.200q, and was %.200q for another reader", position, data, before)
	}
	t.book[position] = data
	return nil
}

// status describes where the readers are.
func (t *trial) status() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "the last event has position %d;", t.final)
	for _, s := range t.scripts {
		fmt.Fprintf(&b, " %s: %d requests, %d of %d events sent;", s.runID, s.requests, s.sent, s.whole)
	}
	for _, r := range t.everyone() {
		fmt.Fprintf(&b, " %s: position %d, cursor %q, %d joins;", r.name, r.position, r.cursor, r.joins)
	}
	return b.String()
}

func (t *trial) everyone() []*reader {
	all := slices.Clone(t.readers)
	for _, s := range t.scripts {
		all = append(all, s.readers...)
	}
	return all
}

// visible reports whether readers get an entry.
func visible(e *store.Entry) bool { return e.Kind == store.Event || e.Kind == store.Closing }

// request returns the body of a RunAgentInput.
func request(thread, run, parent, message string) []byte {
	input := map[string]any{
		"threadId": thread, "runId": run, "state": map[string]any{}, "tools": []any{}, "context": []any{}, "forwardedProps": map[string]any{},
		"messages": []any{map[string]any{"id": "user-" + run, "role": "user", "content": message}},
	}
	if parent != "" {
		input["parentRunId"] = parent
	}
	text, err := json.Marshal(input)
	if err != nil {
		panic(err) // it is JSON
	}
	return text
}

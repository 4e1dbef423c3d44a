package serve_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

func newMemory(t *testing.T) *memory.Log {
	log := memory.New()
	t.Cleanup(func() { log.Close() })
	return log
}

// failing is a log that can fail, as one whose database is away.
type failing struct {
	*memory.Log
	away      atomic.Bool
	rewritten atomic.Bool // the first entries are others
}

var errAway = errors.New("the database is away")

func (f *failing) Append(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
	if f.away.Load() {
		return 0, errAway
	}
	return f.Log.Append(ctx, key, after, entries)
}

func (f *failing) Thread(ctx context.Context, key store.Key) (store.Thread, error) {
	if f.away.Load() {
		return store.Thread{}, errAway
	}
	return f.Log.Thread(ctx, key)
}

func (f *failing) Read(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return f.Select(ctx, key, store.Selection{After: after})
}

func (f *failing) Select(ctx context.Context, key store.Key, s store.Selection) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		for e, err := range f.Log.Select(ctx, key, s) {
			if err == nil && e.Position == 1 && f.rewritten.Load() {
				e.Data = []byte("{}")
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (f *failing) Threads(ctx context.Context, q store.ThreadQuery) iter.Seq2[store.Thread, error] {
	if f.away.Load() {
		return func(yield func(store.Thread, error) bool) { yield(store.Thread{}, errAway) }
	}
	return f.Log.Threads(ctx, q)
}

func (f *failing) Streams(ctx context.Context, q store.StreamQuery) iter.Seq2[store.Stream, error] {
	if f.away.Load() {
		return func(yield func(store.Stream, error) bool) { yield(store.Stream{}, errAway) }
	}
	return f.Log.Streams(ctx, q)
}

func (f *failing) Stream(ctx context.Context, key store.Key, id string) (store.Stream, error) {
	if f.away.Load() {
		return store.Stream{}, errAway
	}
	return f.Log.Stream(ctx, key, id)
}

// While the log fails, a run waits, and reads no more from its agent than fits. Then it goes
// on, and nothing is missing.
func TestLogAway(t *testing.T) {
	t.Parallel()
	log := &failing{Log: newMemory(t)}
	a := newAgent(t)
	p := start(t, log, a, serve.Settings{})
	c, answer := p.begin(a, "t", "r")
	log.away.Store(true)
	p.post("/agents/a", input("u", "r")).want(http.StatusServiceUnavailable, `"code":"log_failed"`)
	p.get("/threads/t/restore").want(http.StatusServiceUnavailable, `"code":"log_failed"`)
	if err := p.server.Check(t.Context()); !errors.Is(err, errAway) {
		t.Error(err)
	}
	large := `{"type":"CUSTOM","name":"x","value":"` + strings.Repeat("x", 1<<20) + `"}`
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range 40 {
			c.send(large)
		}
		c.send(finished("t", "r"))
		c.end()
	}()
	p.seen.until(t, "appends fail", func() bool { return p.seen.failed > 1 })
	select {
	case <-sent:
		t.Error("the agent could send everything")
	default:
	}
	log.away.Store(false)
	for i := range 40 {
		if e := answer.event(); !strings.HasSuffix(e, large) {
			t.Fatalf("event %d is %.80s", i, e)
		}
	}
	same(t, answer.event(), "43 "+finished("t", "r"))
	same(t, p.ended(1), serve.Finished)
	same(t, p.server.Check(t.Context()), nil)
}

// If the log fails for too long, the run is ended. When the log works again, the run is
// closed.
func TestLogAwayForLong(t *testing.T) {
	t.Parallel()
	log := &failing{Log: newMemory(t)}
	a := newAgent(t)
	p := start(t, log, a, serve.Settings{Limits: serve.Limits{StoreTimeout: time.Millisecond}})
	c, answer := p.begin(a, "t", "r")
	log.away.Store(true)
	c.send(step(1))
	<-c.left
	same(t, p.ended(1), serve.NotStored)
	log.away.Store(false)
	answer.wantClosing("owner_lost")
	p.seen.closed(t, 1)
}

// A server that has to stop does not wait for a log that fails. The next one closes the run.
func TestLogAwayAtDrain(t *testing.T) {
	t.Parallel()
	log := &failing{Log: newMemory(t)}
	a := newAgent(t)
	var said text
	p := start(t, log, a, serve.Settings{Logger: slog.New(slog.NewTextHandler(&said, nil))})
	c, answer := p.begin(a, "t", "r")
	log.away.Store(true)
	c.send(step(1))
	p.seen.until(t, "appends fail", func() bool { return p.seen.failed > 0 })
	ctx, cut := context.WithCancel(t.Context())
	cut()
	var e *serve.DrainError
	if err := p.server.Drain(ctx); !errors.As(err, &e) || e.Ended != 1 {
		t.Error(err)
	}
	p.seen.mu.Lock()
	same(t, p.seen.outcomes, []serve.Outcome{serve.NotStored})
	p.seen.mu.Unlock()
	answer.broken()
	for _, line := range []string{"run began", "events cannot be appended to the log; the run waits for it", "run ended"} {
		if want := `level=.* msg="` + line + `" thread=t agent=a run=r stream=serve:`; !regexp.MustCompile(want).MatchString(said.String()) {
			t.Errorf("no line is %s:\n%s", want, said.String())
		}
	}
	log.away.Store(false)
	p.stop()
	next := start(t, log, a, serve.Settings{})
	next.post("/threads/t/runs/r/cancel", "").want(http.StatusConflict, "run_ended")
	list := entries(t, log, "t")
	same(t, list[len(list)-1], "end error")
}

// A thread that is deleted ends its run.
func TestDeleted(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		c, answer := p.begin(a, "t", "r")
		if _, err := log.Delete(t.Context(), store.Key{Thread: "t"}); err != nil {
			t.Fatal(err)
		}
		<-c.left
		answer.broken()
		same(t, p.ended(1), serve.NotStored)
		for _, refused := range []interface{ want(int, string) }{
			p.post("/agents/a", input("t", "r")), p.get("/threads/t/events"), p.get("/threads/t/runs"), p.get("/threads/t/restore"),
			p.post("/threads/t/runs/r/cancel", ""),
		} {
			refused.want(http.StatusGone, `"code":"thread_deleted"`)
		}
	})
}

// A log that fails is said once, not for each request.
func TestLogAwayWarnings(t *testing.T) {
	t.Parallel()
	log := &failing{Log: newMemory(t)}
	var said text
	p := start(t, log, nil, serve.Settings{Logger: slog.New(slog.NewTextHandler(&said, nil))})
	log.away.Store(true)
	for range 5 {
		p.get("/threads/t/events").want(http.StatusServiceUnavailable, `"detail":"the log does not work at the moment"`)
	}
	p.stop()
	if n := strings.Count(said.String(), "level=WARN"); n != 1 || !strings.Contains(said.String(), errAway.Error()) {
		t.Errorf("%d warnings:\n%s", n, said.String())
	}
}

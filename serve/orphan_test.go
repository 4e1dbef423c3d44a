package serve_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// The runs of a process that was killed are closed by another one, and runs of other programs
// are not.
func TestOrphans(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		if _, err := log.Append(t.Context(), store.Key{Thread: "t"}, 0, []store.Entry{{Stream: "proxy", Kind: store.Event, Data: []byte(started("t", "p"))}}); err != nil {
			t.Fatal(err)
		}
		a := newAgent(t)
		first := start(t, log, a, serve.Settings{})
		c, answer := first.begin(a, "t", "r")
		_, silent := first.begin(a, "u", "r")
		_ = silent
		first.stop()
		<-c.left
		answer.broken()
		same(t, first.ended(2), serve.NotStored)

		second := start(t, log, a, serve.Settings{})
		second.seen.closed(t, 2)
		same(t, entries(t, log, "t"), []string{
			"event " + started("t", "p"), "input " + input("t", "r"), "event " + started("t", "r"),
			closing + `The process that ran this run has ended. The run was closed.","code":"p20export.owner_lost"`, "end error",
		})
		second.post("/agents/a", input("t", "r"), "Last-Event-ID", "3").wantClosing("owner_lost")
		second.post("/agents/a", input("u", "r"), "Last-Event-ID", "2").wantClosing("owner_lost")
	})
}

// A process finds the runs of one that ends while it works, and a client that reads there
// learns it.
func TestOrphansLater(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	a := newAgent(t)
	first, second := start(t, log, a, serve.Settings{}), start(t, log, a, serve.Settings{})
	_, answer := first.begin(a, "t", "r")
	other := second.post("/agents/a", input("t", "r"))
	same(t, other.event(), "2 "+started("t", "r"))
	second.post("/agents/a", input("t", "r2")).want(http.StatusConflict, `"run_id":"r"`)
	first.stop()
	answer.broken()
	other.wantClosing("owner_lost")
	second.seen.closed(t, 1)
	c, answer := second.begin(a, "t", "r2")
	c.send(finished("t", "r2"))
	c.end()
	answer.event()
}

// A request of a process that was killed before its agent answered can be sent again at once,
// with whatever the thread needs to be closed.
func TestOrphanOfThread(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	a := newAgent(t)
	first, second := start(t, log, a, serve.Settings{}), start(t, log, a, serve.Settings{Policy: serve.Queue})
	go http.Post(first.url+"/agents/a", "application/json", strings.NewReader(input("t", "r"))) // which fails
	a.next()
	first.stop()
	c, answer := second.begin(a, "t", "r3")
	c.send(finished("t", "r3"))
	c.end()
	answer.event()
	same(t, answer.text(), "")
	same(t, second.ended(1), serve.Finished)
	c, answer = second.begin(a, "t", "r")
	c.end()
	answer.wantClosing("upstream_ended")
}

// A writer that was taken for dead cannot add to a stream that was closed.
func TestFenced(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	a := newAgent(t)
	p := start(t, log, a, serve.Settings{})
	c, answer := p.begin(a, "t", "r")
	key := store.Key{Thread: "t"}
	streams := make([]store.Stream, 0, 1)
	for s, err := range log.Streams(t.Context(), store.StreamQuery{Open: true}) {
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	if _, err := log.Append(t.Context(), key, 2, []store.Entry{{Stream: streams[0].ID, Kind: store.End, Arrived: time.Now(), Data: []byte("error")}}); err != nil {
		t.Fatal(err)
	}
	same(t, answer.text(), "")
	<-c.left
	same(t, p.ended(1), serve.Cancelled)
	same(t, len(entries(t, log, "t")), 3)
}

// losing is a log whose leases can be lost, as those of a database that restarts.
type losing struct {
	*memory.Log
	lost  func(name string)
	taken chan string
}

func (l *losing) Leases(ctx context.Context, lost func(name string)) (store.Leases, error) {
	l.lost = lost
	leases, err := l.Log.Leases(ctx, nil)
	return &losingLeases{leases, l}, err
}

// losingLeases remember the name of the first lease.
type losingLeases struct {
	store.Leases
	log *losing
}

func (l *losingLeases) Take(ctx context.Context, name string) (bool, error) {
	select {
	case l.log.taken <- name:
	default:
	}
	return l.Leases.Take(ctx, name)
}

// A process that loses the lease of a thread leaves the agent, and appends nothing more: the
// run is that of the next holder, who closes it.
func TestLeaseLost(t *testing.T) {
	t.Parallel()
	memory := newMemory(t)
	log := &losing{Log: memory, taken: make(chan string, 1)}
	a := newAgent(t)
	first, second := start(t, log, a, serve.Settings{}), start(t, memory, a, serve.Settings{})
	c, answer := first.begin(a, "t", "r")
	log.lost("another")
	c.send(step(1))
	same(t, answer.event(), "3 "+step(1))
	log.lost(<-log.taken)
	<-c.left
	same(t, first.ended(1), serve.Lost)
	answer.wantClosing("owner_lost")
	second.seen.until(t, "the run is closed", func() bool {
		defer first.seen.lock()() // either can close it
		return second.seen.orphans+first.seen.orphans == 1
	})
}

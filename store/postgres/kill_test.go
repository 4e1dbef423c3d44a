//go:build postgres

package postgres

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/p20export/p20export/store"
)

// kills is how often TestPostgresServerKilled kills its server. make soak does it more often.
var kills = flag.Int("kills", 3, "kill the server of TestPostgresServerKilled `n` times")

// thread is the thread of the tests that kill the server.
func thread() store.Key { return store.Key{Tenant: "kill", Thread: "t"} }

// numbered returns n entries whose data is their position.
func numbered(after int64, n int) []store.Entry {
	entries := make([]store.Entry, n)
	for i := range entries {
		entries[i] = store.Entry{Stream: "s", Kind: store.Event, Data: strconv.AppendInt(nil, after+int64(i)+1, 10)}
	}
	return entries
}

// isNumbered returns an error unless an entry is that of a position.
func isNumbered(e *store.Entry, position int64) error {
	if e.Position != position || string(e.Data) != strconv.FormatInt(position, 10) {
		return fmt.Errorf("entry %d has position %d and data %s", position, e.Position, e.Data)
	}
	return nil
}

// requireNumbered checks that the thread has at least the positions up to last, each once.
func requireNumbered(t *testing.T, log store.Log, last int64) {
	t.Helper()
	n := int64(0)
	for e, err := range log.Read(t.Context(), thread(), 0) {
		if err == nil {
			n++
			err = isNumbered(e, n)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < last {
		t.Fatalf("the log has %d entries, but %d were acknowledged", n, last)
	}
}

// traffic appends to a thread and follows it, with one handle, through all errors.
type traffic struct {
	log      store.Log
	mu       sync.Mutex
	changed  sync.Cond
	last     int64 // the last position that was acknowledged
	followed int64
	writers  map[int64]int // who appended up to a position
	errors   []error       // of appends
	failed   error         // why it ended
	stop     context.CancelFunc
	running  sync.WaitGroup
}

func newTraffic(t *testing.T, log store.Log, writers int) *traffic {
	r := &traffic{log: log, writers: make(map[int64]int)}
	r.changed.L = &r.mu
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	t.Cleanup(r.end)
	for id := range writers {
		r.running.Go(func() { r.append(ctx, id) })
	}
	r.running.Go(func() { r.follow(ctx) })
	return r
}

// end ends the traffic.
func (r *traffic) end() {
	r.stop()
	r.running.Wait()
}

func (r *traffic) append(ctx context.Context, id int) {
	for last := int64(0); ctx.Err() == nil; {
		next, err := r.log.Append(ctx, thread(), last, numbered(last, 3))
		if err != nil {
			if found, err := r.log.Thread(ctx, thread()); err == nil {
				last = found.Last
			}
		}
		r.mu.Lock()
		if err == nil {
			if other, ok := r.writers[next]; ok {
				r.failed = fmt.Errorf("position %d was acknowledged to writers %d and %d", next, other, id)
			}
			last, r.last, r.writers[next] = next, max(r.last, next), id
		} else if !errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
			r.errors = append(r.errors, err)
		}
		r.changed.Broadcast()
		r.mu.Unlock()
	}
}

func (r *traffic) follow(ctx context.Context) {
	position := int64(0)
	for e, err := range r.log.Follow(ctx, thread(), 0) {
		if err == nil {
			position++
			err = isNumbered(e, position)
		}
		r.mu.Lock()
		r.followed = position
		if err != nil && ctx.Err() == nil {
			r.failed = fmt.Errorf("follow: %w", err)
		}
		r.changed.Broadcast()
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// wait waits until done, and returns the last acknowledged position.
func (r *traffic) wait(t *testing.T, done func() bool) int64 {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !done() && r.failed == nil {
		r.changed.Wait()
	}
	if r.failed != nil {
		t.Fatal(r.failed)
	}
	return r.last
}

// goOn waits until more was appended and followed than now.
func (r *traffic) goOn(t *testing.T) {
	t.Helper()
	last := r.wait(t, func() bool { return true })
	r.wait(t, func() bool { return r.last > last && r.followed > last })
}

// TestPostgresServerKilled kills the server and all its processes while two writers append and
// a follower follows. None of them opens the log again.
func TestPostgresServerKilled(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	r := newTraffic(t, open(t, s.schema()), 2)
	for range *kills {
		r.goOn(t)
		time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond) // any point of an append
		s.control(t, "kill")
		s.start(t)
	}
	r.goOn(t)
	r.end()
	requireNumbered(t, r.log, r.last)
}

// TestPostgresAppendLost ends the connection of an append that the server has begun.
func TestPostgresAppendLost(t *testing.T) {
	t.Parallel()
	s := shared(t)
	url := s.schema()
	log := open(t, url)
	if _, err := log.Append(t.Context(), thread(), 0, numbered(0, 1)); err != nil {
		t.Fatal(err)
	}
	other := connect(t, url)
	run(t, other, "BEGIN; SELECT FROM threads FOR UPDATE")
	done := make(chan error)
	go func() {
		_, err := log.Append(t.Context(), thread(), 1, numbered(1, 1))
		done <- err
	}()
	for pids := int64(0); pids == 0; {
		if err := other.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))`).Scan(&pids); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), lostAppend) {
		t.Errorf("Append returned the error %v; want %q", err, lostAppend)
	}
	run(t, other, "ROLLBACK")
	if _, err := log.Append(t.Context(), thread(), 1, numbered(1, 1)); err != nil {
		t.Error(err)
	}
}

// TestPostgresServerStopped stops the server in an orderly way, and starts it again.
func TestPostgresServerStopped(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	url := s.schema()
	r := newTraffic(t, open(t, url), 1)
	r.goOn(t)
	s.control(t, "stop")
	r.wait(t, func() bool { return len(r.errors) > 3 })
	const want = "the PostgreSQL server cannot be reached or ended the connection"
	r.mu.Lock()
	for _, err := range r.errors {
		if !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), lostAppend) {
			t.Errorf("an append failed with %v; want %q", err, want)
		}
	}
	r.mu.Unlock()
	for _, err := range r.log.Read(t.Context(), thread(), 0) {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Read returned the error %v; want %q", err, want)
		}
	}
	if _, err := Open(t.Context(), url, false); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Open returned the error %v; want %q", err, want)
	}
	s.start(t)
	r.goOn(t)
	r.end()
	requireNumbered(t, r.log, r.last)
}

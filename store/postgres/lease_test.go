//go:build postgres

package postgres

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/p20export/p20export/store"
)

// holder begins to hold leases of a log at a URL, and returns the names of those that are lost.
func holder(t *testing.T, url string, dial pgconn.DialFunc) (*leases, <-chan string) {
	t.Helper()
	c, err := parseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	if dial != nil {
		c.conn.DialFunc = dial
	}
	lost := make(chan string, 10)
	held, err := c.leases(t.Context(), func(name string) { lost <- name })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := held.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		close(lost)
		for name := range lost {
			t.Errorf("the lease %q is lost", name)
		}
	})
	return held.(*leases), lost
}

// takes checks whether a holder can take each of some leases now.
func takes(t *testing.T, l store.Leases, want bool, names ...string) {
	t.Helper()
	for _, name := range names {
		if got, err := l.Take(t.Context(), name); got != want || err != nil {
			t.Errorf("Take(%q) = %t, %v, want %t", name, got, err, want)
		}
	}
}

// takesAgain takes a lease as soon as the holder has a session.
func takesAgain(t *testing.T, l store.Leases, name string) {
	t.Helper()
	for {
		taken, err := l.Take(t.Context(), name)
		if taken {
			return
		}
		if err == nil {
			t.Fatalf("somebody has the lease %q", name)
		}
		if !strings.Contains(err.Error(), "the PostgreSQL server cannot be reached") {
			t.Fatal(err)
		}
	}
}

// TestPostgresLeasesAfterRestart kills the server, or stops it, and starts it again. The holder
// has its leases again as soon as it has a session.
func TestPostgresLeasesAfterRestart(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	url := s.schema()
	open(t, url)
	a, _ := holder(t, url, nil)
	takes(t, a, true, "a", "b", "c")
	for _, how := range []string{"kill", "stop"} {
		s.control(t, how)
		a.Release("c")
		if _, err := a.Take(t.Context(), "d"); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
			t.Errorf("Take while the server is away: %v", err)
		}
		s.start(t)
		takesAgain(t, a, "c")
		b, _ := holder(t, url, nil)
		takes(t, b, false, "a", "b", "c")
		takes(t, b, true, "d")
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A holder that has a session again before the others does not take their leases.
func TestPostgresLeasesReturn(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	url := s.schema()
	open(t, url)
	a, _ := holder(t, url, nil)
	b, _ := holder(t, url, nil)
	takes(t, a, true, "x")
	a.mu.Lock() // a notices nothing
	s.control(t, "kill")
	for l := b; l.connected(t.Context()); {
	}
	s.start(t)
	for l := b; !l.connected(t.Context()); {
	}
	a.mu.Unlock()
	takes(t, b, false, "x")
	takes(t, b, true, "y")
}

// TestPostgresLeasesLost ends the session of a holder, and another one takes one of its leases.
func TestPostgresLeasesLost(t *testing.T) {
	t.Parallel()
	url := shared(t).schema()
	open(t, url)
	a, lost := holder(t, url, nil)
	takes(t, a, true, "a", "b", "c")
	b, _ := holder(t, url, nil)
	admin := connect(t, url)
	for _, name := range []string{"b", "c"} {
		a.mu.Lock() // so it cannot begin another session
		run(t, admin, "SELECT pg_terminate_backend($1, 10000)", a.server.pid)
		takes(t, b, true, name)
		a.mu.Unlock()
		if got := <-lost; got != name {
			t.Errorf("the lease %q is lost, want %q", got, name)
		}
	}
	takes(t, a, false, "a", "b", "c")
	takes(t, b, false, "a", "b", "c")
	a.Release("b") // which it does not have any more
	takes(t, a, false, "b")
	b.Release("b")
	takes(t, a, true, "b")
}

// halfOpen is a connection whose loss the server does not notice.
type halfOpen struct {
	net.Conn
	cut atomic.Bool
}

func (c *halfOpen) Write(p []byte) (int, error) {
	if c.cut.Load() {
		return 0, syscall.ECONNRESET
	}
	return c.Conn.Write(p)
}

// Close does not close the connection.
func (c *halfOpen) Close() error { return nil }

// TestPostgresLeasesHalfOpen loses the connection of a holder while the server keeps the session
// and its locks. The holder ends that session and has its leases again.
func TestPostgresLeasesHalfOpen(t *testing.T) {
	t.Parallel()
	url := shared(t).schema()
	open(t, url)
	var mu sync.Mutex // a lost session is ended in the background, over a connection of its own
	var conns []*halfOpen
	a, _ := holder(t, url, func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { conn.Close() })
		half := &halfOpen{Conn: conn}
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, half)
		return half, nil
	})
	takes(t, a, true, "a", "b")
	sessionOf := func() session {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.server
	}
	before := sessionOf()
	mu.Lock()
	conns[len(conns)-1].cut.Store(true)
	mu.Unlock()
	takesAgain(t, a, "c")
	if sessionOf() == before {
		t.Fatal("the session was not lost")
	}
	b, _ := holder(t, url, nil)
	takes(t, b, false, "a", "b", "c")
	var sessions int
	if err := connect(t, url).QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2",
		before.pid, before.began).Scan(&sessions); err != nil || sessions != 0 {
		t.Errorf("the server has the lost session %d times: %v", sessions, err)
	}
}

package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/p20export/p20export/store"
)

const (
	// leaseCheck is how often a holder of leases finds out whether it still has its session.
	leaseCheck = time.Second
	// leaseTimeout limits the time that the server has to answer.
	leaseTimeout = 5 * time.Second
	// leaseReturn is how long holders whose sessions were lost have to take their leases again,
	// before a holder takes new ones.
	leaseReturn = 5 * time.Second
)

// leases are advisory locks of one session. The server gives them back when the session ends,
// so they end with the process. If the session is lost, another one takes them all again. A
// lease that somebody else has by then is lost. A server that restarts ends all sessions, so a
// holder that comes back first leaves the others time before it takes new leases.
type leases struct {
	config config
	lost   func(name string)
	stop   context.CancelFunc
	done   chan struct{} // closed when watch has ended

	mu     sync.Mutex
	closed bool
	conn   *pgx.Conn // nil while there is no session
	server session
	// back is when the session began, if it replaced one that was lost.
	back time.Time
	// names has the leases, also while there is no session.
	names map[string]mode
}

// mode says how a holder has a lease: the functions that lock and unlock it.
type mode struct{ lock, unlock string }

var (
	exclusive = mode{"pg_try_advisory_lock", "pg_advisory_unlock"}
	sharing   = mode{"pg_try_advisory_lock_shared", "pg_advisory_unlock_shared"}
)

// session identifies a session of a server. The number of a process can be used again.
type session struct {
	pid   int64
	began time.Time
}

// leases implements sqlstore.Dialect.Leases.
func (c config) leases(ctx context.Context, lost func(name string)) (store.Leases, error) {
	l := &leases{config: c.forLeases(), lost: lost, done: make(chan struct{}), names: make(map[string]mode)}
	if _, err := l.check(ctx); err != nil {
		return nil, explain(err)
	}
	watch, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.watch(watch)
	return l, nil
}

// forLeases returns how the session of leases connects. The server ends the session, and so
// the leases, soon after the machine of the holder is gone, and never because it is idle.
func (c config) forLeases() config {
	c.conn = c.conn.Copy()
	for name, value := range map[string]string{
		"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3", "idle_session_timeout": "0",
	} {
		c.conn.RuntimeParams[name] = value
	}
	return c
}

// number returns the number of the advisory lock of a lease. Clients can choose the names, so
// nobody may be able to find two with the same number.
func (c config) number(name string) int64 {
	sum := sha256.Sum256([]byte("leases of p20export\x00" + c.schema + "\x00" + name))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// Take implements store.Leases.
func (l *leases) Take(ctx context.Context, name string) (bool, error) {
	return l.have(ctx, name, exclusive)
}

// Share implements store.Leases.
func (l *leases) Share(ctx context.Context, name string) (bool, error) {
	return l.have(ctx, name, sharing)
}

func (l *leases) have(ctx context.Context, name string, how mode) (bool, error) {
	if err := l.waitReturn(ctx); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false, store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if _, has := l.names[name]; has {
		return false, nil
	}
	if l.conn == nil {
		return false, errNoSession
	}
	ok, err := l.try(ctx, name, how)
	if err != nil {
		return false, explain(err)
	}
	if ok {
		l.names[name] = how
	}
	return ok, nil
}

// waitReturn waits until the other holders had time to take their leases again.
func (l *leases) waitReturn(ctx context.Context) error {
	for {
		l.mu.Lock()
		wait := time.Until(l.back.Add(leaseReturn))
		if l.closed || l.conn == nil {
			wait = 0
		}
		l.mu.Unlock()
		if wait <= 0 {
			return nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		case <-l.done:
			return store.ErrClosed
		}
	}
}

// errNoSession reports that the session was lost and there is no other one yet.
var errNoSession = errors.New("the PostgreSQL server cannot be reached; see that it runs, and try again")

// try takes the lock of a lease. After an error the session has ended, so it has no lock whose
// fate is unknown.
//
// It does not end with ctx, because that would end the session.
func (l *leases) try(ctx context.Context, name string, how mode) (ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTimeout)
	defer cancel()
	if err = l.conn.QueryRow(ctx, "SELECT "+how.lock+"($1)", l.config.number(name)).Scan(&ok); err != nil {
		l.disconnect()
	}
	return ok, err
}

// Release implements store.Leases.
func (l *leases) Release(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	how, has := l.names[name]
	if !has {
		return
	}
	delete(l.names, name)
	if l.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaseTimeout)
	defer cancel()
	if _, err := l.conn.Exec(ctx, "SELECT "+how.unlock+"($1)", l.config.number(name)); err != nil {
		l.disconnect() // this gives back all leases; watch takes the others again
	}
}

// Close implements store.Leases.
func (l *leases) Close() error {
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	l.stop()
	<-l.done
	if closed {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return nil
	}
	// The server gives back the leases of a session that has ended a moment later.
	ctx, cancel := context.WithTimeout(context.Background(), leaseTimeout)
	defer cancel()
	_, err := l.conn.Exec(ctx, "SELECT pg_advisory_unlock_all()")
	l.disconnect()
	if gone(err) {
		return nil
	}
	return explain(err)
}

// disconnect ends the session. The caller holds l.mu.
func (l *leases) disconnect() {
	if l.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout)
	defer cancel()
	l.conn.Close(ctx)
	l.conn = nil
}

// watch keeps a session until ctx is done.
func (l *leases) watch(ctx context.Context) {
	defer close(l.done)
	for {
		wait := leaseCheck
		lost, err := l.check(ctx)
		if err != nil {
			wait = reconnect
		}
		for _, name := range lost {
			if ctx.Err() == nil {
				l.lost(name)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// check finds out whether the session still exists, and begins another one if not. It returns
// the leases that are lost.
func (l *leases) check(ctx context.Context) (lost []string, err error) {
	if l.connected(ctx) {
		return nil, nil
	}
	// Take and Release need not wait for this.
	conn, err := pgx.ConnectConfig(ctx, l.config.conn)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	if l.server != (session{}) {
		l.back = time.Now()
	}
	if err := l.identify(ctx); err != nil {
		l.disconnect()
		return nil, err
	}
	for name, how := range l.names {
		ok, err := l.try(ctx, name, how)
		if err != nil {
			return lost, err
		}
		if !ok {
			delete(l.names, name)
			lost = append(lost, name)
		}
	}
	return lost, nil
}

// connected reports whether there is a session.
func (l *leases) connected(ctx context.Context) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	if err := l.conn.Ping(ctx); err != nil {
		l.disconnect()
	}
	return l.conn != nil
}

// identify finds out what identifies the new session, and ends the last one: a server that did
// not notice the end of its connection keeps it, and its locks. The caller holds l.mu.
func (l *leases) identify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	last := l.server
	_, err := l.conn.Exec(ctx, "SELECT pg_terminate_backend(pid, $3) FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2",
		last.pid, last.began, leaseTimeout.Milliseconds())
	if err != nil {
		return err
	}
	return l.conn.QueryRow(ctx, "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()").
		Scan(&l.server.pid, &l.server.began)
}

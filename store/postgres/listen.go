package postgres

import (
	"context"
	"database/sql"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// reread is how often followers look for entries without a notification. A process
	// that is killed between a commit and its notification sends none.
	reread = time.Second
	// reconnect is the time between two attempts to connect.
	reconnect = 100 * time.Millisecond
	// notifyTimeout limits the time that Close waits for the last notification.
	notifyTimeout = time.Second
)

// channel returns the name of the channel for notifications. Logs of one database can be in
// several schemas.
func (c config) channel() string { return pgx.Identifier{c.schema}.Sanitize() }

// listen calls wake with the id of a thread after each append of any process, and with 0,
// which means any thread, when it may have missed some. It ends with ctx. If the server goes
// away it connects again.
func (c config) listen(ctx context.Context, wake func(thread int64)) error {
	for {
		c.listenOnce(ctx, wake)
		wake(0)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(reconnect):
		}
	}
}

// listenOnce listens until its connection is lost.
func (c config) listenOnce(ctx context.Context, wake func(thread int64)) {
	conn, err := pgx.ConnectConfig(ctx, c.conn)
	if err != nil {
		return
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
		defer cancel()
		conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+c.channel()); err != nil {
		return
	}
	wake(0)
	for ctx.Err() == nil && !conn.IsClosed() {
		wait, cancel := context.WithTimeout(ctx, reread)
		n, err := conn.WaitForNotification(wait)
		cancel()
		if err != nil {
			wake(0) // the time is over, or the connection is
			continue
		}
		id, _ := strconv.ParseInt(n.Payload, 10, 64)
		wake(id)
	}
}

// A notifier notifies other processes of appends. It does so after the commit: PostgreSQL
// commits transactions that notify one after another, each with a write to disk.
// Several appends that come at once become one statement.
type notifier struct {
	db      *sql.DB
	channel string

	mu      sync.Mutex
	pending map[int64]bool
	running bool
	idle    sync.Cond
}

func newNotifier(db *sql.DB, schema string) *notifier {
	n := &notifier{db: db, channel: schema, pending: make(map[int64]bool)}
	n.idle.L = &n.mu
	return n
}

// notify notifies other processes of an append to a thread. It does not wait.
func (n *notifier) notify(thread int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending[thread] = true
	if !n.running {
		n.running = true
		go n.run()
	}
}

// run sends what is pending. Followers find what it cannot send when they read again.
func (n *notifier) run() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.pending) > 0 {
		threads := make([]string, 0, len(n.pending))
		for id := range n.pending {
			threads = append(threads, strconv.FormatInt(id, 10))
		}
		clear(n.pending)
		n.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout)
		n.db.ExecContext(ctx, "SELECT pg_notify($1, thread) FROM unnest($2::text[]) AS thread", n.channel, threads)
		cancel()
		n.mu.Lock()
	}
	n.running = false
	n.idle.Broadcast()
}

// close waits until nothing is pending.
func (n *notifier) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.running {
		n.idle.Wait()
	}
}

package postgres

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	"github.com/p20export/p20export/store"
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

// listen calls wake with a thread after each append of any process, and with a zero key, which
// means any thread, when it may have missed some. It ends with ctx. If the server goes away it
// connects again.
func (c config) listen(ctx context.Context, wake func(store.Key)) error {
	for {
		c.listenOnce(ctx, wake)
		wake(store.Key{})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(reconnect):
		}
	}
}

// listenOnce listens until its connection is lost.
func (c config) listenOnce(ctx context.Context, wake func(store.Key)) {
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
	wake(store.Key{})
	for ctx.Err() == nil && !conn.IsClosed() {
		wait, cancel := context.WithTimeout(ctx, reread)
		n, err := conn.WaitForNotification(wait)
		cancel()
		if err != nil {
			wake(store.Key{}) // the time is over, or the connection is
			continue
		}
		wake(keyOf(n.Payload))
	}
}

// payload returns the payload of a notification: a JSON array of the tenant and the thread. That
// is at most 2 * 6 * store.MaxIDBytes bytes if all are control characters, and PostgreSQL accepts
// less than 8000. A longer one is left out, which means any thread.
func payload(key store.Key) string {
	text, err := json.Marshal([2]string{key.Tenant, key.Thread})
	if err != nil || len(text) >= 8000 {
		return ""
	}
	return string(text)
}

// keyOf returns the thread of a payload, or a zero key if it is not one of payload.
func keyOf(text string) store.Key {
	var ids [2]string
	if json.Unmarshal([]byte(text), &ids) != nil {
		return store.Key{}
	}
	return store.Key{Tenant: ids[0], Thread: ids[1]}
}

// A notifier notifies other processes of appends. It does so after the commit: PostgreSQL
// commits transactions that notify one after another, each with a write to disk.
// Several appends that come at once become one statement.
type notifier struct {
	db      *sql.DB
	channel string

	mu      sync.Mutex
	pending map[store.Key]bool
	running bool
	idle    sync.Cond
}

func newNotifier(db *sql.DB, schema string) *notifier {
	n := &notifier{db: db, channel: schema, pending: make(map[store.Key]bool)}
	n.idle.L = &n.mu
	return n
}

// notify notifies other processes of an append to a thread. It does not wait.
func (n *notifier) notify(key store.Key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending[key] = true
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
		for key := range n.pending {
			threads = append(threads, payload(key))
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

package postgres

import (
	"context"
	"crypto/rand"
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

// listen calls wake with a thread after each append by another log, and with a zero key, which
// means any thread, when it may have missed some. It ends with ctx. If the server goes away it
// connects again.
func (d *database) listen(ctx context.Context, wake func(store.Key)) error {
	for {
		d.listenOnce(ctx, wake)
		wake(store.Key{})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(reconnect):
		}
	}
}

// listenOnce listens until its connection is lost.
func (d *database) listenOnce(ctx context.Context, wake func(store.Key)) {
	conn, err := pgx.ConnectConfig(ctx, d.config.conn)
	if err != nil {
		return
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
		defer cancel()
		conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+d.config.channel()); err != nil {
		return
	}
	wake(store.Key{})
	for again := time.Now().Add(reread); ctx.Err() == nil && !conn.IsClosed(); {
		wait, cancel := context.WithDeadline(ctx, again)
		n, err := conn.WaitForNotification(wait)
		cancel()
		if err != nil { // the time is over, or the connection is
			wake(store.Key{})
			again = time.Now().Add(reread)
			continue
		}
		if key, by := parsePayload(n.Payload); by != d.notifier.id {
			wake(key)
		}
	}
}

// payload returns the payload of a notification: a JSON array of the tenant, the thread, and the id
// of the log that changed it, whose own followers know already. That is at most
// 2 * 6 * store.MaxIDBytes bytes and the id if all are control characters, and PostgreSQL accepts
// less than 8000. A longer one is left out, which means any thread.
func payload(key store.Key, id string) string {
	text, err := json.Marshal([3]string{key.Tenant, key.Thread, id})
	if err != nil || len(text) >= 8000 {
		return ""
	}
	return string(text)
}

// parsePayload returns the thread of a payload, and the id of the log that changed it. The key is
// zero if the text is not one of payload, and the id is empty if an older program sent it.
func parsePayload(text string) (key store.Key, id string) {
	var ids []string
	if json.Unmarshal([]byte(text), &ids) != nil || len(ids) < 2 {
		return store.Key{}, ""
	}
	if len(ids) > 2 {
		id = ids[2]
	}
	return store.Key{Tenant: ids[0], Thread: ids[1]}, id
}

// A notifier notifies other processes of appends. It does so after the commit: PostgreSQL
// commits transactions that notify one after another, each with a write to disk.
// Several appends that come at once become one statement.
type notifier struct {
	db      *sql.DB
	channel string
	id      string // that of the log, in its notifications

	mu      sync.Mutex
	pending map[store.Key]bool
	running bool
	idle    sync.Cond
}

func newNotifier(db *sql.DB, schema string) *notifier {
	n := &notifier{db: db, channel: schema, id: rand.Text(), pending: make(map[store.Key]bool)}
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
			threads = append(threads, payload(key, n.id))
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

package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"sync"

	"github.com/p20export/p20export/store/internal/sqlstore"
)

// group has the appends of this process that wait for a transaction. All that wait when a
// transaction begins share it, so they share the time that the disk needs for it.
type group struct {
	mu      sync.Mutex
	waiting []*waiter
	// turn has a value while one of the waiters writes for all.
	turn chan struct{}
}

// waiter is an append that waits.
type waiter struct {
	write *sqlstore.Write
	// done is closed when the following are set: the result of Dialect.Write.
	done    chan struct{}
	written bool
	err     error
}

// groupBytes is the size of entries at which no further append joins a transaction.
const groupBytes = 4 << 20

// append appends a batch in a transaction, together with others.
func (d *database) append(ctx context.Context, w *sqlstore.Write) (bool, error) {
	g := &d.group
	r := &waiter{write: w, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, r)
	g.mu.Unlock()
	for {
		select {
		case <-r.done:
			return r.written, r.err
		case g.turn <- struct{}{}:
			err := d.writeWaiting(ctx)
			<-g.turn
			if err != nil && g.leave(r) {
				return false, err
			}
		case <-ctx.Done():
			if g.leave(r) {
				return false, ctx.Err()
			}
			<-r.done // another call writes it
		}
	}
}

// leave removes a waiter. It reports false if another writes for it already.
func (g *group) leave(r *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, r)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

func (g *group) empty() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) == 0
}

// take removes and returns the waiters for a transaction.
func (g *group) take() []*waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, bytes := 0, int64(0)
	for n < len(g.waiting) && bytes < groupBytes {
		w := g.waiting[n].write
		bytes += w.Batch.Thread.Bytes - w.Before.Bytes
		n++
	}
	taken := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	return taken
}

// writeWaiting writes what waits. An error means that no transaction could begin.
func (d *database) writeWaiting(ctx context.Context) error {
	if d.group.empty() {
		return nil
	}
	if err := d.check(); err != nil {
		return err
	}
	tx, err := d.begin(ctx)
	if err != nil {
		return err
	}
	all := d.group.take()
	err = d.writeAll(tx, all)
	if err != nil && len(all) > 1 {
		// The error may be that of one of them.
		for _, r := range all {
			if tx, r.err = d.begin(context.Background()); r.err == nil {
				r.err = d.writeAll(tx, []*waiter{r})
			}
			r.written = r.written && r.err == nil
			close(r.done)
		}
		return nil
	}
	for _, r := range all {
		r.err, r.written = err, r.written && err == nil
		close(r.done)
	}
	return nil
}

// writeAll writes the batches of waiters and ends the transaction.
func (d *database) writeAll(tx *sql.Tx, all []*waiter) (err error) {
	for _, r := range all {
		if r.written, err = d.insert(context.Background(), tx, r.write); err != nil {
			tx.Rollback() // which the failed statement may have done
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return d.check() // what no other program sees is not acknowledged
}

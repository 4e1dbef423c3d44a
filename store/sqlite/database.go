package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/p20export/p20export/store/internal/sqlstore"
)

// pageBytes is the size of the pages of a new database. Larger pages are slower at 10^7
// entries: each append rewrites the last page of its thread.
const pageBytes = 4096

// readers is the maximum number of connections that read at the same time.
const readers = 8

// database has the connections to the file.
type database struct {
	path  string
	read  *sql.DB
	write *sql.DB // one connection
	// insertOne and insertMany insert 1 and rowsAtOnce rows of entries.
	insertOne, insertMany *sql.Stmt
}

// connect opens the connections. An empty database gets its permanent properties, which
// must be set before WAL.
func (d *database) connect(empty bool) error {
	var err error
	if d.read, err = sql.Open("sqlite", dsn(d.path, "query_only(1)")); err != nil {
		return err
	}
	d.read.SetMaxOpenConns(readers)
	d.read.SetMaxIdleConns(readers)
	pragmas := []string{"journal_mode(wal)", "synchronous(full)", "secure_delete(on)"}
	if empty {
		pragmas = append([]string{fmt.Sprintf("page_size(%d)", pageBytes), "auto_vacuum(incremental)"}, pragmas...)
	}
	d.write, err = sql.Open("sqlite", dsn(d.path, pragmas...))
	if err != nil {
		return errors.Join(err, d.read.Close())
	}
	d.write.SetMaxOpenConns(1)
	return nil
}

// migrate marks an empty database as a log, so that it is known as one before it has
// tables, and creates these.
func (d *database) migrate(ctx context.Context, empty bool) error {
	if empty {
		if _, err := d.write.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
			return err
		}
	}
	return sqlstore.Migrate(ctx, d.write, d.dialect())
}

// prepare prepares the statements that are used most.
func (d *database) prepare(ctx context.Context) (err error) {
	const query = `INSERT OR ROLLBACK INTO entries (thread_id, position, run, stream_number, kind, type, arrived_at, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	if d.insertOne, err = d.write.PrepareContext(ctx, query); err != nil {
		return err
	}
	d.insertMany, err = d.write.PrepareContext(ctx, query+strings.Repeat(`, (?, ?, ?, ?, ?, ?, ?, ?)`, rowsAtOnce-1))
	return err
}

// close closes the connections. The last one of all processes moves everything from the
// write-ahead log to the file and removes it.
func (d *database) close() error {
	return errors.Join(d.read.Close(), d.write.Close())
}

// size returns the size of the file and of the write-ahead log.
func (d *database) size(context.Context) (int64, error) {
	total := int64(0)
	for _, name := range []string{d.path, d.path + "-wal"} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) && name != d.path {
			continue
		}
		if err != nil {
			return 0, err
		}
		total += info.Size()
	}
	return total, nil
}

// reclaim gives free pages back to the file system, and empties the write-ahead log, which
// has older versions of pages. Free pages are overwritten with zeros before (secure_delete).
func (d *database) reclaim(ctx context.Context) error {
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `PRAGMA incremental_vacuum`); err != nil {
		return err
	}
	var busy, pages, moved int64
	if err := conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved); err != nil {
		return err
	}
	if busy != 0 {
		return errors.New("readers keep older versions of pages in use: repeat the command when they are done, to remove these from the disk")
	}
	return nil
}

// notify does nothing: see watch.
func notify(context.Context, *sql.Tx, int64) error { return nil }

// pollEvery is how often followers look for transactions of other processes.
const pollEvery = 2 * time.Millisecond

// watch wakes all followers when another connection has changed the database.
func (d *database) watch(ctx context.Context, wake func(thread int64)) error {
	conn, err := d.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for seen := int64(-1); ; {
		var version int64
		// A context that can be cancelled would cost a goroutine each time.
		if err := conn.QueryRowContext(context.WithoutCancel(ctx), `PRAGMA data_version`).Scan(&version); err != nil {
			return err
		}
		if version != seen {
			seen = version
			wake(0)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"modernc.org/sqlite"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/sqlstore"
)

// pageBytes is the size of the pages of a new database. Larger pages are slower at 10^7
// entries: each append rewrites the last page of its thread.
const pageBytes = 4096

// cacheKiB is the size of the cache of the connection that writes. It should have room for
// the pages of a large batch.
const cacheKiB = 16 << 10

// readers is the maximum number of connections that read at the same time.
const readers = 8

// database has the connections to the file.
type database struct {
	path       string
	access     access
	read       *sql.DB
	write      *sql.DB // one connection; nil if the log can only be read
	statements statements
	group      group
	claim      *claim
	identity   *identity
}

// setUp creates the tables of an empty database, or brings them up to date. It uses a
// connection of its own, which waits for other processes that do the same.
func (d *database) setUp(ctx context.Context, empty bool) error {
	pragmas := []string{busy(maxWait), "journal_mode(wal)", "synchronous(full)"}
	if d.access != readWrite {
		pragmas = pragmas[:1]
	}
	if empty {
		// These are permanent, and must be set before WAL.
		pragmas = append([]string{fmt.Sprintf("page_size(%d)", pageBytes), "auto_vacuum(incremental)"}, pragmas...)
	}
	db, err := sql.Open("sqlite", d.access.dsn(d.path, pragmas...))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if empty {
		// This comes first, so that a database with some of the tables is known as a log.
		if _, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
			return err
		}
	}
	if err := sqlstore.Migrate(ctx, db, d.dialect()); err != nil {
		return err
	}
	return db.Close()
}

// A connector opens the connections of a pool. None is used that leads to a file that has replaced
// the one that was opened: the last one to close would move the write-ahead log of the old file to it.
type connector struct {
	driver   sqlite.Driver
	database *database
	dsn      string
}

func (c *connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	if moved := c.database.check(); moved != nil {
		if err == nil {
			conn.Close()
		}
		return nil, moved
	}
	return conn, err
}

func (c *connector) Driver() driver.Driver { return &c.driver }

// pool returns a pool of connections that run the given pragmas first.
func (d *database) pool(pragmas ...string) *sql.DB {
	return sql.OpenDB(&connector{database: d, dsn: d.access.dsn(d.path, pragmas...)})
}

// connect opens the connections.
func (d *database) connect(ctx context.Context) (err error) {
	d.read = d.pool(busy(maxWait), "query_only(1)")
	d.read.SetMaxOpenConns(readers)
	d.read.SetMaxIdleConns(readers)
	if d.access != readWrite {
		return nil
	}
	d.write = d.pool(busy(busyWait), "synchronous(full)", "secure_delete(on)", fmt.Sprintf("cache_size(%d)", -cacheKiB))
	d.write.SetMaxOpenConns(1)
	if err := d.statements.prepare(ctx, d.write); err != nil {
		return errors.Join(err, d.disconnect())
	}
	return nil
}

// SQLite does not notice that a context is done while it waits for another process. So it
// waits for busyWait, and until repeats what was busy for maxWait.
const (
	busyWait = 100 * time.Millisecond
	maxWait  = 10 * time.Second
)

func busy(wait time.Duration) string {
	return fmt.Sprintf("busy_timeout(%d)", wait.Milliseconds())
}

// until repeats do while another process is in the way, at most until maxWait.
func until(ctx context.Context, do func() error) error {
	for end := time.Now().Add(maxWait); ; {
		err := do()
		if !isBusy(err) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond): // SQLite does not always wait
		}
	}
}

// begin begins a transaction that writes. It does not end when ctx is done, because it
// can have the appends of others.
func (d *database) begin(ctx context.Context) (tx *sql.Tx, err error) {
	if err := cmp.Or(ctx.Err(), d.access.writes()); err != nil {
		return nil, err
	}
	err = until(ctx, func() error {
		tx, err = d.write.BeginTx(context.WithoutCancel(ctx), nil)
		return err
	})
	return tx, err
}

// disconnect closes the connections. The last one of all processes moves everything from the
// write-ahead log to the file and removes it.
func (d *database) disconnect() error {
	err := d.read.Close()
	if d.write != nil {
		err = errors.Join(err, d.write.Close())
	}
	return err
}

// close closes everything.
func (d *database) close() error {
	return errors.Join(d.disconnect(), d.claim.release())
}

// check implements sqlstore.Dialect.Check and Still.
func (d *database) check() error {
	if d.identity == nil {
		return nil // it is being opened
	}
	return d.identity.check()
}

// size returns the size of the file and of the write-ahead log.
func (d *database) size(context.Context) (int64, error) {
	total := int64(0)
	for _, name := range []string{d.path, d.path + walSuffix} {
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
	if err := d.access.writes(); err != nil {
		return err
	}
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := until(ctx, func() error {
		_, err := conn.ExecContext(ctx, `PRAGMA incremental_vacuum`)
		return err
	}); err != nil {
		return err
	}
	return until(ctx, func() error {
		var blocked, pages, moved int64
		err := conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&blocked, &pages, &moved)
		if err == nil && blocked != 0 {
			err = sqlstore.ErrInUse
		}
		return err
	})
}

// notify does nothing: see watch.
func notify(context.Context, *sql.Tx, store.Key) error { return nil }

// pollEvery is how often followers look for transactions of other processes.
const pollEvery = 2 * time.Millisecond

// watch makes followers look at their threads when another process has changed the database. The
// appends of this process wake them without it.
func (d *database) watch(ctx context.Context, wake func(store.Key)) error {
	conn, err := d.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	version, err := conn.PrepareContext(ctx, dataVersion)
	if err != nil {
		return err
	}
	defer version.Close()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for seen, others := int64(-1), int64(-1); ; {
		if err := d.check(); err != nil {
			return err
		}
		wait := pollEvery
		var now int64
		// A context that can be cancelled would cost a goroutine each time.
		if err := version.QueryRowContext(context.WithoutCancel(ctx)).Scan(&now); err != nil {
			return cmp.Or(d.check(), err)
		}
		if now != seen {
			seen = now
			if v := d.otherVersion(ctx); v != others || v == 0 {
				others = v
				began := time.Now()
				wake(store.Key{})
				// With many followers, most of the time is for other work.
				wait = max(wait, 4*time.Since(began))
			}
		}
		pause.Reset(wait)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// dataVersion is a query whose result changes when another connection has changed the database.
const dataVersion = `PRAGMA data_version`

// otherVersion returns a number that changes when another process has changed the database, or
// 0 if it is not known: this process has one connection that writes.
func (d *database) otherVersion(ctx context.Context) (version int64) {
	if d.access != readWrite {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, 10*pollEvery)
	defer cancel()
	if d.statements.dataVersion.QueryRowContext(ctx).Scan(&version) != nil {
		return 0
	}
	return version
}

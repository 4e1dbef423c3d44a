package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/p20export/p20export/store"
)

// Config says where a log is.
type Config struct {
	Dialect *Dialect
	// Read has the connections for reading.
	Read *sql.DB
	// Close closes everything. Other methods may still be running.
	Close func() error
}

// Log is a log in a SQL database. It implements store.Log.
type Log struct {
	config    Config
	dialect   *Dialect
	db        *sql.DB // for reading
	followers followers
	states    states
	closed    atomic.Bool
}

// Open opens the log of a database whose schema is up to date: see Migrate.
func Open(c Config) *Log {
	l := &Log{config: c, dialect: c.Dialect, db: c.Read}
	l.followers.watch, l.followers.look = l.dialect.Watch, l.look
	return l
}

// Close closes the log. Calls that are running, and later ones, end with store.ErrClosed.
func (l *Log) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	l.followers.close()
	return l.config.Close()
}

// Leases implements store.Leaser.
func (l *Log) Leases(ctx context.Context, lost func(name string)) (store.Leases, error) {
	if l.closed.Load() {
		return nil, store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	leases, err := l.dialect.Leases(ctx, lost)
	if err != nil {
		return nil, fmt.Errorf("hold leases of the log: %w", err)
	}
	return leases, nil
}

// Check returns an error if nothing can be appended because the log no longer is where it was
// opened, for example because a file of it was replaced.
func (l *Log) Check() error {
	if l.dialect.Check == nil {
		return nil
	}
	return l.dialect.Check()
}

// Migrate creates the tables of a log, or brings those of an older program up to date. If
// create is false, it does nothing to a database without tables. The error is
// store.ErrNewer if the tables are of a newer program.
//
// Without a Locker, several processes may create the tables at the same time. All but one
// fail then, and find afterwards that there is nothing left to do.
func Migrate(ctx context.Context, db *sql.DB, d *Dialect) error {
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger())}
	if d.Locker != nil {
		options = append(options, goose.WithSessionLocker(d.Locker))
	}
	provider, err := goose.NewProvider(d.Goose, db, d.Migrations, options...)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	for before := int64(-1); ; {
		have, want, err := provider.GetVersions(ctx)
		if err != nil {
			return fmt.Errorf("read the version of the tables: %w", err)
		}
		if have > want {
			return fmt.Errorf("%w: its tables have version %d, and this program knows version %d", store.ErrNewer, have, want)
		}
		if have == want {
			return nil
		}
		if _, err = provider.Up(ctx); err != nil && have <= before {
			return fmt.Errorf("create the tables of version %d: %w", want, err)
		}
		before = have
	}
}

// ready returns an error if the log is closed or the key is not valid.
func (l *Log) ready(key store.Key) error {
	if err := key.Check(); err != nil {
		return err
	}
	if l.closed.Load() {
		return store.ErrClosed
	}
	return nil
}

// still returns an error if what was just read, with an error or without, may be wrong.
func (l *Log) still(err error) error {
	if l.dialect.Still == nil {
		return err
	}
	return cmp.Or(l.dialect.Still(), err)
}

// explain explains an error of the database. Errors of package store stay as they are.
func (l *Log) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case l.closed.Load():
		return store.ErrClosed
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return l.dialect.Explain(err)
}

// Micros returns a time as it is stored: in microseconds, or nil if it is zero.
func Micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixMicro()
	return &n
}

// ofMicros returns the time that was stored as Micros.
func ofMicros(n *int64) time.Time {
	if n == nil {
		return time.Time{}
	}
	return time.UnixMicro(*n).UTC()
}

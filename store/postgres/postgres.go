package postgres

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"hash/fnv"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/sqlstore"
)

// oldestServer is the oldest version of PostgreSQL that is supported: 15.
const oldestServer = 150000

//go:embed migrations/*.sql
var migrations embed.FS

// database is the database of an open log.
type database struct {
	config   config
	db       *sql.DB
	notifier *notifier
}

// Open opens the log in a PostgreSQL database. If create is true, it creates the schema and the
// tables if there are none. The errors are store.ErrNoLog, store.ErrNotLog and store.ErrNewer.
//
// The URL has the form postgres://user@host:port/database?name=value. What it does not say is
// taken from the environment variables, the password file and the service file that
// PostgreSQL's own programs use. The tables are in the schema p20export, unless the parameter
// search_path names another one.
func Open(ctx context.Context, url string, create bool) (store.Log, error) {
	c, err := parseConfig(url)
	if err != nil {
		return nil, err
	}
	d := &database{config: c, db: stdlib.OpenDB(*c.conn)}
	d.db.SetMaxOpenConns(maxConns)
	d.db.SetMaxIdleConns(maxConns)
	d.db.SetConnMaxIdleTime(maxIdle)
	d.notifier = newNotifier(d.db, c.schema)
	dialect := &sqlstore.Dialect{
		Goose: goose.DialectPostgres, Locker: locker{c.schema},
		Begin: func(ctx context.Context) (*sql.Tx, error) { return d.db.BeginTx(ctx, nil) },
		Write: d.append, Watch: d.listen, Gone: gone, Elements: "jsonb_array_elements($1::jsonb) AS k(value)", SendsAll: true, Notify: d.notify, LockRow: " FOR UPDATE", Leases: c.leases,
		Reclaim: d.reclaim, Size: d.size, Explain: explain,
	}
	dialect.Migrations, err = fs.Sub(migrations, "migrations")
	if err == nil {
		err = d.migrate(ctx, dialect, create)
	}
	if err != nil {
		d.db.Close()
		return nil, fmt.Errorf("open the log in %s: %w", c, explain(err))
	}
	return sqlstore.Open(sqlstore.Config{Dialect: dialect, Read: d.db, Close: d.close}), nil
}

// String names the database and the schema.
func (c config) String() string {
	return fmt.Sprintf("schema %s of database %s at %s port %d", c.schema, c.conn.Database, c.conn.Host, c.conn.Port)
}

// migrate checks the server and the database, and brings the tables up to date.
func (d *database) migrate(ctx context.Context, dialect *sqlstore.Dialect, create bool) error {
	var version int
	var text, encoding string
	var schema, tables, log bool
	err := d.db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'),
		current_setting('server_encoding'), to_regnamespace($1) IS NOT NULL,
		EXISTS (SELECT FROM pg_tables WHERE schemaname = $1), to_regclass($1 || '.goose_db_version') IS NOT NULL`,
		d.config.schema).Scan(&version, &text, &encoding, &schema, &tables, &log)
	if err != nil {
		return err
	}
	if err := checkServer(version, text, encoding); err != nil {
		return err
	}
	switch {
	case !log && tables:
		return fmt.Errorf("%w: the schema has other tables; name another one with the parameter search_path of the URL", store.ErrNotLog)
	case !log && !create:
		return store.ErrNoLog
	case !schema:
		if err := d.createSchema(ctx); err != nil {
			return err
		}
	}
	return sqlstore.Migrate(ctx, d.db, dialect)
}

// checkServer checks the version of the server and the encoding of the database.
func checkServer(version int, text, encoding string) error {
	if version < oldestServer {
		return fmt.Errorf("the server is PostgreSQL %s, but PostgreSQL %d or newer is needed", text, oldestServer/10000)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the encoding of the database is %s, but UTF8 is needed; create one with createdb -E UTF8 -T template0", encoding)
	}
	return nil
}

// createSchema creates the schema. Another process can do so at the same time.
func (d *database) createSchema(ctx context.Context) error {
	_, err := d.db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{d.config.schema}.Sanitize())
	if code(err) == uniqueViolation {
		return nil
	}
	return err
}

// size returns the size of the tables of the log on the server's disk, with their indexes.
func (d *database) size(ctx context.Context) (int64, error) {
	var bytes int64
	err := d.db.QueryRowContext(ctx, `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
		FROM pg_class c WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'r'`, d.config.schema).Scan(&bytes)
	return bytes, err
}

// notify implements sqlstore.Dialect.Notify.
func (d *database) notify(ctx context.Context, tx *sql.Tx, key store.Key) error {
	_, err := tx.ExecContext(ctx, "SELECT pg_notify($1, $2)", d.config.schema, payload(key, d.notifier.id))
	return err
}

// reclaim gives the space of deleted rows to new ones. PostgreSQL only warns a user who does not
// own the tables; autovacuum does it later then.
func (d *database) reclaim(ctx context.Context) error {
	_, err := d.db.ExecContext(ctx, "VACUUM entries, packs, runs, streams, seals, blocks, derived, threads")
	return err
}

func (d *database) close() error {
	d.notifier.close()
	return d.db.Close()
}

// locker locks the schema while migrations are applied.
type locker struct{ schema string }

// SessionLock implements goose's lock.SessionLocker.
func (l locker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", l.id())
	return err
}

// SessionUnlock implements goose's lock.SessionLocker.
func (l locker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", l.id())
	return err
}

// id returns the number of the lock. Other schemas and programs have other numbers.
func (l locker) id() int64 {
	h := fnv.New64a()
	h.Write([]byte("p20export\x00" + l.schema))
	return int64(h.Sum64())
}

// Package sqlite is a log in a SQLite database: one file, no server.
//
// The file has a write-ahead log next to it while it is open, whose name ends in -wal, and
// an index of that in shared memory, whose name ends in -shm. Several processes of one
// machine can use the file at the same time. It must not be on a network file system. While it
// is open, it must not be moved or replaced, and the other two must not be removed: all calls then
// fail, and what was appended before is moved to the file by Close. A file with several names is
// refused, and on Linux one that is open at another path. VACUUM INTO copies it (with SQLite's own program, for example).
//
// A file that the process may not write, or whose directory it may not write, can be read: see
// access.
//
// An append is on disk when it returns (synchronous=FULL). One transaction writes at a time.
// Follow notices what other processes append within a few milliseconds. It ends with an
// error if the file cannot be read, and can be called again after the last position.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/sqlstore"
)

// applicationID marks a database as a log: "P20E".
const applicationID = 0x50323045

// migrations has the migrations. Their numbers are those of PostgreSQL.
//
//go:embed migrations/*.sql
var migrations embed.FS

// creating makes Open create a file and close it again before anything else in the process
// opens it: closing a file gives up all locks that the process has on it.
var creating sync.Mutex

// Open opens the log in a file. If there is none, it creates one that only its owner may
// read, or returns store.ErrNoLog if create is false. The error is store.ErrNotLog if the
// file is something else, and store.ErrNewer if a newer program wrote it.
func Open(ctx context.Context, file string, create bool) (store.Log, error) {
	log, err := open(ctx, file, create)
	if err != nil {
		return nil, fmt.Errorf("open the log %s: %w", file, err)
	}
	return log, nil
}

func open(ctx context.Context, file string, create bool) (*sqlstore.Log, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if err := prepare(path, create); err != nil {
		return nil, err
	}
	d, err := openDatabase(ctx, path, create)
	if err != nil {
		return nil, err
	}
	return sqlstore.Open(sqlstore.Config{Dialect: d.dialect(), Read: d.read, Close: d.close}), nil
}

// openDatabase opens the database in a file that prepare has checked.
func openDatabase(ctx context.Context, path string, create bool) (*database, error) {
	a, err := accessOf(path, create)
	if err != nil {
		return nil, err
	}
	c, err := claimFile(path, a != readWrite) // before SQLite can create another write-ahead log
	if err != nil {
		return nil, err
	}
	d := &database{path: path, access: a, claim: c, group: group{turn: make(chan struct{}, 1)}}
	// SQLite itself does not wait for a process that changes the journal mode of a new file, or
	// that removes the write-ahead log as the last one.
	if err := until(ctx, func() error { return d.open(ctx, create) }); err != nil {
		return nil, errors.Join(err, c.release())
	}
	return d, nil
}

// open opens the connections.
func (d *database) open(ctx context.Context, create bool) error {
	var err error
	if d.access != readWrite {
		if d.identity, err = identify(d.path, d.access); err != nil {
			return err
		}
	}
	empty, err := inspect(ctx, d.path, d.access)
	if err != nil {
		return explain(err)
	}
	if empty && !create {
		return fmt.Errorf("%w: the file is empty", store.ErrNoLog)
	}
	if err := d.setUp(ctx, empty); err != nil {
		return explain(err)
	}
	if err := d.connect(ctx); err != nil {
		return explain(err)
	}
	if d.identity == nil { // SQLite has created the write-ahead log
		if d.identity, err = identify(d.path, d.access); err != nil {
			return errors.Join(err, d.disconnect())
		}
	}
	return nil
}

// prepare checks that the file is one that SQLite can use, and creates it if there is none.
func prepare(path string, create bool) error {
	creating.Lock()
	defer creating.Unlock()
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !create:
		return fmt.Errorf("%w: the file does not exist", store.ErrNoLog)
	case errors.Is(err, fs.ErrNotExist):
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			return errors.New("its directory does not exist: create it first")
		}
		if errors.Is(err, fs.ErrExist) {
			return nil // another process was faster
		}
		if err != nil {
			return err
		}
		return f.Close()
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		return fmt.Errorf("%w: it is a symbolic link: give the path of the file", store.ErrNotLog)
	case info.IsDir():
		return fmt.Errorf("%w: it is a directory", store.ErrNotLog)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: it is not a regular file", store.ErrNotLog)
	}
	return checkLinks(path, info)
}

// inspect checks that the file is a log, without changing it, and reports whether it is an
// empty database.
func inspect(ctx context.Context, path string, a access) (empty bool, err error) {
	db, err := sql.Open("sqlite", a.dsn(path, busy(maxWait), "query_only(1)"))
	if err != nil {
		return false, err
	}
	defer db.Close()
	// Another process may be creating the log, so both are read at once.
	var id, tables int64
	if err := db.QueryRowContext(ctx, `SELECT application_id, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id`).Scan(&id, &tables); err != nil {
		return false, err
	}
	if id != applicationID && (id != 0 || tables > 0) {
		return false, fmt.Errorf("%w: it is the SQLite database of another program", store.ErrNotLog)
	}
	return tables == 0, nil
}

// dsn returns the name of a connection that runs the given pragmas first.
func (a access) dsn(path string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // on Windows
	}
	q := url.Values{
		"mode":      {"rw"},
		"_error_rc": {"1"},
		"_txlock":   {"immediate"},
		"_pragma":   pragmas,
	}
	switch a {
	case readShared:
		q.Set("mode", "ro")
	case readAlone:
		q.Set("mode", "ro")
		q.Set("immutable", "1")
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// dialect returns how SQLite differs.
func (d *database) dialect() *sqlstore.Dialect {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the name is valid
	}
	return &sqlstore.Dialect{
		Goose: goose.DialectSQLite3, Migrations: sub,
		Begin: d.begin, Write: d.append, Watch: d.watch, Elements: "json_each($1) k", Notify: notify, Leases: d.leases, Reclaim: d.reclaim, Size: d.size, Explain: explain, Check: d.check, Still: d.check,
		// SQLite would sort all threads of the tenant: 100,000 take a hundred times as long.
		ByTime: " INDEXED BY threads_updated_at",
	}
}

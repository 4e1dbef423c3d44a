// Package sqlitetest does to SQLite logs what operators do to them.
package sqlitetest

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"
)

// Rewind copies a log, and returns a function that restores the copy, again and again. Both work
// while programs use the log, as the commands .backup and .restore of SQLite's shell do.
func Rewind(t testing.TB, file string) (restore func()) {
	t.Helper()
	db, backup := copied(t, file)
	return func() {
		t.Helper()
		if err := copyInto(db, backup); err != nil {
			t.Fatal(err)
		}
	}
}

// Replace copies a log, and returns a function that puts the copy in the place of the file, which
// programs may have open.
func Replace(t testing.TB, file string) (replace func()) {
	t.Helper()
	db, backup := copied(t, file)
	db.Close()
	return func() {
		t.Helper()
		if err := os.Rename(backup, file); err != nil {
			t.Fatal(err)
		}
	}
}

// copied opens a log and copies it.
func copied(t testing.TB, file string) (db *sql.DB, backup string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	backup = filepath.Join(t.TempDir(), "backup")
	if _, err := db.ExecContext(t.Context(), "VACUUM INTO ?", backup); err != nil {
		t.Fatal(err)
	}
	return db, backup
}

// copyInto replaces a database by that in a file.
func copyInto(db *sql.DB, file string) error {
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(c any) error {
		b, err := c.(interface {
			NewRestore(string) (*sqlite.Backup, error)
		}).NewRestore("file:" + file)
		if err != nil {
			return err
		}
		_, err = b.Step(-1)
		return errors.Join(err, b.Finish())
	})
}

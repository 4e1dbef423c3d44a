package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// TestSQLiteRefused opens what is not a log, and checks that nothing of it was changed.
func TestSQLiteRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		make   func(t *testing.T, path string)
		create bool
		is     error
		says   string
	}{
		{"missing", func(*testing.T, string) {}, false, store.ErrNoLog, "does not exist"},
		{"empty", func(t *testing.T, path string) { write(t, path, nil) }, false, store.ErrNoLog, "empty"},
		{"text", func(t *testing.T, path string) { write(t, path, bytes.Repeat([]byte("text\n"), 999)) }, true, store.ErrNotLog, "not a SQLite database"},
		{"directory", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o755)) }, true, store.ErrNotLog, "is a directory"},
		{"pipe", func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o600)) }, true, store.ErrNotLog, "not a regular file"},
		{"link", func(t *testing.T, path string) { must(t, os.Symlink("nowhere", path)) }, true, store.ErrNotLog, "symbolic link"},
		{"other program", func(t *testing.T, path string) { database(t, path, `CREATE TABLE t (x)`) }, true, store.ErrNotLog, "another program"},
		{"other id", func(t *testing.T, path string) { database(t, path, `PRAGMA application_id = 7`) }, true, store.ErrNotLog, "another program"},
		{"newer", func(t *testing.T, path string) {
			newLog(t, path)
			database(t, path, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (1000000, 1)`)
		}, true, store.ErrNewer, "version 1000000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "log")
			test.make(t, path)
			before := listing(t, path)
			log, err := sqlite.Open(t.Context(), path, test.create)
			if err == nil {
				log.Close()
			}
			if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v", err)
			}
			if after := listing(t, path); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
	}
	_, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "no", "log"), true)
	if err == nil || !strings.Contains(err.Error(), "directory does not exist") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "log"), true); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestSQLiteFile checks names that have a meaning in URLs, relative paths and modes.
func TestSQLiteFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	key := store.Key{Thread: "t"}
	for _, name := range []string{"log", "a b?mode=memory#c%20d&e", "%2f", "file:x", ":memory:", "é\\n'\"", "./sub/../log2"} {
		must(t, os.MkdirAll("sub", 0o755))
		log, err := sqlite.Open(t.Context(), name, true)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		fill(t, log, "t")
		for _, suffix := range []string{"", "-wal", "-shm"} {
			info, err := os.Lstat(filepath.Join(dir, name) + suffix)
			if err != nil || info.Mode() != 0o600 {
				t.Errorf("%q%s: %v, %v", name, suffix, info, err)
			}
		}
		must(t, log.Close())
		log, err = sqlite.Open(t.Context(), filepath.Join(dir, name), false)
		must(t, err)
		if thread, err := log.Thread(t.Context(), key); err != nil || thread.Last != 6 {
			t.Errorf("%q: %v, %v", name, thread, err)
		}
		must(t, log.Close())
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 8 {
		t.Errorf("the directory has %v", entries)
	}
}

// TestSQLiteOpenedTogether opens a new file many times at once.
func TestSQLiteOpenedTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	done := make(chan error)
	const n = 8
	for range n {
		go func() {
			log, err := sqlite.Open(t.Context(), path, true)
			if err == nil {
				_, err = log.Stat(t.Context())
				err = errors.Join(err, log.Close())
			}
			done <- err
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	must(t, os.WriteFile(path, text, 0o600))
}

// newLog creates a log and closes it.
func newLog(t *testing.T, path string) {
	t.Helper()
	log, err := sqlite.Open(t.Context(), path, true)
	must(t, err)
	must(t, log.Close())
}

// database runs a statement on a file that may be new.
func database(t *testing.T, path, statement string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE, 0o600)
	must(t, err)
	must(t, f.Close())
	db := plain(t, path)
	_, err = db.ExecContext(t.Context(), statement)
	must(t, err)
	must(t, db.Close())
}

// listing describes the files next to path, with the contents of path.
func listing(t *testing.T, path string) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	var b strings.Builder
	for _, entry := range entries {
		info, err := entry.Info()
		must(t, err)
		b.WriteString(info.Mode().String() + " " + entry.Name() + "\n")
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(filepath.Join(filepath.Dir(path), entry.Name()))
			must(t, err)
			b.Write(text)
		}
	}
	return b.String()
}

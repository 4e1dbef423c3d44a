package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/p20export/p20export/internal/testkit/sqlitetest"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// wantError checks that an error contains a text.
func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %v, not one with %q", err, text)
	}
}

// checked is a log that notices that its files are not those that were opened.
func checked(t *testing.T, log store.Log) func() error {
	t.Helper()
	c, ok := log.(interface{ Check() error })
	if !ok {
		t.Fatal("the log has no Check")
	}
	return c.Check
}

// A file with two names is refused: each has a write-ahead log of its own, and what is
// acknowledged through one is lost through the other.
func TestSQLiteHardLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, second := filepath.Join(dir, "log.db"), filepath.Join(dir, "second.db")
	log := openLog(t, path)
	appendOne(t, log, 0)
	if err := os.Link(path, second); err != nil {
		t.Fatal(err)
	}
	appendOne(t, log, 1) // a backup with links does not stop who uses the log
	for _, name := range []string{path, second} {
		_, err := sqlite.Open(t.Context(), name, true)
		wantError(t, err, "2 names")
	}
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	appendOne(t, openLog(t, path), 2)
}

// The same file at another path, as through a bind mount, is refused while it is open.
func TestSQLiteElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, moved := filepath.Join(dir, "log.db"), filepath.Join(dir, "moved.db")
	log := openLog(t, path)
	appendOne(t, log, 0)
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), moved, false)
	wantError(t, err, "open at another path")
	if err := os.Rename(moved, path); err != nil {
		t.Fatal(err)
	}
	second := openLog(t, path)
	appendOne(t, second, 1)
}

// A write-ahead log that was removed or replaced is noticed before an append is acknowledged.
func TestSQLiteRemovedWAL(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(wal string) error{
		"removed":  os.Remove,
		"replaced": func(wal string) error { return errors.Join(os.Remove(wal), os.WriteFile(wal, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "log.db")
			log := openLog(t, path)
			appendOne(t, log, 0)
			if err := checked(t, log)(); err != nil {
				t.Fatal(err)
			}
			if err := damage(path + "-wal"); err != nil {
				t.Fatal(err)
			}
			wantError(t, appendTo(log, 1), "-wal is not the file that was opened")
			wantError(t, checked(t, log)(), "-wal is not the file that was opened")
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			// What was acknowledged is in the file, because closing moves it there.
			again := openLog(t, path)
			if th, err := again.Thread(t.Context(), store.Key{Thread: "t"}); err != nil || th.Last != 1 {
				t.Errorf("%+v, %v", th, err)
			}
			appendOne(t, again, 1)
		})
	}
}

// A file that was replaced, or is away, is noticed by who reads and who waits for more.
func TestSQLiteReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	log := openLog(t, path)
	appendOne(t, log, 0)
	replace := sqlitetest.Replace(t, path)
	appendOne(t, log, 1)
	for name, change := range map[string]func() (undo func()){
		"away": func() func() {
			rename(t, path, path+".away")
			return func() { rename(t, path+".away", path) }
		},
		"replaced": func() func() {
			if err := os.Link(path, path+".old"); err != nil {
				t.Fatal(err)
			}
			replace()
			return func() { rename(t, path+".old", path) }
		},
	} {
		follow, stop := iter.Pull2(log.Follow(t.Context(), store.Key{Thread: "t"}, 0))
		for range 2 {
			if _, err, _ := follow(); err != nil {
				t.Fatal(err)
			}
		}
		undo := change()
		_, err, _ := follow()
		wantError(t, err, "is not the file that was opened")
		stop()
		_, err = log.Thread(t.Context(), store.Key{Thread: "t"})
		wantError(t, err, "is not the file that was opened")
		for _, err := range log.Read(t.Context(), store.Key{Thread: "t"}, 0) {
			wantError(t, err, "is not the file that was opened")
		}
		undo()
		if th, err := log.Thread(t.Context(), store.Key{Thread: "t"}); err != nil || th.Last != 2 {
			t.Errorf("%s, and back: %+v, %v", name, th, err)
		}
	}
}

// Nothing of a log gets into a file that replaces it, however many read at that time and close the
// log then.
func TestSQLiteReplacement(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	log := openLog(t, path)
	replace := sqlitetest.Replace(t, path)
	for n := range int64(50) {
		appendOne(t, log, n)
	}
	replace()
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	for range 200 {
		reading.Go(func() {
			for range 20 {
				_, err := log.Thread(t.Context(), store.Key{Thread: "t"})
				wantError(t, err, "is not the file that was opened")
			}
		})
	}
	reading.Wait()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the new file was changed: %v", err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// The lock of the file itself says who leads, also if the file of the lease was removed.
func TestSQLiteLeaseOfFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	first, second := openLog(t, path), openLog(t, path)
	leases, err := first.(store.Leaser).Leases(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path + "-serve"); err != nil {
		t.Fatal(err)
	}
	if _, err := second.(store.Leaser).Leases(t.Context(), func(string) {}); !errors.Is(err, store.ErrLeased) {
		t.Errorf("the second leads, too: %v", err)
	}
	if err := leases.Close(); err != nil {
		t.Fatal(err)
	}
	leases, err = second.(store.Leaser).Leases(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := leases.Close(); err != nil {
		t.Error(err)
	}
}

func openLog(t *testing.T, path string) store.Log {
	t.Helper()
	log, err := sqlite.Open(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

// appendTo appends an event after a position.
func appendTo(log store.Log, after int64) error {
	_, err := log.Append(context.Background(), store.Key{Thread: "t"}, after, []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte(`{"type":"CUSTOM","name":"x","value":1}`)}})
	return err
}

func appendOne(t *testing.T, log store.Log, after int64) {
	t.Helper()
	if err := appendTo(log, after); err != nil {
		t.Fatal(err)
	}
}

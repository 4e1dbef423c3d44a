package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/sqlstore"
)

// TestSQLiteGroup lets appends wait for each other: more than one transaction may have, one
// that fails, one that conflicts, and one that is cancelled.
func TestSQLiteGroup(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if err := prepare(path, true); err != nil {
		t.Fatal(err)
	}
	d, err := openDatabase(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	log := sqlstore.Open(sqlstore.Config{Dialect: d.dialect(), Read: d.read, Close: d.close})
	defer log.Close()
	key := func(n int) store.Key { return store.Key{Thread: fmt.Sprint("t", n)} }
	if _, err := log.Append(t.Context(), key(1), 0, contents("s", 1)); err != nil {
		t.Fatal(err)
	}
	// An entry that another program added makes appends to its thread fail.
	other, err := sql.Open("sqlite", readWrite.dsn(path, busy(maxWait)))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), `INSERT INTO entries VALUES (1, 2, 0, 1, 1, '', NULL, x'00')`); err != nil {
		t.Fatal(err)
	}

	d.group.turn <- struct{}{} // nobody else can write
	large := []store.Entry{{Stream: "s", Kind: store.Event, Data: make([]byte, 3<<20)}}
	const n = 8
	results := make([]chan error, n+1)
	ctx, cancel := context.WithCancel(t.Context())
	for i := range results {
		results[i] = make(chan error, 1)
		go func() {
			switch i {
			case 0: // conflicts with 2, or 2 with it
				_, err := log.Append(t.Context(), key(2), 0, large)
				results[i] <- err
			case 1:
				_, err := log.Append(t.Context(), key(1), 1, contents("s", 1))
				results[i] <- err
			case n:
				_, err := log.Append(ctx, key(n), 0, large)
				results[i] <- err
			default:
				_, err := log.Append(t.Context(), key(i), 0, large)
				results[i] <- err
			}
		}()
	}
	for waiting := 0; waiting < len(results); runtime.Gosched() {
		d.group.mu.Lock()
		waiting = len(d.group.waiting)
		d.group.mu.Unlock()
	}
	cancel()
	if err := <-results[n]; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled append: %v", err)
	}
	<-d.group.turn
	if err := <-results[1]; err == nil || !strings.Contains(err.Error(), "another program added entries") {
		t.Errorf("the failing append: %v", err)
	}
	first, second := <-results[0], <-results[2]
	if (first == nil) == (second == nil) || !errors.Is(errors.Join(first, second), store.ErrConflict) {
		t.Errorf("appends to one thread: %v and %v", first, second)
	}
	for i := 3; i < n; i++ {
		if err := <-results[i]; err != nil {
			t.Errorf("append %d: %v", i, err)
		}
		if thread, err := log.Thread(t.Context(), key(i)); err != nil || thread.Last != 1 {
			t.Errorf("thread %d: %v, %v", i, thread, err)
		}
	}
	if _, err := log.Thread(t.Context(), key(n)); !errors.Is(err, store.ErrNoThread) {
		t.Errorf("the thread of the cancelled append: %v", err)
	}
}

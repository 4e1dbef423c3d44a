package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/store"
)

// TestSQLiteLocked appends while another connection keeps the file locked.
func TestSQLiteLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	log := openTest(t, path)
	key := store.Key{Thread: "t"}
	other, err := sql.Open("sqlite", readWrite.dsn(path, busy(0)))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := log.Append(ctx, key, 0, contents("s", 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while it is locked: %v", err)
	}
	if _, err := log.Thread(t.Context(), key); !errors.Is(err, store.ErrNoThread) {
		t.Errorf("reading while it is locked: %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := log.Append(t.Context(), key, 0, contents("s", 1))
		done <- err
	}()
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("after it was unlocked: %v", err)
	}
	// What the error is after maxWait.
	tx, err = other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err = other.BeginTx(t.Context(), nil); !isBusy(err) || !strings.Contains(explain(err).Error(), "another process") {
		t.Error(err)
	}
}

// TestSQLiteReclaimLocked lets Reclaim wait for another connection, as an append does.
func TestSQLiteReclaimLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if err := prepare(path, true); err != nil {
		t.Fatal(err)
	}
	d, err := openDatabase(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	other, err := sql.Open("sqlite", readWrite.dsn(path, busy(maxWait)))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	ctx, cancel := context.WithTimeout(t.Context(), 3*busyWait)
	defer cancel()
	if err := d.reclaim(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while it is locked: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := d.reclaim(t.Context()); err != nil {
		t.Errorf("after it was unlocked: %v", err)
	}
}

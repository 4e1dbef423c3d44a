package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/sqlstore"
)

// explain says what an error of SQLite means and what to do.
func explain(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Code() == lib.SQLITE_IOERR_SHMSIZE {
		// The index of the write-ahead log cannot grow. SQLite does not report why.
		return fmt.Errorf("the disk is full or failed: make room and try again: %w", err)
	}
	if e.Code() == lib.SQLITE_CONSTRAINT_PRIMARYKEY {
		// The triggers refuse all other such rows.
		return fmt.Errorf("another program added entries after the last position of the thread: delete their rows: %w", err)
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_FULL:
		return fmt.Errorf("the disk is full: make room and try again: %w", err)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("another process uses the file for too long: try again when it is done: %w", err)
	case lib.SQLITE_READONLY:
		return fmt.Errorf("the file or its directory cannot be written: %w", err)
	case lib.SQLITE_IOERR:
		return fmt.Errorf("the disk failed: %w", err)
	case lib.SQLITE_CORRUPT:
		// SQLite also reports this if the disk fails to read (EIO).
		return fmt.Errorf("the disk failed to read the file, or the file is damaged: %w", err)
	case lib.SQLITE_NOTADB:
		return fmt.Errorf("%w: it is not a SQLite database", store.ErrNotLog)
	case lib.SQLITE_CANTOPEN:
		return fmt.Errorf("the file or its write-ahead log cannot be opened: %w", err)
	}
	return err
}

// isBusy reports whether another process was in the way.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.Is(err, sqlstore.ErrInUse) || errors.As(err, &e) && e.Code()&0xff == lib.SQLITE_BUSY
}

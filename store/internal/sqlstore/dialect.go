package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/index"
)

// Dialect is how one database differs from others.
type Dialect struct {
	// Goose is the name of the database in goose, and Migrations has its migrations.
	Goose      goose.Dialect
	Migrations fs.FS
	// Locker lets one process at a time apply migrations. It may be nil.
	Locker lock.SessionLocker
	// Begin begins a transaction that changes the log.
	Begin func(ctx context.Context) (*sql.Tx, error)
	// Write appends a batch in one transaction, if the thread still is as it was when the
	// batch was placed: its id, last position, bytes and time of the last append. It reports
	// whether it was.
	Write func(ctx context.Context, w *Write) (bool, error)
	// Watch calls wake after transactions of other processes, with the thread or with a zero
	// key for any thread, until ctx is done. It begins with a call for any thread as
	// soon as it will notice further transactions. It also makes such a call whenever it
	// may have missed one. Its error ends all calls of Follow.
	Watch func(ctx context.Context, wake func(store.Key)) error
	// Gone reports that an error means that the database is away for now. Follow waits then
	// until Watch calls wake, and reads again. It may be nil.
	Gone func(err error) bool
	// Elements is a table k whose column value has the elements of the JSON array $1.
	Elements string
	// SendsAll means that the database sends all rows of a query, also to a reader that stops.
	SendsAll bool
	// ByTime follows the name of the table threads, with the alias t, in a query that needs the
	// threads in the order of updated_at. It names the index, and may be empty.
	ByTime string
	// Notify makes Watch of other processes notice the transaction.
	Notify func(ctx context.Context, tx *sql.Tx, key store.Key) error
	// LockRow follows a SELECT of a row that the transaction will change.
	LockRow string
	// Leases begins to hold leases: see store.Leaser. It explains its errors.
	Leases func(ctx context.Context, lost func(name string)) (store.Leases, error)
	// Reclaim overwrites or gives back what deleted rows occupied.
	Reclaim func(ctx context.Context) error
	// Size returns the size of the database on disk.
	Size func(ctx context.Context) (int64, error)
	// Check returns an error if the log no longer is where it was opened. It may be nil.
	Check func() error
	// Still returns an error if what was just read may be wrong, because the log no longer is
	// where it was opened, or because another program wrote to a database that was opened
	// without locks. It may be nil.
	Still func() error
	// Explain says what an error of the database means and what to do.
	Explain func(err error) error
}

// ErrInUse is an error of Dialect.Reclaim: readers still use what was deleted.
var ErrInUse = errors.New("it is deleted, but its bytes are still on the disk, because another program reads the log: delete it again when that is done")

// Write is a batch to append to a thread.
type Write struct {
	Key store.Key
	// Thread is the id of the thread. It is 0 if there was none; Dialect.Write sets it.
	Thread int64
	// Before has the totals of the thread before the batch, UpdatedBefore the time of the
	// append before it, and StreamsBefore the streams of the batch.
	Before        index.Thread
	UpdatedBefore int64
	StreamsBefore []index.Stream
	// Batch was placed after them, and Entries are its entries.
	Batch   *index.Batch
	Entries []store.Entry
	// Now is the time of the append, as it is stored.
	Now int64
}

// Row is a row of the table entries.
type Row struct {
	Position, Run, Stream int64
	Kind                  int64
	Type                  string
	// Arrived is nil if the time is not known.
	Arrived *int64
	// Data is not nil, unless it was not read. Size is its size then, and otherwise 0.
	Data []byte
	Size int64
}

// Row returns the row of Entries[i].
func (w *Write) Row(i int) Row {
	e, placed := &w.Entries[i], &w.Batch.Rows[i]
	row := Row{
		Position: w.Before.Last + int64(i) + 1, Run: placed.Run, Stream: placed.Number,
		Kind: kindNumber(e.Kind), Type: placed.Type, Arrived: Micros(e.Arrived), Data: e.Data,
	}
	if row.Data == nil {
		row.Data = []byte{}
	}
	return row
}

// The numbers of kinds in the table entries.
const (
	kindEvent   = 1
	kindInput   = 2
	kindClosing = 3
	kindEnd     = 4
)

func kindNumber(kind store.Kind) int64 {
	switch kind {
	case store.Input:
		return kindInput
	case store.Closing:
		return kindClosing
	case store.End:
		return kindEnd
	}
	return kindEvent
}

func kindOf(number int64) store.Kind {
	switch number {
	case kindInput:
		return store.Input
	case kindClosing:
		return store.Closing
	case kindEnd:
		return store.End
	}
	return store.Event
}

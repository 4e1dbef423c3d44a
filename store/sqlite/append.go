package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/p20export/p20export/store/internal/index"
	"github.com/p20export/p20export/store/internal/sqlstore"
)

// insert writes a batch, unless the thread has changed: see sqlstore.Dialect.
func (d *database) insert(ctx context.Context, tx *sql.Tx, w *sqlstore.Write) (bool, error) {
	if same, err := d.lock(ctx, tx, w); !same || err != nil {
		return false, err
	}
	if err := d.insertEntries(ctx, tx, w); err != nil {
		return false, err
	}
	if err := d.writeStreams(ctx, tx, w.Thread, w.StreamsBefore, w.Batch.Streams); err != nil {
		return false, err
	}
	if err := d.writeRuns(ctx, tx, w.Thread, w.Batch.Runs, w.Before.Last); err != nil {
		return false, err
	}
	t := &w.Batch.Thread
	_, err := tx.StmtContext(ctx, d.statements.updateThread).ExecContext(ctx, t.Last, t.Streams, t.Runs, t.Bytes, w.Now, w.Thread)
	return err == nil, err
}

// lock reports whether the thread still is as it was, and inserts its row if it had none.
func (d *database) lock(ctx context.Context, tx *sql.Tx, w *sqlstore.Write) (bool, error) {
	var id, last, bytes, updated int64
	var deleted sql.NullInt64
	err := tx.StmtContext(ctx, d.statements.selectThread).QueryRowContext(ctx, w.Key.Tenant, w.Key.Thread).
		Scan(&id, &last, &bytes, &updated, &deleted)
	if errors.Is(err, sql.ErrNoRows) {
		if w.Thread != 0 {
			return false, nil
		}
		return true, tx.QueryRowContext(ctx, `INSERT INTO threads (tenant, thread, last, streams, runs, bytes, packed, created_at, updated_at)
			VALUES (?1, ?2, 0, 0, 0, 0, 0, ?3, ?3) RETURNING id`, w.Key.Tenant, w.Key.Thread, w.Now).Scan(&w.Thread)
	}
	return id == w.Thread && last == w.Before.Last && bytes == w.Before.Bytes && updated == w.UpdatedBefore && !deleted.Valid, err
}

// insertEntries inserts the rows of entries.
func (d *database) insertEntries(ctx context.Context, tx *sql.Tx, w *sqlstore.Write) error {
	args := make([]any, 0, rowsAtOnce*8)
	for i := 0; i < w.Batch.Len(); {
		statement, n := d.statements.insertEntry, 1
		if i+rowsAtOnce <= w.Batch.Len() {
			statement, n = d.statements.insertEntries, rowsAtOnce
		}
		args = args[:0]
		for range n {
			r := w.Row(i)
			args = append(args, w.Thread, r.Position, r.Run, r.Stream, r.Kind, r.Type, r.Arrived, r.Data)
			i++
		}
		if _, err := tx.StmtContext(ctx, statement).ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// writeStreams inserts the streams that had no entries before, and updates the others.
func (d *database) writeStreams(ctx context.Context, tx *sql.Tx, thread int64, before, streams []index.Stream) error {
	for i := range streams {
		s := &streams[i]
		args := []any{thread, s.Number, s.Entries, s.Last, s.Input, s.InputParent, s.Run.Start}
		statement := d.statements.updateStream
		switch {
		case before[i].Number == 0:
			statement, args = d.statements.insertStream, append(args, s.ID, s.First, s.Ended)
		case s.Ended:
			statement = d.statements.endStream
		}
		if _, err := tx.StmtContext(ctx, statement).ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// writeRuns inserts the runs that began after a position, and updates the others.
func (d *database) writeRuns(ctx context.Context, tx *sql.Tx, thread int64, runs []index.Run, after int64) error {
	for i := range runs {
		r := &runs[i]
		args := []any{thread, r.Start, r.Last, r.Entries, r.Bytes, sqlstore.Micros(r.LastAt), string(r.End)}
		statement := d.statements.updateRun
		if r.Start > after {
			statement, args = d.statements.insertRun, append(args, r.ID, r.Parent, r.Number, r.Input, sqlstore.Micros(r.StartedAt))
		}
		if _, err := tx.StmtContext(ctx, statement).ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

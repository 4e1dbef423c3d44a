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
	if same, err := lock(ctx, tx, w); !same || err != nil {
		return false, err
	}
	if err := d.insertEntries(ctx, tx, w); err != nil {
		return false, err
	}
	if err := writeStreams(ctx, tx, w.Thread, w.StreamsBefore, w.Batch.Streams); err != nil {
		return false, err
	}
	if err := writeRuns(ctx, tx, w.Thread, w.Batch.Runs, w.Before.Last); err != nil {
		return false, err
	}
	t := &w.Batch.Thread
	_, err := tx.ExecContext(ctx, `UPDATE threads SET last = ?, streams = ?, runs = ?, bytes = ?, updated_at = ? WHERE id = ?`,
		t.Last, t.Streams, t.Runs, t.Bytes, w.Now, w.Thread)
	return err == nil, err
}

// lock reports whether the thread still is as it was, and inserts its row if it had none.
func lock(ctx context.Context, tx *sql.Tx, w *sqlstore.Write) (bool, error) {
	var id, last, bytes, updated int64
	var deleted sql.NullInt64
	err := tx.QueryRowContext(ctx, `SELECT id, last, bytes, updated_at, deleted_at FROM threads WHERE tenant = ? AND thread = ?`, w.Key.Tenant, w.Key.Thread).
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

// rowsAtOnce is the number of rows of one INSERT. Fewer cost more statements, and more cost
// more in the driver, which finds each argument by a search.
const rowsAtOnce = 16

// insertEntries inserts the rows of entries.
func (d *database) insertEntries(ctx context.Context, tx *sql.Tx, w *sqlstore.Write) error {
	args := make([]any, 0, rowsAtOnce*8)
	for i := 0; i < w.Batch.Len(); {
		statement, n := d.insertOne, 1
		if i+rowsAtOnce <= w.Batch.Len() {
			statement, n = d.insertMany, rowsAtOnce
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
func writeStreams(ctx context.Context, tx *sql.Tx, thread int64, before, streams []index.Stream) error {
	for i := range streams {
		s := &streams[i]
		// An update that sets ended also writes the index of open streams.
		ended, query := 0, `UPDATE streams SET entries = ?4, last = ?6, input = ?8, input_parent = ?9, run = ?10 WHERE thread_id = ?1 AND number = ?2`
		if s.Ended {
			ended, query = 1, `UPDATE streams SET entries = ?4, last = ?6, ended = ?7, input = ?8, input_parent = ?9, run = ?10 WHERE thread_id = ?1 AND number = ?2`
		}
		if before[i].Number == 0 {
			query = `INSERT INTO streams (thread_id, number, stream, entries, first, last, ended, input, input_parent, run)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`
		}
		if _, err := tx.ExecContext(ctx, query, thread, s.Number, s.ID, s.Entries, s.First, s.Last, ended, s.Input, s.InputParent, s.Run.Start); err != nil {
			return err
		}
	}
	return nil
}

// writeRuns inserts the runs that began after a position, and updates the others.
func writeRuns(ctx context.Context, tx *sql.Tx, thread int64, runs []index.Run, after int64) error {
	for i := range runs {
		r := &runs[i]
		query := `UPDATE runs SET last = ?7, entries = ?8, bytes = ?9, last_at = ?11, outcome = ?12 WHERE thread_id = ?1 AND start = ?2`
		if r.Start > after {
			query = `INSERT INTO runs (thread_id, start, run_id, parent_id, stream_number, input, last, entries, bytes, started_at, last_at, outcome)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)`
		}
		if _, err := tx.ExecContext(ctx, query, thread, r.Start, r.ID, r.Parent, r.Number, r.Input, r.Last, r.Entries, r.Bytes,
			sqlstore.Micros(r.StartedAt), sqlstore.Micros(r.LastAt), string(r.End)); err != nil {
			return err
		}
	}
	return nil
}

package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/p20export/p20export/store/internal/sqlstore"
)

// Statements that append a batch. One statement is one round trip, and a transaction of its
// own. Its first part changes the row of the thread and the others insert rows if it did. It
// does not if the thread is not as it was or was deleted: PostgreSQL waits for other
// transactions that change the row, and looks at it again afterwards.
const (
	insertThread = `WITH t AS (
	INSERT INTO threads (tenant, thread, last, streams, runs, bytes, packed, created_at, updated_at)
	VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $7)
	ON CONFLICT (tenant, thread) DO NOTHING RETURNING id, 0::bigint AS last
)` + insertRows

	updateThread = `WITH t AS (
	UPDATE threads SET last = $3, streams = $4, runs = $5, bytes = $6, updated_at = $7
	WHERE id = $1 AND last = $2 AND bytes = $34 AND updated_at = $35 AND deleted_at IS NULL RETURNING id, $2::bigint AS last
)` + insertRows

	insertRows = `, e AS (
	INSERT INTO entries (thread_id, position, run, stream_number, kind, type, arrived_at, data)
	SELECT t.id, t.last + e.n, e.run, e.stream_number, e.kind, e.type, e.arrived_at, e.data
	FROM t, unnest($8::bigint[], $9::bigint[], $10::smallint[], $11::text[], $12::bigint[], $13::bytea[])
		WITH ORDINALITY AS e (run, stream_number, kind, type, arrived_at, data, n)
), s AS (
	INSERT INTO streams (thread_id, number, stream, first, last, entries, ended, input, run, input_parent)
	SELECT t.id, s.* FROM t, unnest($14::bigint[], $15::text[], $16::bigint[], $17::bigint[], $18::bigint[],
		$19::bigint[], $20::bigint[], $21::bigint[], $22::text[]) AS s
	ON CONFLICT (thread_id, number) DO UPDATE SET last = excluded.last, entries = excluded.entries,
		ended = excluded.ended, input = excluded.input, run = excluded.run, input_parent = excluded.input_parent
), r AS (
	INSERT INTO runs (thread_id, start, run_id, parent_id, stream_number, input, last, entries, bytes,
		started_at, last_at, outcome)
	SELECT t.id, r.* FROM t, unnest($23::bigint[], $24::text[], $25::text[], $26::bigint[], $27::bigint[],
		$28::bigint[], $29::bigint[], $30::bigint[], $31::bigint[], $32::bigint[], $33::text[]) AS r
	ON CONFLICT (thread_id, start) DO UPDATE SET last = excluded.last, entries = excluded.entries,
		bytes = excluded.bytes, last_at = excluded.last_at, outcome = excluded.outcome
)
SELECT id FROM t`
)

// lostAppend is what an error means that may have come after the commit.
const lostAppend = "the PostgreSQL server ended the connection, and the entries may be in the log; see that it runs, and read the last position of the thread before you append again"

// attempts is how often a statement is executed that failed only because of others.
const attempts = 5

// append implements sqlstore.Dialect.Write.
func (d *database) append(ctx context.Context, w *sqlstore.Write) (bool, error) {
	query, args := updateThread, []any{w.Thread, w.Before.Last}
	if w.Thread == 0 {
		query, args = insertThread, []any{w.Key.Tenant, w.Key.Thread}
	}
	after := &w.Batch.Thread
	args = append(args, after.Last, after.Streams, after.Runs, after.Bytes, w.Now)
	args = append(args, entryColumns(w)...)
	args = append(args, streamColumns(w)...)
	args = append(args, runColumns(w)...)
	if w.Thread != 0 {
		args = append(args, w.Before.Bytes, w.UpdatedBefore)
	}
	for attempt := 1; ; attempt++ {
		err := d.db.QueryRowContext(ctx, query, args...).Scan(&w.Thread)
		switch c := code(err); {
		case err == nil:
			d.notifier.notify(w.Key)
			return true, nil
		case errors.Is(err, sql.ErrNoRows):
			return false, nil
		case gone(err) && !unsent(err):
			return false, &explained{lostAppend, err}
		case c != serializationFailure && c != deadlockDetected, attempt == attempts:
			return false, err
		}
	}
}

// entryColumns returns the columns of the rows of entries.
func entryColumns(w *sqlstore.Write) []any {
	n := len(w.Entries)
	runs, streams, kinds, types := make([]int64, n), make([]int64, n), make([]int16, n), make([]string, n)
	arrived, data := make([]*int64, n), make([][]byte, n)
	for i := range n {
		r := w.Row(i)
		runs[i], streams[i], kinds[i], types[i], arrived[i], data[i] = r.Run, r.Stream, int16(r.Kind), r.Type, r.Arrived, r.Data
	}
	return []any{runs, streams, kinds, types, arrived, data}
}

// streamColumns returns the columns of the rows of streams.
func streamColumns(w *sqlstore.Write) []any {
	n := len(w.Batch.Streams)
	var columns [7][]int64
	for i := range columns {
		columns[i] = make([]int64, n)
	}
	ids, parents := make([]string, n), make([]string, n)
	for i := range n {
		s := &w.Batch.Streams[i]
		ids[i], parents[i] = s.ID, s.InputParent
		row := [...]int64{s.Number, s.First, s.Last, s.Entries, 0, s.Input, s.Run.Start}
		if s.Ended {
			row[4] = 1
		}
		for c := range row {
			columns[c][i] = row[c]
		}
	}
	return []any{columns[0], ids, columns[1], columns[2], columns[3], columns[4], columns[5], columns[6], parents}
}

// runColumns returns the columns of the rows of runs.
func runColumns(w *sqlstore.Write) []any {
	n := len(w.Batch.Runs)
	var columns [6][]int64
	for i := range columns {
		columns[i] = make([]int64, n)
	}
	ids, parents, outcomes := make([]string, n), make([]string, n), make([]string, n)
	started, last := make([]*int64, n), make([]*int64, n)
	for i := range n {
		r := &w.Batch.Runs[i]
		ids[i], parents[i], outcomes[i] = r.ID, r.Parent, string(r.End)
		started[i], last[i] = sqlstore.Micros(r.StartedAt), sqlstore.Micros(r.LastAt)
		for c, value := range [...]int64{r.Start, r.Number, r.Input, r.Last, r.Entries, r.Bytes} {
			columns[c][i] = value
		}
	}
	return []any{columns[0], ids, parents, columns[1], columns[2], columns[3], columns[4], columns[5], started, last, outcomes}
}

package sqlite

import (
	"context"
	"database/sql"
	"strings"
)

// statements are those of nearly every append. To parse them takes as long as to execute them.
type statements struct {
	selectThread, updateThread            *sql.Stmt
	insertEntry, insertEntries            *sql.Stmt // 1 and rowsAtOnce rows
	insertStream, updateStream, endStream *sql.Stmt
	insertRun, updateRun                  *sql.Stmt
	dataVersion                           *sql.Stmt
}

// rowsAtOnce is the number of rows of one INSERT. Fewer cost more statements, and more cost
// more in the driver, which finds each argument by a search.
const rowsAtOnce = 16

// prepare prepares the statements for the connection that writes.
func (s *statements) prepare(ctx context.Context, db *sql.DB) (err error) {
	const insertEntry = `INSERT OR ROLLBACK INTO entries (thread_id, position, run, stream_number, kind, type, arrived_at, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	for _, p := range []struct {
		statement **sql.Stmt
		query     string
	}{
		{&s.selectThread, `SELECT id, last, bytes, updated_at, deleted_at FROM threads WHERE tenant = ? AND thread = ?`},
		{&s.updateThread, `UPDATE threads SET last = ?, streams = ?, runs = ?, bytes = ?, updated_at = ? WHERE id = ?`},
		{&s.insertEntry, insertEntry},
		{&s.insertEntries, insertEntry + strings.Repeat(`, (?, ?, ?, ?, ?, ?, ?, ?)`, rowsAtOnce-1)},
		{&s.insertStream, `INSERT INTO streams (thread_id, number, entries, last, input, input_parent, run, stream, first, ended) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		// An update that sets ended also writes the index of open streams.
		{&s.updateStream, `UPDATE streams SET entries = ?3, last = ?4, input = ?5, input_parent = ?6, run = ?7 WHERE thread_id = ?1 AND number = ?2`},
		{&s.endStream, `UPDATE streams SET entries = ?3, last = ?4, input = ?5, input_parent = ?6, run = ?7, ended = 1 WHERE thread_id = ?1 AND number = ?2`},
		{&s.insertRun, `INSERT INTO runs (thread_id, start, last, entries, bytes, last_at, outcome, run_id, parent_id, stream_number, input, started_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&s.updateRun, `UPDATE runs SET last = ?3, entries = ?4, bytes = ?5, last_at = ?6, outcome = ?7 WHERE thread_id = ?1 AND start = ?2`},
		{&s.dataVersion, dataVersion},
	} {
		if *p.statement, err = db.PrepareContext(ctx, p.query); err != nil {
			return err
		}
	}
	return nil
}

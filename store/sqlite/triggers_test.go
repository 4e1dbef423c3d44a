package sqlite_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/store"
)

// TestSQLiteTriggers tries every statement that would change or remove something as another
// program.
func TestSQLiteTriggers(t *testing.T) {
	t.Parallel()
	o := opened(t)
	defer o.Log.Close()
	for _, thread := range []string{"rows", "packed", "deleted"} {
		fill(t, o.Log, thread)
	}
	for _, thread := range []string{"rows", "deleted"} {
		for _, size := range []int64{2, 5} {
			if err := o.Log.Seal(t.Context(), store.Key{Thread: thread}, store.Seal{Size: size, Checkpoint: []byte("c")}, store.Blocks{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := o.Log.Pack(t.Context(), store.Key{Thread: "packed"}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Log.Delete(t.Context(), store.Key{Thread: "deleted"}); err != nil {
		t.Fatal(err)
	}
	db := plain(t, o.Name)
	db.SetMaxOpenConns(1)
	before := dump(t, db)
	statements := []string{
		`DELETE FROM threads`,
		`DELETE FROM threads WHERE thread = 'deleted'`,
		`INSERT INTO threads VALUES (9, '', 'new', 3, 0, 0, 0, 0, 1, 1, NULL)`,
		`INSERT INTO threads VALUES (9, '', 'new', 0, 0, 0, 0, 0, 1, 1, 5)`,
		`INSERT OR REPLACE INTO threads VALUES (1, '', 'new', 0, 0, 0, 0, 0, 1, 1, NULL)`,
		`INSERT OR REPLACE INTO threads VALUES (9, '', 'rows', 0, 0, 0, 0, 0, 1, 1, NULL)`,
		`UPDATE threads SET deleted_at = NULL WHERE thread = 'deleted'`,
		`UPDATE threads SET bytes = bytes + 1 WHERE thread = 'deleted'`,
		`DELETE FROM entries`,
		`DELETE FROM entries WHERE position = 5`,
		`UPDATE entries SET data = x'00'`,
		`UPDATE OR REPLACE entries SET position = position + 1`,
		`INSERT INTO entries VALUES (1, 1, 0, 1, 1, '', NULL, x'00')`,
		`INSERT OR REPLACE INTO entries VALUES (1, 2, 0, 1, 1, '', NULL, x'00')`,
		`INSERT OR REPLACE INTO entries VALUES (2, 2, 0, 1, 1, '', NULL, x'00')`, // packed
		`INSERT OR REPLACE INTO entries (rowid, thread_id, position, run, stream_number, kind, type, data) SELECT rowid, 1, 99, 0, 1, 1, '', x'00' FROM entries`,
		`INSERT INTO entries VALUES (3, 9, 0, 1, 1, '', NULL, x'00')`, // deleted
		`INSERT INTO entries VALUES (9, 1, 0, 1, 1, '', NULL, x'00')`, // no thread
		`INSERT INTO entries VALUES (1, 9, 0, 1, 5, '', NULL, x'00')`, // no kind
		`DELETE FROM packs`,
		`UPDATE packs SET data = x'00'`,
		`UPDATE packs SET last = last + 1`,
		`INSERT INTO packs VALUES (1, 1, 8, 8, 1, 1, x'00')`,
		`INSERT INTO packs VALUES (1, 2, 3, 3, 1, 1, x'00')`,
		`INSERT INTO packs VALUES (1, 0, 3, 4, 1, 1, x'00')`,
		`INSERT OR REPLACE INTO packs VALUES (2, 1, 6, 6, 1, 1, x'00')`,
		`INSERT OR REPLACE INTO packs (rowid, thread_id, first, last, entries, bytes, stored, data) SELECT rowid, 1, 1, 6, 6, 1, 1, x'00' FROM packs`,
		`DELETE FROM streams`,
		`UPDATE streams SET last = 1`,
		`UPDATE streams SET ended = 0`,
		`INSERT OR REPLACE INTO streams VALUES (1, 1, 'other', 0, 0, 0, 0, 0, '', 0)`,
		`INSERT OR REPLACE INTO streams VALUES (1, 7, 's', 0, 0, 0, 0, 0, '', 0)`,
		`DELETE FROM runs`,
		`UPDATE runs SET outcome = 'open'`,
		`UPDATE runs SET entries = 0`,
		`INSERT OR REPLACE INTO runs VALUES (1, 2, 'r', '', 1, 0, 0, 0, 0, NULL, NULL, 'open')`,
		`INSERT INTO entries VALUES (1, 8, 0, 1, 1, '', NULL, x'00')`, // after a gap
		`INSERT INTO entries (rowid, thread_id, position, run, stream_number, kind, type, data) VALUES (-1, 1, 7, 0, 1, 1, '', x'00')`,
		`INSERT INTO entries (rowid, thread_id, position, run, stream_number, kind, type, data) VALUES (-7, 1, 7, 0, 1, 1, '', x'00')`,
		`INSERT INTO packs (rowid, thread_id, first, last, entries, bytes, stored, data) VALUES (-1, 1, 1, 6, 6, 1, 1, x'00')`,
		`INSERT INTO streams VALUES (1, 2, 'other', 0, 1, 1, 0, 0, '', 0)`,
		`INSERT INTO streams VALUES (1, 2, 'other', 0, 7, 7, 0, 0, '', 0)`,
		`INSERT INTO runs VALUES (1, 7, 'r', '', 1, 0, 7, 1, 1, NULL, NULL, 'open')`,
		`INSERT INTO runs VALUES (1, 3, 'r', '', 1, 0, 3, 1, 1, NULL, NULL, 'open')`,
		`UPDATE runs SET last = last + 1`,
		`UPDATE runs SET started_at = 1`,
		`UPDATE runs SET last_at = 1`,
		`DELETE FROM seals`,
		`DELETE FROM seals WHERE thread_id = 1 AND size = 2`,
		`DELETE FROM seals WHERE thread_id = 3`, // the last of a deleted thread
		`UPDATE seals SET checkpoint = x'00'`,
		`INSERT OR REPLACE INTO seals VALUES (1, 2, x'00', NULL)`,
		`INSERT INTO seals VALUES (1, 7, x'00', NULL)`,  // no such entries
		`INSERT INTO seals VALUES (1, 0, x'00', NULL)`,  // no entries
		`INSERT INTO seals VALUES (3, 1, x'00', NULL)`,  // deleted
		`INSERT INTO seals VALUES (99, 1, x'00', NULL)`, // no thread
		`UPDATE threads SET updated_at = 0`,
		`UPDATE threads SET packed = 6 WHERE thread = 'rows'`,
	}
	for _, column := range []string{"id", "last", "streams", "runs", "bytes", "packed", "created_at"} {
		statements = append(statements, fmt.Sprintf(`UPDATE threads SET %s = %[1]s - 1 WHERE thread <> 'deleted'`, column))
	}
	statements = append(statements, `UPDATE threads SET last = last + 1 WHERE thread = 'rows'`,
		`UPDATE threads SET tenant = 'x'`, `UPDATE threads SET thread = thread || 'x'`)
	for _, column := range []string{"streams", "runs", "bytes", "packed"} {
		statements = append(statements, fmt.Sprintf(`UPDATE threads SET %s = %[1]s + 1`, column))
	}
	for _, column := range []string{"entries", "bytes"} {
		statements = append(statements, fmt.Sprintf(`UPDATE runs SET %s = %[1]s + 1`, column))
	}
	for _, column := range []string{"number", "first", "entries"} {
		statements = append(statements, fmt.Sprintf(`UPDATE streams SET %s = %[1]s - 1`, column))
	}
	for _, column := range []string{"run_id", "parent_id", "stream_number", "input", "last", "bytes"} {
		statements = append(statements, fmt.Sprintf(`UPDATE runs SET %s = %[1]s - 1`, column))
	}
	for _, table := range []string{"streams", "entries", "runs", "packs"} {
		statements = append(statements, fmt.Sprintf(`UPDATE %s SET thread_id = 3`, table))
	}
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		if err == nil || !strings.Contains(err.Error(), "a log is only appended to") && !strings.Contains(err.Error(), "CHECK constraint") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if diff := cmp.Diff(before, dump(t, db)); diff != "" {
		t.Error(diff)
	}
	// An entry that another program added to the end can be removed.
	for _, statement := range []string{
		`INSERT INTO entries VALUES (1, 7, 0, 1, 1, '', NULL, x'00')`,
		`DELETE FROM entries WHERE thread_id = 1 AND position = 7`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	// A transaction that inserts a pack may delete its entries, but no others.
	for _, statement := range []string{
		`BEGIN`,
		`INSERT INTO packs VALUES (1, 2, 3, 2, 1, 1, x'00')`,
		`DELETE FROM entries WHERE thread_id = 1 AND position BETWEEN 2 AND 3`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.ExecContext(t.Context(), `DELETE FROM entries WHERE thread_id = 1 AND position = 4`); err == nil {
		t.Error("an entry without a pack was deleted")
	}
	if _, err := db.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, dump(t, db)); diff != "" {
		t.Error(diff)
	}
}

// fill appends a run, whose stream ends, and the beginning of another.
func fill(t *testing.T, log store.Log, thread string) {
	t.Helper()
	entry := func(stream string, kind store.Kind, data string) store.Entry {
		return store.Entry{Stream: stream, Kind: kind, Data: []byte(data)}
	}
	if _, err := log.Append(t.Context(), store.Key{Thread: thread}, 0, []store.Entry{
		entry("s", store.Input, `{}`),
		entry("s", store.Event, `{"type":"RUN_STARTED","threadId":"t","runId":"1"}`),
		entry("s", store.Event, `{"type":"CUSTOM","name":"n","value":"`+thread+`"}`),
		entry("s", store.Event, `{"type":"CUSTOM","name":"n","value":1}`),
		entry("s", store.Event, `{"type":"RUN_FINISHED","threadId":"t","runId":"1"}`),
		entry("s", store.End, `complete`),
	}); err != nil {
		t.Fatal(err)
	}
}

// dump returns all rows of all tables.
func dump(t *testing.T, db *sql.DB) []string {
	t.Helper()
	var all []string
	for _, table := range []string{"threads", "streams", "entries", "runs", "packs", "seals"} {
		rows, err := db.QueryContext(t.Context(), `SELECT * FROM `+table+` ORDER BY 1, 2`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			line := table
			for _, value := range values {
				line += fmt.Sprintf(" %v", *value.(*any))
			}
			all = append(all, line)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 12 {
		t.Fatalf("only %d rows: %q", len(all), all)
	}
	return all
}

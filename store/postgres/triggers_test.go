//go:build postgres

package postgres

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/p20export/p20export/store"
)

// TestPostgresTriggers checks that the database refuses what a log never does.
func TestPostgresTriggers(t *testing.T) {
	t.Parallel()
	url := shared(t).schema()
	log := open(t, url)
	fill(t, log, "a", 6)
	fill(t, log, "b", 6)
	for _, thread := range []string{"a", "b"} {
		for _, size := range []int64{2, 5} {
			if err := log.Seal(t.Context(), store.Key{Thread: thread}, store.Seal{Size: size, Checkpoint: []byte("c")}, store.Blocks{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	conn := connect(t, url)
	const packed = `INSERT INTO packs (thread_id, first, last, entries, bytes, stored, data)
		SELECT thread_id, 1, 3, 3, sum(octet_length(data)), 0, '' FROM entries WHERE thread_id = 1 AND position <= 3 GROUP BY 1`
	deleted := `UPDATE threads SET deleted_at = 1 WHERE id = 1`
	for _, sql := range []string{
		`UPDATE entries SET data = ''`,
		`UPDATE entries SET position = position + 100`,
		`UPDATE entries SET data = data WHERE false`,
		`DELETE FROM entries`,
		`DELETE FROM entries WHERE thread_id = 1 AND position = 6`,
		`TRUNCATE entries`,
		`TRUNCATE threads, streams, runs, entries, packs`,
		`INSERT INTO entries SELECT thread_id, position, run, stream_number, kind, type, arrived_at, data FROM entries LIMIT 1`,
		`INSERT INTO entries SELECT thread_id, 99, run, stream_number, kind, type, arrived_at, data FROM entries LIMIT 1`,
		`INSERT INTO entries SELECT 99, position, run, stream_number, kind, type, arrived_at, data FROM entries LIMIT 1`,
		`DELETE FROM threads`,
		`TRUNCATE threads`,
		`UPDATE threads SET last = last - 1`,
		`UPDATE threads SET last = last + 1`,
		`UPDATE threads SET thread = 'c' WHERE id = 1`,
		`UPDATE threads SET tenant = 'c' WHERE id = 1`,
		`UPDATE threads SET bytes = 0 WHERE id = 1`,
		deleted + `; UPDATE threads SET deleted_at = NULL`,
		deleted + `; UPDATE threads SET deleted_at = 2`,
		deleted + `; DELETE FROM threads`,
		deleted + `; DELETE FROM entries WHERE thread_id = 2`,
		deleted + `; DELETE FROM entries`,
		deleted + `; INSERT INTO entries SELECT thread_id, 7, run, stream_number, kind, type, arrived_at, data FROM entries WHERE thread_id = 1 LIMIT 1`,
		`DELETE FROM streams`,
		`TRUNCATE streams`,
		`UPDATE streams SET stream = 'c'`,
		`UPDATE streams SET last = 0`,
		`DELETE FROM runs`,
		`TRUNCATE runs`,
		`UPDATE runs SET run_id = 'c'`,
		`UPDATE runs SET parent_id = 'c'`,
		`UPDATE runs SET last = 0`,
		`UPDATE runs SET outcome = 'open'`,
		`INSERT INTO threads (thread, tenant, last, runs, streams, bytes, packed, created_at, updated_at, deleted_at) VALUES ('c', '', 0, 0, 0, 0, 0, 1, 1, 1)`,
		`INSERT INTO threads (thread, tenant, last, runs, streams, bytes, packed, created_at, updated_at) VALUES ('c', '', 0, 0, 0, 0, 1, 1, 1)`,
		`UPDATE threads SET packed = 6`,
		`UPDATE threads SET runs = runs + 1`,
		`UPDATE threads SET streams = streams + 1`,
		`UPDATE threads SET bytes = bytes + 1`,
		`UPDATE threads SET updated_at = 0`,
		`INSERT INTO streams (thread_id, number, stream, first, last, entries, ended, input, run, input_parent) VALUES (1, 2, 'c', 0, 0, 0, 0, 0, 0, '')`,
		`INSERT INTO streams (thread_id, number, stream, first, last, entries, ended, input, run, input_parent) VALUES (1, 2, 'c', 1, 6, 6, 0, 0, 0, '')`,
		`UPDATE streams SET entries = entries + 1`,
		`UPDATE streams SET last = last + 1`,
		`UPDATE streams SET ended = 1`,
		`INSERT INTO runs (thread_id, start, run_id, parent_id, stream_number, input, last, entries, bytes, outcome) VALUES (1, 2, 'c', '', 1, 0, 2, 1, 1, 'open')`,
		`INSERT INTO runs (thread_id, start, run_id, parent_id, stream_number, input, last, entries, bytes, outcome) VALUES (1, 7, 'c', '', 1, 0, 7, 1, 1, 'open')`,
		`UPDATE runs SET last = last + 1`,
		`UPDATE runs SET entries = entries + 1`,
		`UPDATE runs SET bytes = bytes + 1`,
		`UPDATE runs SET started_at = 1`,
		`UPDATE runs SET last_at = 1`,
		`INSERT INTO packs VALUES (1, 1, 7, 7, 0, 0, '')`,
		`INSERT INTO packs VALUES (1, 1, 3, 4, 0, 0, '')`,
		`INSERT INTO packs VALUES (1, 1, 3, 3, 1, 0, '')`,
		`INSERT INTO packs VALUES (1, 0, 3, 4, 0, 0, '')`,
		packed + `; ` + packed,
		packed + `; UPDATE packs SET data = ''`,
		packed + `; DELETE FROM packs`,
		packed + `; TRUNCATE packs`,
		packed + `; DELETE FROM entries WHERE thread_id = 1`,
		packed + `; DELETE FROM entries WHERE thread_id = 2 AND position <= 3`,
		packed + `; DELETE FROM entries WHERE position <= 3`,
		`DELETE FROM seals`,
		`DELETE FROM seals WHERE thread_id = 1 AND size = 2`,
		`TRUNCATE seals`,
		`UPDATE seals SET checkpoint = ''`,
		`UPDATE seals SET size = 3 WHERE size = 2`,
		`INSERT INTO seals VALUES (1, 2, 'x', NULL)`,
		`INSERT INTO seals VALUES (1, 2, 'x', NULL) ON CONFLICT (thread_id, size) DO UPDATE SET checkpoint = 'x'`,
		`INSERT INTO seals VALUES (1, 7, 'x', NULL)`,  // no such entries
		`INSERT INTO seals VALUES (1, 0, 'x', NULL)`,  // no entries
		`INSERT INTO seals VALUES (99, 1, 'x', NULL)`, // no thread
		deleted + `; INSERT INTO seals VALUES (1, 1, 'x', NULL)`,
		deleted + `; DELETE FROM seals WHERE thread_id = 1`, // the last of a deleted thread
		deleted + `; DELETE FROM seals WHERE thread_id = 1 AND size = 5`,
		deleted + `; DELETE FROM seals WHERE size = 2`,
		`CREATE TEMP TABLE threads AS SELECT id, last, 1 AS deleted_at FROM threads; DELETE FROM seals WHERE size = 2`,
		`CREATE TEMP TABLE threads AS SELECT id, last, 1 AS deleted_at FROM threads; DELETE FROM entries`,
		`CREATE TEMP TABLE threads AS SELECT id, last, 1 AS deleted_at FROM threads; DELETE FROM runs`,
		`CREATE TEMP TABLE packs AS SELECT 1 AS thread_id, 1 AS first, 6 AS last; DELETE FROM entries WHERE thread_id = 1`,
	} {
		_, err := conn.Exec(t.Context(), "BEGIN; "+sql)
		if err == nil || code(err) != restrictViolation && code(err) != uniqueViolation {
			t.Errorf("%s: %v, want that it is refused", sql, err)
		}
		run(t, conn, "ROLLBACK")
	}
	if n := count(t, log, "a"); n != 6 {
		t.Errorf("thread a has %d entries, want 6", n)
	}
	if got := sealsOf(t, log, "a"); got != "2 c, 5 c, " {
		t.Errorf("thread a has the seals %s", got)
	}

	// What Pack and Delete do is not refused.
	for _, sql := range []string{
		packed + `; DELETE FROM entries WHERE thread_id = 1 AND position <= 3`,
		`UPDATE threads SET deleted_at = 1 WHERE id = 2; DELETE FROM entries WHERE thread_id = 2;
			DELETE FROM streams WHERE thread_id = 2; DELETE FROM runs WHERE thread_id = 2; DELETE FROM packs WHERE thread_id = 2;
			DELETE FROM seals WHERE thread_id = 2 AND size < 5`,
		`INSERT INTO seals VALUES (1, 3, 'x', NULL)`, // any size
	} {
		run(t, conn, "BEGIN; "+sql+"; COMMIT")
	}
	run(t, conn, strings.ReplaceAll(strings.ReplaceAll(packed, "_id, 1, 3", "_id, 4, 6"), "position <= 3", "position > 3"))
	if _, err := conn.Exec(t.Context(), `DELETE FROM entries WHERE thread_id = 1 AND position > 3`); code(err) != restrictViolation {
		t.Errorf("delete of entries that another transaction packed: %v, want that it is refused", err)
	}
	if got := sealsOf(t, log, "b"); got != "5 c, " {
		t.Errorf("the deleted thread has the seals %s", got)
	}
	// The owner erases the last seal of a deleted thread, as docs/serialization.md says.
	run(t, conn, `BEGIN; ALTER TABLE seals DISABLE TRIGGER seals_delete; DELETE FROM seals WHERE thread_id = 2;
		ALTER TABLE seals ENABLE TRIGGER seals_delete; COMMIT`)
	if got := sealsOf(t, log, "b"); got != "" {
		t.Errorf("the deleted thread has the seals %s", got)
	}
	if _, err := conn.Exec(t.Context(), `DELETE FROM seals`); code(err) != restrictViolation {
		t.Errorf("DELETE FROM seals: %v, want that it is refused", err)
	}
}

// TestPostgresOldSnapshot changes a thread in transactions that see it as it was before it was
// packed or deleted.
func TestPostgresOldSnapshot(t *testing.T) {
	t.Parallel()
	url := shared(t).schema()
	log := open(t, url)
	conn := connect(t, url)
	const (
		entry = `INSERT INTO entries VALUES (%d, 2, 1, 1, 1, '', NULL, '{}')`
		seal  = `INSERT INTO seals VALUES (%d, 1, 'x', NULL)`
		pack  = `INSERT INTO packs SELECT thread_id, 1, 3, 3, sum(octet_length(data)), 1, 'x' FROM entries WHERE thread_id = %d AND position <= 3 GROUP BY 1`
	)
	id := 0
	for _, level := range []string{"REPEATABLE READ", "SERIALIZABLE"} {
		for _, change := range []func(key store.Key) error{
			func(key store.Key) error { _, err := log.Pack(t.Context(), key); return err },
			func(key store.Key) error { _, err := log.Delete(t.Context(), key); return err },
		} {
			for _, sql := range []string{entry, pack, seal} {
				id++
				key := store.Key{Thread: strconv.Itoa(id)}
				fill(t, log, key.Thread, 6)
				run(t, conn, "BEGIN ISOLATION LEVEL "+level+"; SELECT count(*) FROM entries")
				if err := change(key); err != nil {
					t.Fatal(err)
				}
				if _, err := conn.Exec(t.Context(), fmt.Sprintf(sql, id)); code(err) != serializationFailure {
					t.Errorf("%s: %s: %v, want that it is refused", level, sql, err)
				}
				run(t, conn, "ROLLBACK")
			}
		}
	}
	// A log works if this is the level of all transactions.
	other := open(t, url+"&default_transaction_isolation=serializable")
	fill(t, other, "t", 6)
	if p, err := other.Pack(t.Context(), store.Key{Thread: "t"}); err != nil || p.Entries != 6 {
		t.Errorf("Pack: %v, %v", p, err)
	}
	if n := count(t, other, "t"); n != 6 {
		t.Errorf("%d entries, want 6", n)
	}
	if _, err := other.Delete(t.Context(), store.Key{Thread: "t"}); err != nil {
		t.Error(err)
	}
}

// open opens a new log, which is closed after the test.
func open(t testing.TB, url string) store.Log {
	t.Helper()
	log, err := Open(t.Context(), url, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return log
}

// fill appends a run of n events to a thread.
func fill(t testing.TB, log store.Log, thread string, n int) {
	t.Helper()
	entries := make([]store.Entry, n)
	for i := range entries {
		entries[i] = store.Entry{Stream: "s", Kind: store.Event, Data: []byte(`{"type":"CUSTOM","name":"n","value":1}`)}
	}
	entries[0].Data = []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
	entries[n-1].Data = []byte(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
	if _, err := log.Append(t.Context(), store.Key{Thread: thread}, 0, entries); err != nil {
		t.Fatal(err)
	}
}

// sealsOf returns the sizes and checkpoints of the seals of a thread.
func sealsOf(t testing.TB, log store.Log, thread string) (all string) {
	t.Helper()
	for s, err := range log.Seals(t.Context(), store.Key{Thread: thread}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintf("%d %s, ", s.Size, s.Checkpoint)
	}
	return all
}

// count returns the number of entries that can be read of a thread.
func count(t testing.TB, log store.Log, thread string) int {
	t.Helper()
	n := 0
	for _, err := range log.Read(t.Context(), store.Key{Thread: thread}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

package seal_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/sqlitetest"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
	"github.com/p20export/p20export/store/transfer"
)

// isUnchanged requires that a thread is verified as unchanged, with nothing to say about it.
func isUnchanged(t testing.TB, o *operator, log store.Log, key store.Key, name string, known ...seal.Known) {
	t.Helper()
	row := o.verify(t, log, key, known...)
	if row.Verdict != seal.Unchanged || len(row.Findings) > 0 || row.DiffersFrom != nil {
		t.Errorf("%s, %s: %+v", key.Thread, name, row)
	}
}

// carryOn packs, exports, imports and copies threads of a log in a file, and expects that all are
// unchanged, and that the imported ones match the seals that were handed out.
func carryOn(t *testing.T, d database, into func(t testing.TB) store.Log, threads int) {
	r := rand.New(rand.NewPCG(4, 38))
	o := newOperator(t)
	log, imported := d.open(t), into(t)
	for i := range threads {
		v := &victim{key: store.Key{Thread: fmt.Sprint("thread ", i)}}
		v.grow(t, log, o, steps(r))
		known := seal.Known{From: "a mail", Seals: v.seals, Entries: log.Read(t.Context(), v.key, 0)}
		isUnchanged(t, o, log, v.key, "as it was made", known)
		if _, err := log.Pack(t.Context(), v.key); err != nil {
			t.Fatal(err)
		}
		isUnchanged(t, o, log, v.key, "packed", known)
		v.grow(t, log, o, []step{{events("last", 3), r.IntN(2) == 0}})
		isUnchanged(t, o, log, v.key, "grown", known)
		known.Seals = v.seals
		file := filepath.Join(t.TempDir(), "thread.ndjson.zst")
		if row := transfer.ExportFile(t.Context(), log, v.key, file, 0); row.Verdict != project.Written {
			t.Fatalf("%+v", row)
		}
		if row := transfer.Import(t.Context(), imported, &inputs.Input{Path: file}, transfer.ImportSettings{}); row.Verdict != project.Written {
			t.Fatalf("%+v", row)
		}
		isUnchanged(t, o, imported, v.key, "imported", known)
		o.sealed(t, imported, v.key)
		isUnchanged(t, o, imported, v.key, "imported and sealed", known)
	}
}

// TestHonestSQLite does with a log in a file what its operator may do.
func TestHonestSQLite(t *testing.T) {
	t.Parallel()
	carryOn(t, sqliteLog(filepath.Join(t.TempDir(), "log.db")), func(testing.TB) store.Log { return memory.New() }, 20)
	carryOn(t, database{open: func(testing.TB) store.Log { return memory.New() }}, sqliteLog(filepath.Join(t.TempDir(), "log.db")).open, 20)
}

// TestCopiedSQLite copies a log while it is in use, goes on with both, and comes back to the copy.
func TestCopiedSQLite(t *testing.T) {
	t.Parallel()
	file, o := filepath.Join(t.TempDir(), "log.db"), newOperator(t)
	d := sqliteLog(file)
	log := d.open(t)
	v := &victim{key: thread}
	v.grow(t, log, o, []step{{events("a", 300), true}, {events("b", 10), false}})
	copied := filepath.Join(t.TempDir(), "copy.db")
	execute(t, file, `VACUUM INTO '`+copied+`'`)
	known := seal.Known{From: "a mail", Seals: v.seals}
	isUnchanged(t, o, sqliteLog(copied).open(t), thread, "copied", known)
	restore := sqlitetest.Rewind(t, file)
	v.grow(t, log, o, []step{{events("c", 10), true}, {events("d", 10), true}})
	before := seal.Known{From: "a mail", Seals: v.seals}
	exported := readAll(t, log, thread)
	isUnchanged(t, o, log, thread, "grown", before)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	restore()
	log = d.open(t)
	check := func(name string, verdict any, from, to int64) {
		t.Helper()
		row := o.verify(t, log, thread, before)
		if row.Verdict != verdict || *row.DiffersFrom != from || *row.DiffersTo != to {
			t.Errorf("%s: %+v between %d and %d", name, row, *row.DiffersFrom, *row.DiffersTo)
		}
		copied := before
		copied.Entries = list{entries: exported}.Read(t.Context(), thread, 0)
		if row := o.verify(t, log, thread, copied); *row.DiffersFrom != 311 || *row.DiffersTo != 311 {
			t.Errorf("%s, with an export: %+v between %d and %d", name, row, *row.DiffersFrom, *row.DiffersTo)
		}
	}
	isUnchanged(t, o, log, thread, "rolled back", known)
	check("rolled back", seal.CutOff, 301, 311)
	appendAll(t, log, thread, events("other", 6))
	check("rolled back and gone on", seal.CutOff, 301, 317)
	appendAll(t, log, thread, events("more", 6))
	check("rolled back and gone on further", seal.Rewritten, 301, 320)
	o.sealed(t, log, thread)
	check("rolled back and sealed", seal.Forked, 301, 320)
}

// execute changes the database in a file.
func execute(t testing.TB, file, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// TestMigratedSQLite seals a log whose tables have been those of version 1 and 2, and compares
// with the seals of another copy that was updated in another way.
func TestMigratedSQLite(t *testing.T) {
	t.Parallel()
	packed, err := os.Open("../sqlite/testdata/version1.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	one, two := filepath.Join(t.TempDir(), "log.db"), filepath.Join(t.TempDir(), "log.db")
	testkit.Write(t, one, data)
	testkit.Write(t, two, data)
	execute(t, two, string(bytes.TrimPrefix(testkit.Read(t, "../sqlite/migrations/00002_open_streams.sql"), []byte("-- +goose Up\n"))))
	execute(t, two, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (2, 1)`)
	o := newOperator(t)
	first, second := sqliteLog(one).open(t), sqliteLog(two).open(t)
	n := 0
	for th, err := range first.Threads(t.Context(), store.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		s := o.sealed(t, first, th.Key)
		known := seal.Known{From: "a mail", Seals: []store.Seal{s.Seal}, Entries: first.Read(t.Context(), th.Key, 0)}
		isUnchanged(t, o, first, th.Key, "from version 1", known)
		isUnchanged(t, o, second, th.Key, "from version 2", known)
		o.sealed(t, second, th.Key)
		isUnchanged(t, o, second, th.Key, "from version 2, sealed", known)
		n++
	}
	if n == 0 {
		t.Error("the log has no threads")
	}
}

// sealTogether lets several handles of a log append to a thread and seal it at the same time.
func sealTogether(t *testing.T, d database) {
	t.Helper()
	o := newOperator(t)
	writer := d.open(t)
	appendAll(t, writer, thread, events("0", 5))
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var handedOut [2][]store.Seal
	for i := range handedOut {
		log := d.open(t)
		group.Go(func() {
			for ctx.Err() == nil {
				s, err := o.Seal(t.Context(), log, thread)
				if err != nil {
					t.Error(err)
					return
				}
				handedOut[i] = append(handedOut[i], s.Seal)
			}
		})
	}
	for i := range 40 {
		appendAll(t, writer, thread, events(fmt.Sprint(i+1), 2+20*(i%3)))
	}
	cancel()
	group.Wait()
	o.sealed(t, writer, thread)
	isUnchanged(t, o, writer, thread, "sealed by two", seal.Known{From: "a mail", Seals: handedOut[0]}, seal.Known{From: "another", Seals: handedOut[1]})
	kept, err := writer.Blocks(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := seal.TreeOf(writer, thread, nil).Blocks(t.Context(), int64(len(kept)/store.BlockHashBytes*store.BlockEntries)); err != nil || !bytes.Equal(kept, want) {
		t.Errorf("the log keeps other blocks, %v", err)
	}
}

// TestSealedTogetherSQLite seals a thread with two handles at the same time.
func TestSealedTogetherSQLite(t *testing.T) {
	t.Parallel()
	sealTogether(t, sqliteLog(filepath.Join(t.TempDir(), "log.db")))
}

// TestWrongBlocks writes wrong blocks into a log. They affect no seal, no proof and no verdict.
func TestWrongBlocks(t *testing.T) {
	t.Parallel()
	wrong := bytes.Repeat([]byte{1}, 3*store.BlockHashBytes)
	for name, blocks := range map[string]struct {
		first  int64
		hashes []byte
	}{
		"all":                    {0, wrong},
		"the second":             {1, wrong[:store.BlockHashBytes]},
		"after the last seal":    {2, wrong},
		"half a block":           {0, wrong[:store.BlockHashBytes/2]},
		"a block and a half":     {0, wrong[:store.BlockHashBytes*3/2]},
		"half a block at an end": {2, wrong[:store.BlockHashBytes/2]},
	} {
		o, file := newOperator(t), filepath.Join(t.TempDir(), "log.db")
		log := sqliteLog(file).open(t)
		appendAll(t, log, thread, events("a", 600))
		o.sealed(t, log, thread)
		if blocks.first < 2 {
			execute(t, file, `DELETE FROM blocks`)
			if blocks.first > 0 {
				right, err := seal.TreeOf(log, thread, nil).Blocks(t.Context(), 256)
				if err != nil {
					t.Fatal(err)
				}
				execute(t, file, `INSERT INTO blocks VALUES (1, 0, $1)`, right)
			}
		}
		execute(t, file, `INSERT INTO blocks VALUES (1, $1, $2)`, blocks.first, blocks.hashes)
		isUnchanged(t, o, log, thread, name)
		if _, err := seal.Prove(t.Context(), log, thread, 300, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		appendAll(t, log, thread, events("b", 700))
		o.sealed(t, log, thread)
		isUnchanged(t, o, log, thread, name+", sealed again")
		if p, err := seal.Prove(t.Context(), log, thread, 900, nil); err != nil {
			t.Errorf("%s, sealed again: %v", name, err)
		} else if file, err := p.Encode(); err != nil || !o.accepts(t, file) {
			t.Errorf("%s: the proof is refused, %v", name, err)
		}
	}
}

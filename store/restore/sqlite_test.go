package restore_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
	"github.com/p20export/p20export/store/sqlite"
)

// TestSQLite restores threads from an SQLite database.
func TestSQLite(t *testing.T) {
	t.Parallel()
	log, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "log.db"), true)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	checkLog(t, log)
}

// TestSQLiteUpgraded restores a thread of a log that was written before there were checkpoints, without
// and with them.
func TestSQLiteUpgraded(t *testing.T) {
	t.Parallel()
	packed, err := os.Open(filepath.Join("..", "sqlite", "testdata", "version3.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	data, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "log.db")
	to, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, data); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := sqlite.Open(t.Context(), file, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	o := restore.Options{}.WithSpacing(1)
	th, err := restore.Open(t.Context(), log, store.Key{Thread: "packed"}, o)
	if err != nil {
		t.Fatal(err)
	}
	before, err := th.At(t.Context(), th.Last)
	if err != nil {
		t.Fatal(err)
	}
	if err := th.KeepCheckpoints(t.Context(), th.Last); err != nil {
		t.Fatal(err)
	}
	if list, err := log.Kept(t.Context(), th.Key, o.Kinds()[0], 1, th.Last, true); err != nil || len(list) == 0 {
		t.Fatalf("%d checkpoints, %v", len(list), err)
	}
	after, err := th.At(t.Context(), th.Last)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plainOf(before), plainOf(after)); diff != "" || before.Run == nil {
		t.Errorf("without checkpoints -, with +\n%s", diff)
	}
}

// checkLog restores threads from a log as of every position, before and after packing, and with
// checkpoints. The entries are appended in several batches.
func checkLog(t *testing.T, log store.Log) {
	t.Helper()
	ctx := t.Context()
	for seed := range uint64(4) {
		g := generate(shape{runs: 15, inputs: "mixed", open: 1 + int(seed)%3, broken: seed%2 == 1, points: true}, seed)
		key := store.Key{Tenant: fmt.Sprint(seed), Thread: "t"}
		for from := 0; from < len(g.entries); {
			to := min(len(g.entries), from+1+g.rand.IntN(5))
			if _, err := log.Append(ctx, key, int64(from), g.entries[from:to]); err != nil {
				t.Fatal(err)
			}
			from = to
		}
		for _, what := range []string{"appended", "packed", "kept"} {
			if what == "packed" {
				if done, err := log.Pack(ctx, key); err != nil || done.Entries == 0 {
					t.Fatalf("packed %+v, %v", done, err)
				}
			}
			th, err := restore.Open(ctx, log, key, restore.Options{}.WithSpacing(3))
			if err != nil {
				t.Fatal(err)
			}
			if what == "kept" {
				for _, n := range th.Graph.Nodes {
					if err := th.KeepCheckpoints(ctx, n.Position); err != nil {
						t.Fatal(err)
					}
				}
			}
			checkParents(t, g, th)
			for i, want := range g.points {
				got, err := th.At(ctx, int64(i+1))
				if err != nil {
					t.Fatal(err)
				}
				check(t, fmt.Sprintf("seed %d, %s, position %d", seed, what, i+1), got, want)
			}
		}
	}
}

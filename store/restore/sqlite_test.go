package restore_test

import (
	"fmt"
	"path/filepath"
	"testing"

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

// checkLog restores threads from a log as of every position, before and after packing. The
// entries are appended in several batches.
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
		for _, packed := range []bool{false, true} {
			if packed {
				if done, err := log.Pack(ctx, key); err != nil || done.Entries == 0 {
					t.Fatalf("packed %+v, %v", done, err)
				}
			}
			th, err := restore.Open(ctx, log, key, restore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkParents(t, g, th)
			for i, want := range g.points {
				got, err := th.At(ctx, int64(i+1))
				if err != nil {
					t.Fatal(err)
				}
				check(t, fmt.Sprintf("seed %d, packed %v, position %d", seed, packed, i+1), got, want)
			}
		}
	}
}

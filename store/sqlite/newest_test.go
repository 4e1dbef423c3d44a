package sqlite_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/p20export/p20export/store"
)

// The keys decide the order of threads with the same time, also from page to page. Appends at the
// same time are rare, so this inserts threads without entries.
func TestSQLiteNewestAtTheSameTime(t *testing.T) {
	t.Parallel()
	o := opened(t)
	defer o.Log.Close()
	db := plain(t, o.Name)
	const n = 1200 // more than two pages
	var want []store.Key
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		k := store.Key{Tenant: fmt.Sprint(i % 3), Thread: fmt.Sprintf("%x", uint32(i)*2654435761)}
		want = append(want, k)
		if _, err := tx.Exec(`INSERT INTO threads (tenant, thread, last, streams, runs, bytes, packed, created_at, updated_at) VALUES (?, ?, 0, 0, 0, 0, 0, 1, 7)`, k.Tenant, k.Thread); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(want, func(a, b store.Key) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Thread, b.Thread))
	})
	for _, q := range []store.ThreadQuery{{Newest: true}, {Newest: true, Latest: true}} {
		var got []store.Key
		for thread, err := range o.Log.Threads(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, thread.Key)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d threads, want %d, or in another order", q, len(got), n)
		}
	}
}

package sqlite_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/store"
)

// TestSQLitePackEnds packs a stream whose pack is full after two of its entries. What follows goes
// into the same pack if it is not worth one of its own.
func TestSQLitePackEnds(t *testing.T) {
	t.Parallel()
	o := opened(t)
	defer o.Log.Close()
	db := plain(t, o.Name)
	event := func(size int) store.Entry {
		return store.Entry{Stream: "s", Kind: store.Event, Data: []byte(strings.Repeat("x", size))}
	}
	for _, test := range []struct {
		name string
		rest []int // sizes of further entries
		want []int64
	}{
		{"nothing", nil, []int64{3}},
		{"too little", []int{store.MinPackBytes - 3}, []int64{4}}, // each entry counts one byte, and the end is one
		{"enough", []int{store.MinPackBytes - 2}, []int64{2, 4}},
		{"enough in parts", []int{store.MinPackBytes / 2, store.MinPackBytes/2 - 3}, []int64{2, 5}},
		{"large", []int{2 << 20}, []int64{2, 4}},
		{"large, and too little", []int{1, 2 << 20, 1}, []int64{2, 6}},
		{"large twice", []int{2 << 20, 1 << 20, 1}, []int64{2, 3, 6}},
	} {
		entries := []store.Entry{event(1), event(1 << 20)}
		for _, size := range test.rest {
			entries = append(entries, event(size))
		}
		key := store.Key{Thread: test.name}
		if _, err := o.Log.Append(t.Context(), key, 0, append(entries, store.Entry{Stream: "s", Kind: store.End})); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Log.Pack(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		var got []int64
		rows, err := db.Query(`SELECT last FROM packs WHERE thread_id = (SELECT id FROM threads WHERE thread = ?) ORDER BY last`, test.name)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var last int64
			if err := rows.Scan(&last); err != nil {
				t.Fatal(err)
			}
			got = append(got, last)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: the last positions of the packs (-want +got):\n%s", test.name, diff)
		}
	}
}

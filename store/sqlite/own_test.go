package sqlite

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/sqlstore"
)

// A follower gets the appends of its own process without reading the database, with what it would
// have read there.
func TestSQLiteFollowOwn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if err := prepare(path, true); err != nil {
		t.Fatal(err)
	}
	d, err := openDatabase(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	var reads atomic.Int64
	dialect := d.dialect()
	dialect.Still = func() error {
		reads.Add(1)
		return nil
	}
	dialect.Watch = func(ctx context.Context, _ func(store.Key)) error { // no other process appends
		<-ctx.Done()
		return ctx.Err()
	}
	log := sqlstore.Open(sqlstore.Config{Dialect: dialect, Read: d.read, Close: d.close})
	defer log.Close()
	key := store.Key{Tenant: "a", Thread: "t"}
	last := int64(0)
	add := func(entries ...store.Entry) {
		t.Helper()
		if last, err = log.Append(t.Context(), key, last, entries); err != nil {
			t.Fatal(err)
		}
	}
	add(store.Entry{Stream: "s", Kind: store.Input, Data: []byte(`{"threadId":"t"}`)})
	next, stop := iter.Pull2(log.Follow(t.Context(), key, 0))
	defer stop()
	var got []store.Entry
	take := func() {
		t.Helper()
		e, err, ok := next()
		if err != nil || !ok {
			t.Fatal(err, ok)
		}
		c := *e
		c.Data = append([]byte{}, e.Data...)
		got = append(got, c)
	}
	take()
	before := reads.Load()
	for i := range 50 {
		add(store.Entry{Stream: "s", Kind: store.Event, Data: fmt.Appendf(nil, `{"type":"CUSTOM","name":"n","value":%d}`, i)},
			store.Entry{Stream: "other", Kind: store.Event})
		take()
		take()
	}
	if n := reads.Load() - before; n != 0 {
		t.Errorf("the follower read the database %d times", n)
	}
	i := 0
	for e, err := range log.Read(t.Context(), key, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if want, have := fmt.Sprintf("%+v", *e), fmt.Sprintf("%+v", got[i]); want != have {
			t.Errorf("the follower got %s, the log has %s", have, want)
		}
		i++
	}
	if i != len(got) {
		t.Errorf("the follower got %d entries, the log has %d", len(got), i)
	}
	// More than a follower may have in memory is read.
	for range 3 {
		add(store.Entry{Stream: "s", Kind: store.Event, Data: make([]byte, sqlstore.PageBytes*2/3)})
	}
	before = reads.Load()
	for range 3 {
		take()
	}
	if n := reads.Load() - before; n == 0 {
		t.Error("the follower had everything in memory")
	}
}

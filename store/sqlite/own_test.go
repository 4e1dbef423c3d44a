package sqlite

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/p20export/p20export/internal/testkit/sqlitetest"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/internal/sqlstore"
)

// hooked opens a new log that no other process uses, and calls still after each read.
func hooked(t *testing.T, still func() error) (log *sqlstore.Log, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "log")
	if err := prepare(path, true); err != nil {
		t.Fatal(err)
	}
	d, err := openDatabase(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	dialect := d.dialect()
	dialect.Still = still
	dialect.Watch = func(ctx context.Context, _ func(store.Key)) error {
		<-ctx.Done()
		return ctx.Err()
	}
	log = sqlstore.Open(sqlstore.Config{Dialect: dialect, Read: d.read, Close: d.close})
	t.Cleanup(func() { log.Close() })
	return log, path
}

// The log is rewound after a reader found its thread, and before it reads the entries.
func TestSQLiteRewoundWhileRead(t *testing.T) {
	t.Parallel()
	var rewind func()
	log, path := hooked(t, func() error {
		if rewind != nil {
			now := rewind
			rewind = nil
			now()
		}
		return nil
	})
	key, entry := store.Key{Thread: "t"}, store.Entry{Stream: "s", Kind: store.Event, Data: []byte("{}")}
	add := func(after int64) {
		t.Helper()
		if _, err := log.Append(t.Context(), key, after, []store.Entry{entry, entry}); err != nil {
			t.Fatal(err)
		}
	}
	add(0)
	restore := sqlitetest.Rewind(t, path)
	fails := func(name string, read func() iter.Seq2[*store.Entry, error]) {
		t.Helper()
		add(2)
		rewind = restore
		var err error
		for e, failed := range read() {
			if err = failed; err == nil && e.Position > 2 {
				t.Errorf("%s: entry %d, which is lost", name, e.Position)
				break
			}
		}
		if !errors.Is(err, store.ErrRewound) {
			t.Errorf("%s: the error %v, want %v", name, err, store.ErrRewound)
		}
	}
	for _, after := range []int64{0, 2, 3, 4} {
		fails(fmt.Sprint("Follow after ", after), func() iter.Seq2[*store.Entry, error] { return log.Follow(t.Context(), key, after) })
	}
	for _, after := range []int64{0, 2, 3} {
		fails(fmt.Sprint("Read after ", after), func() iter.Seq2[*store.Entry, error] { return log.Read(t.Context(), key, after) })
	}
	for _, kind := range []store.Kind{store.Event, store.Input} {
		fails(fmt.Sprint("Select of ", kind), func() iter.Seq2[*store.Entry, error] {
			return log.Select(t.Context(), key, store.Selection{Kinds: []store.Kind{kind}})
		})
	}
}

// A follower gets the appends of its own process without reading the database, with what it would
// have read there.
func TestSQLiteFollowOwn(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64
	log, _ := hooked(t, func() error {
		reads.Add(1)
		return nil
	})
	key := store.Key{Tenant: "a", Thread: "t"}
	last := int64(0)
	add := func(entries ...store.Entry) {
		t.Helper()
		var err error
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

//go:build postgres

package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/p20export/p20export/store"
)

// TestPostgresNotified checks that a log is woken by other logs, also of older programs, and not by
// itself.
func TestPostgresNotified(t *testing.T) {
	c, err := parseConfig(shared(t).schema())
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*c.conn)
	defer db.Close()
	d := &database{config: c, db: db, notifier: newNotifier(db, c.schema)}
	ctx, stop := context.WithCancel(t.Context())
	woken := make(chan store.Key, 100)
	ended := make(chan error)
	go func() {
		ended <- d.listen(ctx, func(key store.Key) {
			if key != (store.Key{}) || len(woken) == 0 {
				woken <- key
			}
		})
	}()
	if key := <-woken; key != (store.Key{}) { // it listens
		t.Fatalf("woken first for %+v", key)
	}
	own, other, old := store.Key{Tenant: "a", Thread: "own"}, store.Key{Tenant: "a", Thread: "other"}, store.Key{Thread: "old"}
	d.notifier.notify(own)
	d.notifier.close() // waits until it was sent
	n := newNotifier(db, c.schema)
	n.notify(other)
	n.close()
	if _, err := db.ExecContext(ctx, "SELECT pg_notify($1, $2)", c.schema, `["","old"]`); err != nil {
		t.Fatal(err)
	}
	for _, want := range []store.Key{other, old} {
		key := <-woken
		for key == (store.Key{}) { // because of the time
			key = <-woken
		}
		if key != want {
			t.Errorf("woken for %+v, want %+v", key, want)
		}
	}
	stop()
	<-ended
}

// TestPostgresPayload checks what notifications say.
func TestPostgresPayload(t *testing.T) {
	long := strings.Repeat("\x01", store.MaxIDBytes)
	for _, test := range []struct {
		text string
		key  store.Key
		id   string
	}{
		{payload(store.Key{Tenant: "a", Thread: "ä\"\x00"}, "id"), store.Key{Tenant: "a", Thread: "ä\"\x00"}, "id"},
		{payload(store.Key{Tenant: long, Thread: long}, "id"), store.Key{}, ""},
		{`["a","t"]`, store.Key{Tenant: "a", Thread: "t"}, ""},
		{`["a"]`, store.Key{}, ""},
		{`["a","t",1]`, store.Key{}, ""},
		{"", store.Key{}, ""},
	} {
		if key, id := parsePayload(test.text); key != test.key || id != test.id {
			t.Errorf("%.80q: %+v and %q, want %+v and %q", test.text, key, id, test.key, test.id)
		}
	}
}

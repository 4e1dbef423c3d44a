package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/p20export/p20export/store"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", store.MaxIDBytes/2)
	for id, want := range map[string]bool{
		"t": true, " ": true, "%'\"\\\n": true, "\x01": true, "👩\u200d🔬": true, long: true,
		"": false, long + "x": false, "a\x00b": false, "\xff": false, "\xed\xa0\x80": false,
	} {
		want := map[bool]error{false: store.ErrKey}[want]
		if err := store.CheckID(id); !errors.Is(err, want) {
			t.Errorf("CheckID(%q) = %v, want %v", id, err, want)
		}
		if err := (store.Key{Thread: id}).Check(); !errors.Is(err, want) {
			t.Errorf("the thread %q: %v, want %v", id, err, want)
		}
		if id == "" {
			want = nil // a tenant may be empty, and a query can select runs without a parent
		}
		if err := (store.Key{Tenant: id, Thread: "t"}).Check(); !errors.Is(err, want) {
			t.Errorf("the tenant %q: %v, want %v", id, err, want)
		}
		if err := (store.ThreadQuery{Tenant: &id}).Check(); !errors.Is(err, want) {
			t.Errorf("threads of the tenant %q: %v, want %v", id, err, want)
		}
		for i, q := range []store.RunQuery{{Tenant: &id}, {Thread: &id}, {ID: &id}, {Parent: &id}} {
			if err := q.Check(); !errors.Is(err, want) {
				t.Errorf("query %d of runs with %q: %v, want %v", i, id, err, want)
			}
		}
	}
	if err := (store.ThreadQuery{}).Check(); err != nil {
		t.Error(err)
	}
	if err := (store.RunQuery{}).Check(); err != nil {
		t.Error(err)
	}
}

func TestConflictError(t *testing.T) {
	t.Parallel()
	err := error(&store.ConflictError{Key: store.Key{Thread: "t"}, Expected: 3, Last: 5})
	if !errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrDeleted) {
		t.Error(err)
	}
	if got, want := err.Error(), `thread "t": append after position 3: the last position is 5`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

//go:build postgres

package postgres

import (
	"strconv"
	"strings"
	"testing"

	"github.com/p20export/p20export/store"
)

// fileLimit is the size that a file of the server can have in TestPostgresDiskFull. The files of
// its own log have 16 MiB. The limit is in the middle of a page, so a write is cut short: the
// server takes that for a full disk.
const fileLimit = 17<<20 + 4096

// TestPostgresDiskFull fills the disk of a server. A disk of a limited size needs rights that a
// container does not have, so the size of its files is limited.
func TestPostgresDiskFull(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	log := open(t, s.schema())
	s.control(t, "limit", strconv.Itoa(fileLimit))
	last, key := int64(0), store.Key{Thread: "t"}
	batch := func() []store.Entry {
		entries := make([]store.Entry, 100)
		for i := range entries {
			entries[i] = store.Entry{Stream: "s", Kind: store.Event, Data: []byte(strconv.FormatInt(last+int64(i)+1, 10) + strings.Repeat(" ", 1500))}
		}
		return entries
	}
	var err error
	for err == nil {
		if last*1500 > 2*fileLimit {
			t.Fatal("the disk does not become full")
		}
		var next int64
		if next, err = log.Append(t.Context(), key, last, batch()); err == nil {
			last = next
		}
	}
	if last == 0 || code(err) != diskFull || !strings.Contains(err.Error(), "the server's disk is full; free space on it and try again") {
		t.Fatalf("append of entry %d: %v, want that the disk is full", last+1, err)
	}
	if n := count(t, log, "t"); int64(n) != last {
		t.Errorf("the log has %d entries, but %d were acknowledged", n, last)
	}
	s.control(t, "limit", "unlimited")
	for range 3 {
		if last, err = log.Append(t.Context(), key, last, batch()); err != nil {
			t.Fatal(err)
		}
	}
	position := int64(0)
	for e, err := range log.Read(t.Context(), key, 0) {
		if err != nil {
			t.Fatal(err)
		}
		position++
		if want := strconv.FormatInt(position, 10); strings.TrimSpace(string(e.Data)) != want {
			t.Fatalf("entry %d is %.20q", position, e.Data)
		}
	}
	if position != last {
		t.Errorf("the log has %d entries, want %d", position, last)
	}
}

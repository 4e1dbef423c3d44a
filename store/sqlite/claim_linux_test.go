package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/store"
)

// Claims of other processes are seen by the locks of the file. Here each has an open file of
// its own, as another process has.
func TestSQLiteClaims(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := func(place uint64) *claim {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return &claim{file: f, place: place, users: 1}
	}
	for _, place := range []uint64{0, 7, placeBytes - 1} {
		first, same := other(place), other(place)
		for _, c := range []*claim{first, same} {
			if err := c.mark(); err != nil {
				t.Fatalf("place %d: %v", place, err)
			}
		}
		for _, elsewhere := range []uint64{1, 6, 8, placeBytes - 2} {
			c := other(elsewhere)
			if err := c.mark(); !errors.Is(err, errElsewhere) {
				t.Errorf("place %d is not seen from %d: %v", place, elsewhere, err)
			}
			c.file.Close()
		}
		if err := first.lead(); err != nil {
			t.Fatal(err)
		}
		if err := same.lead(); !errors.Is(err, store.ErrLeased) {
			t.Errorf("two lead: %v", err)
		}
		if err := first.follow(); err != nil {
			t.Fatal(err)
		}
		if err := same.lead(); err != nil {
			t.Errorf("nobody leads, but %v", err)
		}
		first.file.Close()
		same.file.Close()
	}
}

package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/p20export/p20export/store"
)

// TestSQLiteLeaseFile checks the file whose lock the holder of leases has, and what a second
// holder is told.
func TestSQLiteLeaseFile(t *testing.T) {
	t.Parallel()
	o := opened(t)
	defer o.Log.Close()
	file := o.Name + "-serve"
	begin := func() (store.Leases, error) { return o.Log.(store.Leaser).Leases(t.Context(), nil) }
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log without leases has the file: %v", err)
	}
	for range 2 {
		leases, err := begin()
		must(t, err)
		if _, err := begin(); !errors.Is(err, store.ErrLeased) || !strings.Contains(err.Error(), "it has locked "+file+": end it first") {
			t.Errorf("a second holder: %v", err)
		}
		must(t, leases.Close())
		if info, err := os.Stat(file); err != nil || info.Size() != 0 || info.Mode() != 0o600 {
			t.Errorf("after the holder: %v, %v", info, err)
		}
	}
	for name, make := range map[string]func() error{
		"symbolic link":         func() error { return os.Symlink(o.Name, file) },
		"is a directory":        func() error { return os.Mkdir(file, 0o755) },
		"not a SQLite database": func() error { return os.WriteFile(file, []byte(strings.Repeat("text\n", 999)), 0o600) },
	} {
		must(t, os.Remove(file))
		must(t, make())
		if _, err := begin(); err == nil || errors.Is(err, store.ErrLeased) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

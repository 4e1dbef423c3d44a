//go:build unix

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// refusing returns a function for renaming or linking that fails.
func refusing(err error) func(from, to string) error {
	return func(from, to string) error { return &os.LinkError{Op: "link", Old: from, New: to, Err: err} }
}

// move is Move with the given functions.
func move(from, to string, rename, link func(from, to string) error) (left bool, err error) {
	return mover{rename, link, os.Remove, os.Lstat, os.Rename}.move(from, to)
}

// Move never replaces a file, with any of the system's ways of renaming.
func TestMove(t *testing.T) {
	none := refusing(syscall.EPERM)
	for name, by := range map[string]struct{ rename, link func(from, to string) error }{
		"rename":       {renameNew, none},
		"link":         {refusing(syscall.EINVAL), os.Link},
		"plain rename": {none, none},
		"system":       {renameNew, os.Link},
	} {
		dir := t.TempDir()
		in := func(name string) string { return filepath.Join(dir, name) }
		put := func(path, data string) {
			if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put(in("one"), "one")
		if left, err := move(in("one"), in("final"), by.rename, by.link); left || err != nil {
			t.Fatalf("%s: %v, %v", name, left, err)
		}
		mustHold(t, dir, map[string]string{"final": "one"})
		put(in("two"), "two")
		if err := os.Symlink("nowhere", in("dangling")); err != nil {
			t.Fatal(err)
		}
		for _, to := range []string{"final", "dangling"} {
			if _, err := move(in("two"), in(to), by.rename, by.link); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%s over %s: %v", name, to, err)
			}
		}
		if _, err := move(in("two"), in("final/below"), by.rename, by.link); err == nil || errors.Is(err, fs.ErrExist) {
			t.Errorf("%s below a file: %v", name, err)
		}
		mustHold(t, dir, map[string]string{"final": "one", "two": "two", "dangling": fs.ModeSymlink.String()})
	}
	for _, err := range []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES} {
		if left, got := move("a", "b", none, refusing(err)); left || !errors.Is(got, err) {
			t.Errorf("%v: %v, %v", err, left, got)
		}
	}
}

// Move succeeds even if the temporary name cannot be removed.
func TestMoveLeft(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "gone")
	left, err := move(from, filepath.Join(dir, "final"), refusing(syscall.EPERM), func(from, to string) error {
		return os.WriteFile(to, []byte("one"), 0o600) // from does not exist, so it cannot be removed
	})
	if !left || err != nil {
		t.Errorf("%v, %v", left, err)
	}
}

//go:build unix

package dirtree

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
)

// Entries that are neither files nor directories are listed, but not opened. A link to
// the directory itself does not cause a loop, and a pipe without a writer does not block.
func TestWalkOddEntries(t *testing.T) {
	dir := t.TempDir()
	for name, target := range map[string]string{"itself": ".", "loop": "loop", "outside": os.TempDir(), "dangling": "missing"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s")})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	tree, err := Walk(context.Background(), dir, MaxEntries)
	if err != nil {
		t.Fatal(err)
	}
	folders, entries := outline(tree)
	want := []string{
		"dangling: a symbolic link, which is not followed",
		"itself: a symbolic link, which is not followed",
		"loop: a symbolic link, which is not followed",
		"outside: a symbolic link, which is not followed",
		"pipe: a named pipe, which is not read",
		"s: a socket, which is not read",
	}
	if diff := cmp.Diff(want, entries); diff != "" || len(folders) != 1 {
		t.Errorf("%q, entries (-want +got):\n%s", folders, diff)
	}
	if tree.Folders[0].Regular("pipe") != nil {
		t.Error("a pipe is a regular file")
	}
}

// A subdirectory that cannot be read is an entry with an error. The rest of the tree is
// listed.
func TestWalkUnreadable(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "z"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	testkit.MakeUnreadable(t, dir)
	tree, err := Walk(context.Background(), dir, MaxEntries)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(tree.Entries); n != 2 || !errors.Is(tree.Entries[0].Err, syscall.ENAMETOOLONG) || !tree.Entries[0].Mode.IsDir() || tree.Entries[1].Name != "z" {
		t.Errorf("%d entries: %v", n, tree.Entries)
	}
}

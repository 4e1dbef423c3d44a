package dirtree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outline formats a tree as the paths of its folders and the paths and kinds of its
// entries, relative to its root.
func outline(t *Tree) (folders, entries []string) {
	short := func(path string) string { return strings.TrimPrefix(path, t.Root+"/") }
	for _, f := range t.Folders {
		folders = append(folders, short(f.Path))
	}
	for _, e := range t.Entries {
		line := short(e.Path())
		switch {
		case e.Err != nil:
			line += ": cannot be read"
		case !e.Regular():
			line += ": " + e.Kind()
		}
		entries = append(entries, line)
	}
	return folders, entries
}

// Entries are in the order of their names, for any bytes in the names. A name is never
// treated as a path.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/z", "a-b/y", "a b", "new\nline/x", "\xff/w", ".dot/v", "a/empty/"} {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			path = filepath.Join(path, "inside")
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(path, []byte("12345"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := Walk(context.Background(), dir, MaxEntries)
	if err != nil {
		t.Fatal(err)
	}
	folders, entries := outline(tree)
	if diff := cmp.Diff([]string{dir, ".dot", "a", "a/empty", "a-b", "new\nline", "\xff"}, folders); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{".dot/v", "a/z", "a b", "a-b/y", "new\nline/x", "\xff/w"}, entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	for _, e := range tree.Entries {
		if e.Size != 5 || e.Folder.Files[e.Name] != e || e.Folder.Regular(e.Name) != e {
			t.Errorf("%q: size %d", e.Path(), e.Size)
		}
	}
	if tree.Folders[0].Regular("a") != nil || tree.Folders[0].Regular("missing") != nil {
		t.Error("a directory is a regular file")
	}
}

// The limit is for files and directories together. Walk stops at the limit.
func TestWalkLimit(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		if err := os.MkdirAll(filepath.Join(dir, strconv.Itoa(i), "below"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Walk(context.Background(), dir, 10); err != nil {
		t.Error(err)
	}
	_, err := Walk(context.Background(), dir, 9)
	if !isLimit(err) || !strings.Contains(err.Error(), "more than 9 files") {
		t.Errorf("past the limit: %v", err)
	}
	if _, err := Walk(context.Background(), filepath.Join(dir, "missing"), 9); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Walk(ctx, dir, MaxEntries); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A path is never "-", which would mean standard input.
func TestJoin(t *testing.T) {
	for _, c := range [][3]string{{".", "-", "./-"}, {".", "a", "a"}, {"a/", "b", "a/b"}, {"a", "-", "a/-"}, {"link/..", "a", "link/../a"}, {"../", "a", "../a"}} {
		if got := Join(c[0], c[1]); got != c[2] {
			t.Errorf("Join(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

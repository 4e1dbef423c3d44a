package dirtree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
)

// Each returns the folders of Walk with their entries, in the same order. An unreadable
// directory has an error.
func TestEach(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/z", "a-b/y", "a b", "a/deep/er/x", "new\nline/x", "\xff/w", "skip/s"} {
		testkit.Write(t, filepath.Join(dir, name), "")
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	testkit.MakeUnreadable(t, dir)
	tree, err := Walk(t.Context(), dir, MaxEntries)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, f := range tree.Folders {
		want = append(want, f.Path+" "+f.Rel)
	}
	unreadable := 0
	for l, err := range Each(t.Context(), dir, 0, func(name string) bool { return name != "s" }) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Err != nil {
			if unreadable++; !errors.Is(l.Err, syscall.ENAMETOOLONG) || len(l.Entries) != 0 {
				t.Errorf("%s: %v", l.Path, l.Err)
			}
			continue
		}
		got = append(got, l.Path+" "+l.Rel)
		var names []string
		for _, e := range l.Entries {
			names = append(names, e.Name())
		}
		if l.Rel == "." {
			if diff := cmp.Diff([]string{"a", "a b", "a-b", "link", "new\nline", "skip", "\xff"}, without(names, "ddd")); diff != "" {
				t.Errorf("the root (-want +got):\n%s", diff)
			}
		}
		if l.Rel == "skip" && len(names) != 0 {
			t.Errorf("%q are kept", names)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || unreadable != 1 {
		t.Errorf("%d unreadable (-Walk +Each):\n%s", unreadable, diff)
	}
}

// without returns the names that do not begin with prefix.
func without(names []string, prefix string) (rest []string) {
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) {
			rest = append(rest, name)
		}
	}
	return rest
}

// The consumer may stop at any directory. Errors of the root, of the limit and of the
// context are the last element.
func TestEachEnds(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1", "b/1", "b/c/1"} { // 6 entries
		testkit.Write(t, filepath.Join(dir, name), "")
	}
	ends := func(ctx context.Context, root string, limit, stopAt int) (n int, last error) {
		for _, err := range Each(ctx, root, limit, nil) {
			if last = err; err != nil {
				continue
			}
			if n++; n == stopAt {
				break
			}
		}
		return n, last
	}
	for stopAt := 1; stopAt <= 4; stopAt++ {
		if n, err := ends(t.Context(), dir, 6, stopAt); n != stopAt || err != nil {
			t.Errorf("%d directories: %v", n, err)
		}
	}
	if n, err := ends(t.Context(), dir, 5, 0); n != 3 || !isLimit(err) {
		t.Errorf("with a limit: %d, %v", n, err)
	}
	if n, err := ends(t.Context(), filepath.Join(dir, "missing"), 0, 0); n != 0 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %d, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range Each(ctx, dir, 0, nil) {
		if cancel(); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
	if n, err := ends(ctx, dir, 0, 0); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %d, %v", n, err)
	}
}

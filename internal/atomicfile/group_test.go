//go:build unix

package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// pair returns a set of two files.
func pair(d *Directory, name, data string) *Set {
	return d.Prepare(File{name + ".a", []byte(data), Equal}, File{name + ".b", []byte(data + data), Equal})
}

func anyDirectory(string) error { return nil }

func TestCommit(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		for _, many := range []int{3, minSyncFileSystem} {
			one, two := t.TempDir(), t.TempDir()
			d, e := open(one), open(two)
			testkit.Write(t, filepath.Join(one, "there.a"), "same")
			testkit.Write(t, filepath.Join(one, "there.b"), "samesame")
			testkit.Write(t, filepath.Join(one, "half.a"), "half")
			testkit.Write(t, filepath.Join(one, "late.b"), "another")
			testkit.Write(t, filepath.Join(one, "early.a"), "another")
			sets := []*Set{
				pair(d, "there", "same"), pair(d, "half", "half"), pair(d, "late", "x"), pair(e, "n", "1"),
				pair(d, "early", "x"), pair(e, "n", "1"), pair(e, "n", "2"), d.Prepare(),
			}
			want := map[string]string{"there.a": "same", "there.b": "samesame", "half.a": "half", "half.b": "halfhalf", "late.b": "another", "early.a": "another"}
			for i := range many {
				name := fmt.Sprint(i)
				sets = append(sets, pair(d, name, name))
				want[name+".a"], want[name+".b"] = name, name+name
			}
			Commit(t.Context(), anyDirectory, sets...)
			for i, s := range sets {
				switch exists := errors.Is(s.Err, fs.ErrExist); {
				case exists != (i == 2 || i == 4 || i == 6), s.Err != nil && !exists:
					t.Errorf("set %d: %v", i, s.Err)
				case s.Left != nil || s.Files() != 0:
					t.Errorf("set %d: left %q, %d files", i, s.Left, s.Files())
				}
			}
			mustHold(t, one, want)
			mustHold(t, two, map[string]string{"n.a": "1", "n.b": "11"})
		}
	})
}

// A set is not written to a directory that check refuses, or after the end of the context.
func TestCommitRefused(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		one, two := t.TempDir(), t.TempDir()
		refused := errors.New("refused")
		sets := []*Set{pair(open(one), "n", "x"), pair(open(two), "n", "x")}
		Commit(t.Context(), func(dir string) error {
			if dir == one {
				return refused
			}
			return nil
		}, sets...)
		if sets[0].Err != refused || sets[1].Err != nil {
			t.Error(sets[0].Err, sets[1].Err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		late := pair(open(two), "m", "x")
		Commit(ctx, anyDirectory, late)
		discarded := pair(open(two), "o", "x")
		discarded.Discard()
		if !errors.Is(late.Err, context.Canceled) {
			t.Error(late.Err)
		}
		mustHold(t, one, map[string]string{})
		mustHold(t, two, map[string]string{"n.a": "x", "n.b": "xx"})
	})
}

// Close removes the empty directories that CreateDirectory created.
func TestCreateDirectory(t *testing.T) {
	root := t.TempDir()
	create := func(path string) *Directory {
		d, err := CreateDirectory(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	full, empty, existing := create("x/y/full"), create("x/z/empty"), create("x")
	set := pair(full, "n", "x")
	Commit(t.Context(), anyDirectory, set)
	if set.Err != nil || full.unsynced != nil || empty.unsynced == nil || existing.unsynced != nil {
		t.Error(set.Err, full.unsynced, empty.unsynced, existing.unsynced)
	}
	for _, d := range []*Directory{full, empty, existing} {
		d.Close()
	}
	found := map[string]bool{}
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, _ error) error {
		found[path[len(root):]] = true
		return nil
	})
	want := map[string]bool{"": true, "/x": true, "/x/y": true, "/x/y/full": true, "/x/y/full/n.a": true, "/x/y/full/n.b": true}
	if !maps.Equal(found, want) {
		t.Errorf("found %v", found)
	}
	testkit.Write(t, filepath.Join(root, "file"), "")
	if d, err := CreateDirectory(filepath.Join(root, "file", "below")); err == nil || d != nil {
		t.Error("a directory in a file")
	}
	if _, err := os.Stat(filepath.Join(root, "file")); err != nil {
		t.Error(err)
	}
}

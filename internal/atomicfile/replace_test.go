//go:build unix

package atomicfile

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// old reports whether the existing file begins with "old".
func old(there, _ *io.SectionReader) (bool, error) {
	begin := make([]byte, 3)
	n, err := there.ReadAt(begin, 0)
	if err == io.EOF {
		err = nil
	}
	return string(begin[:n]) == "old", err
}

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		there, staged string
		want          error
	}{
		{"", "new", nil}, // nothing is there
		{"new", "new", nil},
		{"old", "new", nil},
		{"old text that is longer", "new", nil},
		{"other", "new", fs.ErrExist},
		{"o", "new", fs.ErrExist},
	} {
		ways(t, func(t *testing.T, open func(string) *Directory) {
			dir := t.TempDir()
			d := open(dir)
			if c.there != "" {
				testkit.Write(t, filepath.Join(dir, "final"), c.there)
			}
			s := d.stage(t, c.staged)
			want := c.staged
			if c.want != nil {
				want = c.there
			}
			if err := d.Replace(t.Context(), Named{s, "final", Equal}, old); !errors.Is(err, c.want) {
				t.Errorf("%q in place of %q: %v", c.staged, c.there, err)
			}
			s.Discard()
			mustHold(t, dir, map[string]string{"final": want})
		})
	}
}

// Only regular files are replaced. The target of a link does not change.
func TestReplaceRegularOnly(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	target := filepath.Join(other, "target")
	testkit.Write(t, target, "old")
	if err := errors.Join(os.Symlink(target, filepath.Join(dir, "link")), os.Mkdir(filepath.Join(dir, "made"), 0o755)); err != nil {
		t.Fatal(err)
	}
	d := opened(t, dir)
	for _, name := range []string{"link", "made"} {
		if err := d.Replace(t.Context(), Named{d.stage(t, "new"), name, Equal}, old); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mustHold(t, other, map[string]string{"target": "old"})
	testkit.RequireNames(t, dir, "link", "made")
}

// A file keeps its permissions when it is replaced.
func TestReplaceKeepsPermissions(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		for _, mode := range []fs.FileMode{0o600, 0o644, 0o666} {
			dir := t.TempDir()
			path := filepath.Join(dir, "final")
			testkit.Write(t, path, "old")
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			d := open(dir)
			if err := d.Replace(t.Context(), Named{d.stage(t, "new"), "final", Equal}, old); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode() != mode {
				t.Errorf("%v, %v; want %v", info.Mode(), err, mode)
			}
		}
	})
}

// If replacing fails, only the old file exists, and the error does not name the temporary
// file.
func TestReplaceRefused(t *testing.T) {
	dir := t.TempDir()
	d := opened(t, dir)
	testkit.Write(t, filepath.Join(dir, "final"), "old")
	gone := func(there, staged *io.SectionReader) (bool, error) {
		path := filepath.Join(dir, "final")
		return true, errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "below"), 0o755))
	}
	err := d.Replace(t.Context(), Named{d.stage(t, "new"), "final", Equal}, gone)
	if err == nil || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("over a directory: %v", err)
	}
	mustHold(t, dir, map[string]string{"final": "directory", "final/below": "directory"})
}

// A file that replaces a private one is private from the beginning.
func TestReplacementIsPrivate(t *testing.T) {
	umask := syscall.Umask(0)
	t.Cleanup(func() { syscall.Umask(umask) })
	ways(t, func(t *testing.T, open func(string) *Directory) {
		for _, mode := range []fs.FileMode{0o600, 0o640, 0o400, 0o644} {
			dir := t.TempDir()
			testkit.Write(t, filepath.Join(dir, "final"), "old")
			if err := os.Chmod(filepath.Join(dir, "final"), mode); err != nil {
				t.Fatal(err)
			}
			check := func(s *Staged) {
				t.Helper()
				if info, err := s.file.Stat(); err != nil || info.Mode() != mode {
					t.Errorf("%v while a file with %v is replaced, %v", info.Mode(), mode, err)
				}
			}
			d := open(dir)
			s, err := d.CreateReplacement("final", func(w io.Writer) error {
				check(&Staged{file: w.(*os.File)})
				_, err := io.WriteString(w, "new")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Discard)
			if s.temp == "" {
				if err := s.copyNamed(); err != nil {
					t.Fatal(err)
				}
				check(s)
			}
			if err := d.Replace(t.Context(), Named{s, "final", Equal}, old); err != nil {
				t.Fatal(err)
			}
			mustHold(t, dir, map[string]string{"final": "new"})
		}
	})
	d := opened(t, t.TempDir())
	s, err := d.CreateReplacement("none", func(io.Writer) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Discard()
	if info, err := s.file.Stat(); err != nil || info.Mode() != 0o666 {
		t.Errorf("%v, %v without an existing file", info.Mode(), err)
	}
}

// A file that another program changes after it was checked is not replaced.
func TestReplaceChanged(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"another file": func(path string) error {
			return errors.Join(os.WriteFile(path+".tmp", []byte("old"), 0o666), os.Rename(path+".tmp", path))
		},
		"other content": func(path string) error { return os.WriteFile(path, []byte("other"), 0o666) },
		"a link":        func(path string) error { return errors.Join(os.Rename(path, path+".1"), os.Symlink(path+".1", path)) },
		"nothing":       os.Remove,
	} {
		ways(t, func(t *testing.T, open func(string) *Directory) {
			dir := t.TempDir()
			path := filepath.Join(dir, "final")
			testkit.Write(t, path, "old")
			d := open(dir)
			var after map[string]string
			s := d.stage(t, "new")
			err := d.Replace(t.Context(), Named{s, "final", Equal}, func(there, _ *io.SectionReader) (bool, error) {
				if err := change(path); err != nil {
					t.Fatal(err)
				}
				after = testkit.Contents(t, dir)
				return true, nil
			})
			want := fs.ErrExist
			if what == "nothing" {
				want = fs.ErrNotExist
			}
			if !errors.Is(err, want) || strings.Contains(err.Error(), temporaryPrefix) {
				t.Errorf("%s: %v", what, err)
			}
			s.Discard()
			for name := range after {
				if IsTemporary(name) { // the staged file, with a temporary name
					delete(after, name)
				}
			}
			mustHold(t, dir, after)
		})
	}
}

// If names cannot be exchanged, the file is renamed.
func TestReplaceWithoutExchange(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "final")
	testkit.Write(t, path, "old")
	d := opened(t, dir)
	d.named = true
	s := d.stage(t, "new")
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.replaceChecked(path, info, func(string, string) error { return syscall.EINVAL }); err != nil {
		t.Error(err)
	}
	mustHold(t, dir, map[string]string{"final": "new"})
}

// While a program publishes, no other removes temporary files, because one of them may
// be a file that is being replaced.
func TestStaleWhilePublishing(t *testing.T) {
	dir := t.TempDir()
	name := temporaryPrefix + rand.Text() + temporarySuffix
	testkit.Write(t, filepath.Join(dir, name), "old")
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if locked, err := TryLock(f); !locked || err != nil {
		t.Fatal(locked, err)
	}
	opened(t, dir)
	testkit.RequireNames(t, dir, name)
	unlock(f)
	opened(t, dir)
	testkit.RequireNames(t, dir)
}

// Only files with names of the exact form are removed.
func TestUsersFilesRemain(t *testing.T) {
	dir := t.TempDir()
	text := rand.Text()
	names := []string{
		temporaryPrefix + "mine" + temporarySuffix, temporaryPrefix + temporarySuffix, temporaryPrefix + text, text + temporarySuffix,
		temporaryPrefix + text + "A" + temporarySuffix, temporaryPrefix + text[1:] + temporarySuffix, temporaryPrefix + strings.ToLower("A"+text[1:]) + temporarySuffix,
		temporaryPrefix + text[1:] + "1" + temporarySuffix, temporaryPrefix + text + temporarySuffix + ".bak",
	}
	for _, name := range append(names, temporaryPrefix+text+temporarySuffix) {
		testkit.Write(t, filepath.Join(dir, name), "data")
	}
	opened(t, dir)
	slices.Sort(names)
	testkit.RequireNames(t, dir, names...)
}

// The names of temporary files are recognized.
func TestIsTemporary(t *testing.T) {
	dir := t.TempDir()
	for range 100 {
		f, path, err := createNamed(dir, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if !IsTemporary(filepath.Base(path)) {
			t.Fatal(path)
		}
	}
}

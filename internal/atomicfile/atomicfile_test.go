//go:build unix

package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
)

func mustHold(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, testkit.Contents(t, dir)); diff != "" {
		t.Errorf("the directory (-want +got):\n%s", diff)
	}
}

func opened(t *testing.T, dir string) *Directory {
	t.Helper()
	d, err := OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// ways runs a test with files without names, if the system has them, and with files with
// temporary names.
func ways(t *testing.T, test func(t *testing.T, open func(dir string) *Directory)) {
	for _, named := range []bool{false, true} {
		t.Run(map[bool]string{false: "unnamed", true: "named"}[named], func(t *testing.T) {
			test(t, func(dir string) *Directory {
				d := opened(t, dir)
				d.named = named
				return d
			})
		})
	}
}

func (d *Directory) stage(t *testing.T, data string) *Staged {
	t.Helper()
	s, err := d.Stage([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Discard)
	return s
}

// put publishes data with the given name.
func (d *Directory) put(name, data string) error {
	s, err := d.Stage([]byte(data))
	if err != nil {
		return err
	}
	defer s.Discard()
	return d.Publish(context.Background(), Named{s, name, Equal})
}

func TestPublish(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		dir := t.TempDir()
		d := open(dir)
		s := d.stage(t, "one")
		if data, err := io.ReadAll(s.Reader()); string(data) != "one" || err != nil {
			t.Errorf("Reader: %q, %v", data, err)
		}
		if err := d.Publish(t.Context(), Named{s, "final", Equal}); err != nil {
			t.Fatal(err)
		}
		mustHold(t, dir, map[string]string{"final": "one"})
		s.Discard()
		s.Discard()
		if err := d.put("empty", ""); err != nil {
			t.Fatal(err)
		}
		mustHold(t, dir, map[string]string{"final": "one", "empty": ""})
		if err := d.Sync(); err != nil {
			t.Error(err)
		}
	})
}

// On Linux a file has no name before it is published.
func TestUnnamed(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir).stage(t, "one")
	if all := testkit.Contents(t, dir); (len(all) == 0) != (runtime.GOOS == "linux") {
		t.Errorf("staged: %v", all)
	}
	s.Discard()
	mustHold(t, dir, map[string]string{})
}

func TestPublishAgain(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		dir := t.TempDir()
		d := open(dir)
		for range 2 {
			if err := d.put("final", "one"); err != nil {
				t.Fatal(err)
			}
			mustHold(t, dir, map[string]string{"final": "one"})
		}
		for _, other := range []string{"", "on", "two", "one\n"} {
			if err := d.put("final", other); !errors.Is(err, fs.ErrExist) {
				t.Errorf("publishing %q: %v", other, err)
			}
			mustHold(t, dir, map[string]string{"final": "one"})
		}
	})
}

func TestDiscard(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		dir := t.TempDir()
		open(dir).stage(t, "one").Discard()
		mustHold(t, dir, map[string]string{})
	})
	(*Staged)(nil).Discard()
	(&Staged{}).Discard()
	if err := (*Directory)(nil).Close(); err != nil {
		t.Error(err)
	}
}

func TestMissingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for _, dir := range []string{dir, dir + "/.."} {
		if d, err := OpenDirectory(dir); !errors.Is(err, fs.ErrNotExist) || d != nil {
			t.Errorf("%s: %v, %v", dir, d, err)
		}
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDirectory(file)
	if err == nil {
		defer d.Close()
		_, err = d.Stage([]byte("x"))
	}
	if err == nil {
		t.Error("staged within a file")
	}
}

// Staging fails in a read-only directory, except for the administrator, and leaves
// nothing behind.
func TestReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	probe := filepath.Join(dir, "probe")
	want := os.WriteFile(probe, nil, 0o600)
	if want == nil {
		if err := os.Remove(probe); err != nil {
			t.Fatal(err)
		}
	}
	s, err := opened(t, dir).Stage([]byte("x"))
	if errors.Is(err, fs.ErrPermission) != errors.Is(want, fs.ErrPermission) || (err == nil) != (want == nil) {
		t.Errorf("staging gives %v, plain writing %v", err, want)
	}
	s.Discard()
	mustHold(t, dir, map[string]string{})
}

func TestDirectoryGone(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		dir := filepath.Join(t.TempDir(), "sub")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		d := open(dir)
		s := d.stage(t, "one")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := d.Publish(t.Context(), Named{s, "final", Equal}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
}

// Publish does not change anything that already has the name.
func TestNameTaken(t *testing.T) {
	dir := t.TempDir()
	for name, make := range map[string]func(path string) error{
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"symlink":   func(path string) error { return os.Symlink("directory", path) },
		"dangling":  func(path string) error { return os.Symlink("nowhere", path) },
	} {
		if err := make(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	before := testkit.Contents(t, dir)
	ways(t, func(t *testing.T, open func(string) *Directory) {
		d := open(dir)
		for name := range before {
			if err := d.put(name, "one"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("over a %s: %v", name, err)
			}
		}
		mustHold(t, dir, before)
	})
}

func TestManyPublishers(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		dir := t.TempDir()
		errs := atOnce(16, func(i int) error { return open(dir).put("final", fmt.Sprintf("bytes of %d", i)) })
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner >= 0:
				t.Errorf("both %d and %d won", winner, i)
			case err == nil:
				winner = i
			case !errors.Is(err, fs.ErrExist):
				t.Errorf("%d: %v", i, err)
			}
		}
		mustHold(t, dir, map[string]string{"final": fmt.Sprintf("bytes of %d", winner)})
	})
}

func TestManyPublishersOfTheSame(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		dir := t.TempDir()
		errs := atOnce(16, func(int) error { return open(dir).put("final", "same") })
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
		mustHold(t, dir, map[string]string{"final": "same"})
	})
}

// atOnce calls a function several times concurrently.
func atOnce(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errs
}

// A file that could not be written completely does not exist.
func TestCreateFails(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		dir, failing := t.TempDir(), errors.New("failing")
		s, err := open(dir).Create(func(w io.Writer) error {
			io.WriteString(w, "half")
			return failing
		})
		if s != nil || !errors.Is(err, failing) {
			t.Errorf("%v, %v", s, err)
		}
		mustHold(t, dir, map[string]string{})
	})
}

func TestUnsupported(t *testing.T) {
	for _, err := range []error{syscall.EPERM, syscall.ENOTSUP, syscall.ENOSYS, syscall.EMLINK, syscall.EINVAL} {
		if !unsupported(&os.LinkError{Op: "link", Err: err}) {
			t.Errorf("%v falls back to nothing", err)
		}
	}
	for _, err := range []error{nil, syscall.EEXIST, syscall.ENOENT, syscall.ENOSPC, syscall.EIO, syscall.EACCES, syscall.EROFS} {
		if unsupported(err) {
			t.Errorf("%v falls back to renaming", err)
		}
	}
}

func TestUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	ways(t, func(t *testing.T, open func(string) *Directory) {
		dir := t.TempDir()
		for umask, want := range map[int]fs.FileMode{0o077: 0o600, 0o022: 0o644} {
			syscall.Umask(umask)
			name := want.String()
			if err := open(dir).put(name, "one"); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil || info.Mode() != want {
				t.Errorf("%v, %v; want %v", info.Mode(), err, want)
			}
		}
	})
}

// MakeDir returns the created directories. RemoveEmpty removes those that are empty.
func TestMakeDir(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b", "c")
	made, err := MakeDir(deep)
	if err != nil || len(made) != 3 || made[2] != deep {
		t.Fatalf("made %q, %v", made, err)
	}
	if again, err := MakeDir(deep); err != nil || again != nil {
		t.Errorf("made %q again, %v", again, err)
	}
	if err := os.WriteFile(filepath.Join(root, "a", "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	RemoveEmpty(made)
	if entries, err := os.ReadDir(filepath.Join(root, "a")); err != nil || len(entries) != 1 || entries[0].Name() != "kept" {
		t.Errorf("left %v, %v", entries, err)
	}
	// A broken link is neither replaced nor removed.
	link := filepath.Join(root, "link")
	if err := os.Symlink(filepath.Join(root, "nowhere"), link); err != nil {
		t.Fatal(err)
	}
	made, err = MakeDir(link)
	if err == nil || made != nil {
		t.Errorf("made %q, %v", made, err)
	}
	RemoveEmpty(made)
	if _, err := os.Lstat(link); err != nil {
		t.Error(err)
	}
}

//go:build unix

package atomicfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

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

// Either all files are published or none.
func TestPublishAll(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		dir := t.TempDir()
		d := open(dir)
		named := func(name, data string) Named { return Named{d.stage(t, data), name, Equal} }
		if err := d.Publish(t.Context(), named("a", "1"), named("b", "2")); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"a": "1", "b": "2"}
		mustHold(t, dir, want)
		for _, last := range []string{"b", "nowhere/d"} {
			files := []Named{named("a", "1"), named("c", "3"), named(last, "4")}
			err := d.Publish(t.Context(), files...)
			if err == nil {
				t.Errorf("%s was published", last)
			} else if strings.Contains(err.Error(), ".tmp") || strings.Contains(err.Error(), "/proc") {
				t.Errorf("the error names a temporary file: %v", err)
			}
			for _, f := range files {
				f.Discard()
			}
			mustHold(t, dir, want)
		}
		if err := d.Publish(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A file that Publish used is not removed by another publisher.
func TestPublishAllAtOnce(t *testing.T) {
	ways(t, func(t *testing.T, open func(string) *Directory) {
		for range 100 {
			dir := t.TempDir()
			errs := atOnce(4, func(i int) error {
				d := open(dir)
				same, err1 := d.Stage([]byte("same"))
				own, err2 := d.Stage(fmt.Appendf(nil, "of %d", i))
				defer same.Discard()
				defer own.Discard()
				if err := errors.Join(err1, err2); err != nil {
					return err
				}
				return d.Publish(t.Context(), Named{same, "a", Equal}, Named{own, "b", Equal})
			})
			for i, err := range errs {
				if err == nil {
					mustHold(t, dir, map[string]string{"a": "same", "b": fmt.Sprintf("of %d", i)})
				} else if !errors.Is(err, fs.ErrExist) {
					t.Errorf("%d: %v", i, err)
				}
			}
		}
	})
}

// The function of WithOnWait is called after a second. Waiting ends when the context is
// done.
func TestPublishWaits(t *testing.T) {
	dir := t.TempDir()
	holder := opened(t, dir)
	if err := holder.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := opened(t, dir)
	s := d.stage(t, "one")
	told, stopped := make(chan string, 1), errors.New("stopped by the test")
	ctx, stop := context.WithCancelCause(WithOnWait(t.Context(), func(dir string) { told <- dir }))
	ended := make(chan error)
	go func() { ended <- d.Publish(ctx, Named{s, "final", Equal}) }()
	if name := <-told; name != dir {
		t.Errorf("called with %s", name)
	}
	stop(stopped)
	if err := <-ended; !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	mustHold(t, dir, map[string]string{})
	unlock(holder.file)
	if err := d.Publish(t.Context(), Named{s, "final", Equal}); err != nil {
		t.Error(err)
	}
	mustHold(t, dir, map[string]string{"final": "one"})
	if err := d.Publish(ctx, Named{s, "final", Equal}); !errors.Is(err, stopped) {
		t.Errorf("after the context's end: %v", err)
	}
}

// OpenDirectory removes temporary files that no program has locked, and nothing else.
func TestReap(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{temporaryPrefix + "KILLEDKILLEDKILLEDKILLEDKI.tmp", temporaryPrefix + "KILLEDTOOKILLEDTOOKILLEDTO.tmp", temporaryPrefix + "other", "other.tmp"} {
		write(name)
	}
	pipe, link, folder := temporaryPrefix+"PIPEPIPEPIPEPIPEPIPEPIPEPI.tmp", temporaryPrefix+"LINKLINKLINKLINKLINKLINKLI.tmp", temporaryPrefix+"FOLDERFOLDERFOLDERFOLDERFO.tmp"
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, pipe), 0o600), os.Symlink("other.tmp", filepath.Join(dir, link)), os.Mkdir(filepath.Join(dir, folder), 0o700)); err != nil {
		t.Fatal(err)
	}
	d := opened(t, dir)
	want := map[string]string{
		temporaryPrefix + "other": "", "other.tmp": "",
		pipe: fs.ModeNamedPipe.String(), link: fs.ModeSymlink.String(), folder: "directory",
	}
	mustHold(t, dir, want)
	d.named = true
	s := d.stage(t, "held")
	want[filepath.Base(s.temp)] = "held"
	opened(t, dir)
	mustHold(t, dir, want)
	s.Discard()
	delete(want, filepath.Base(s.temp))
	mustHold(t, dir, want)
}

// Concurrent writers with temporary names do not remove each other's files.
func TestReapAtOnce(t *testing.T) {
	dir := t.TempDir()
	errs := atOnce(32, func(i int) error {
		d, err := OpenDirectory(dir)
		if err != nil {
			return err
		}
		defer d.Close()
		d.named = true
		return d.put(fmt.Sprint(i), "x")
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if all := testkit.Contents(t, dir); len(all) != 32 {
		t.Errorf("%d files", len(all))
	}
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

func TestEqual(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	data := bytes.Repeat([]byte("0123456789"), 10_000)
	other := filepath.Join(dir, "other")
	put := func(path string, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(other, data)
	put(path, data)
	changed := bytes.Clone(data)
	changed[len(changed)-1]++
	for _, tt := range []struct {
		data []byte
		want bool
	}{{data, true}, {changed, false}, {data[1:], false}, {append(bytes.Clone(data), 0), false}, {nil, false}} {
		put(other, tt.data)
		if got, err := equalFiles(path, other); got != tt.want || err != nil {
			t.Errorf("%d bytes: %v, %v", len(tt.data), got, err)
		}
	}
}

func equalFiles(there, staged string) (bool, error) {
	a, err := os.Open(there)
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := os.ReadFile(staged)
	if err != nil {
		return false, err
	}
	reader, err := content(a)
	if err != nil {
		return false, err
	}
	return Equal(reader, io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b))))
}

// Files may change while they are compared, and reading may fail.
func TestEqualReaders(t *testing.T) {
	failing := errors.New("failing")
	half := func() io.Reader { return strings.NewReader("half") }
	broken := func() io.Reader { return io.MultiReader(half(), iotest.ErrReader(failing)) }
	for name, c := range map[string]struct {
		a, b io.Reader
		want bool
		err  error
	}{
		"same":         {half(), half(), true, nil},
		"longer":       {half(), strings.NewReader("half more"), false, nil},
		"first fails":  {broken(), half(), false, failing},
		"second fails": {half(), broken(), false, failing},
	} {
		if got, err := equal(c.a, c.b); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", name, got, err)
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

func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	for _, data := range []string{"new", "newer"} {
		if err := ReplaceFile(filepath.Join(dir, "fresh"), []byte(data)); err != nil {
			t.Fatal(err)
		}
		mustHold(t, dir, map[string]string{"fresh": data})
	}
}

// ReplaceFile replaces a link itself, or one of two names of a file. The link's target
// and the other name keep the old content.
func TestReplaceLinks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	target := filepath.Join(other, "target")
	if err := os.WriteFile(target, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(target, filepath.Join(dir, "soft")), os.Link(target, filepath.Join(dir, "hard"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"soft", "hard"} {
		if err := ReplaceFile(filepath.Join(dir, name), []byte("new")); err != nil {
			t.Fatal(err)
		}
	}
	mustHold(t, dir, map[string]string{"soft": "new", "hard": "new"})
	mustHold(t, other, map[string]string{"target": "old"})
}

// If ReplaceFile fails, the file does not change, and no temporary file remains. The
// error does not name the temporary file.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := ReplaceFile(filepath.Join(dir, "taken"), []byte("new"))
	if err == nil || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("over a directory: %v", err)
	}
	mustHold(t, dir, map[string]string{"taken": "directory"})
	if err := ReplaceFile(filepath.Join(dir, "gone", "file"), []byte("new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that is gone: %v", err)
	}
}

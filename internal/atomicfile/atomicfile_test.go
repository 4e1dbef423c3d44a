//go:build unix

package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// contents returns the files of dir and what they hold.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, e := range entries {
		if !e.Type().IsRegular() {
			all[e.Name()] = e.Type().String()
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}

func mustHold(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("the directory (-want +got):\n%s", diff)
	}
}

func stage(t *testing.T, dir, data string) *Staged {
	t.Helper()
	s, err := Stage(dir, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPublish(t *testing.T) {
	dir := t.TempDir()
	s := stage(t, dir, "one")
	if all := contents(t, dir); len(all) != 1 || all["final"] != "" {
		t.Errorf("staged: %v", all)
	}
	if data, err := s.Read(); string(data) != "one" || err != nil {
		t.Errorf("Read: %q, %v", data, err)
	}
	if err := publish(s, "final"); err != nil {
		t.Fatal(err)
	}
	mustHold(t, dir, map[string]string{"final": "one"})
	s.Discard()
	mustHold(t, dir, map[string]string{"final": "one"})
}

func TestPublishEmpty(t *testing.T) {
	dir := t.TempDir()
	if err := publish(stage(t, dir, ""), "final"); err != nil {
		t.Fatal(err)
	}
	mustHold(t, dir, map[string]string{"final": ""})
}

func TestPublishAgain(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if err := publish(stage(t, dir, "one"), "final"); err != nil {
			t.Fatal(err)
		}
		mustHold(t, dir, map[string]string{"final": "one"})
	}
	for _, other := range []string{"", "on", "two", "one\n"} {
		s := stage(t, dir, other)
		if err := publish(s, "final"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("publishing %q: %v", other, err)
		}
		s.Discard()
		s.Discard()
		mustHold(t, dir, map[string]string{"final": "one"})
	}
}

func TestDiscard(t *testing.T) {
	dir := t.TempDir()
	stage(t, dir, "one").Discard()
	mustHold(t, dir, map[string]string{})
	(*Staged)(nil).Discard()
	(&Staged{}).Discard()
}

func TestMissingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if s, err := Stage(dir, []byte("x")); !errors.Is(err, fs.ErrNotExist) || s != nil {
		t.Errorf("Stage: %v, %v", s, err)
	}
	if s, err := Stage(dir+"/..", []byte("x")); !errors.Is(err, fs.ErrNotExist) || s != nil {
		t.Errorf("Stage in .. of nothing: %v, %v", s, err)
	}
	if err := PublishAll(Named{&Staged{dir: dir}, "final", Equal}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("PublishAll: %v", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Stage(file, []byte("x")); err == nil {
		t.Error("staged within a file")
	}
}

// In a directory that takes no new files staging fails as any writing there
// does (the administrator may write anyway), and leaves nothing.
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
	s, err := Stage(dir, []byte("x"))
	if errors.Is(err, fs.ErrPermission) != errors.Is(want, fs.ErrPermission) || (err == nil) != (want == nil) {
		t.Errorf("staging gives %v, plain writing %v", err, want)
	}
	s.Discard()
	mustHold(t, dir, map[string]string{})
}

func TestDirectoryGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sub")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := stage(t, dir, "one")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := publish(s, "final"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// Whatever stands under the name stays as it is.
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
	before := contents(t, dir)
	for name := range before {
		s := stage(t, dir, "one")
		if err := publish(s, name); err == nil {
			t.Errorf("published over a %s", name)
		} else if name != "dangling" && !errors.Is(err, fs.ErrExist) {
			t.Errorf("over a %s: %v", name, err)
		}
		s.Discard()
	}
	mustHold(t, dir, before)
}

func TestManyPublishers(t *testing.T) {
	dir := t.TempDir()
	const publishers = 16
	errs := make([]error, publishers)
	var wg sync.WaitGroup
	for i := range publishers {
		wg.Go(func() {
			s, err := Stage(dir, fmt.Appendf(nil, "bytes of %d", i))
			if err == nil {
				err = publish(s, "final")
				s.Discard()
			}
			errs[i] = err
		})
	}
	wg.Wait()
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
}

func TestManyPublishersOfTheSame(t *testing.T) {
	dir := t.TempDir()
	errs := make([]error, 16)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			s, err := Stage(dir, []byte("same"))
			if err == nil {
				err = publish(s, "final")
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	mustHold(t, dir, map[string]string{"final": "same"})
}

// Without hard links a file is renamed, and takes no name that something has.
func TestMoveWithoutLinks(t *testing.T) {
	noLinks := func(old, new string) error {
		return &os.LinkError{Op: "link", Old: old, New: new, Err: syscall.EPERM}
	}
	dir := t.TempDir()
	final := filepath.Join(dir, "final")
	if err := Move(stage(t, dir, "one").temp, final, noLinks); err != nil {
		t.Fatal(err)
	}
	mustHold(t, dir, map[string]string{"final": "one"})

	s := stage(t, dir, "two")
	if err := Move(s.temp, final, noLinks); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if err := Move(s.temp, filepath.Join(dir, "dangling"), noLinks); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a symlink: %v", err)
	}
	if err := Move(s.temp, filepath.Join(final, "below"), noLinks); err == nil || errors.Is(err, fs.ErrExist) {
		t.Errorf("below a file: %v", err)
	}
	if data, err := s.Read(); string(data) != "two" || err != nil {
		t.Errorf("the staged file is %q, %v", data, err)
	}
	s.Discard()
	mustHold(t, dir, map[string]string{"final": "one", "dangling": fs.ModeSymlink.String()})
}

// A file that could not be written whole is not there at all.
func TestCreateFails(t *testing.T) {
	dir, failing := t.TempDir(), errors.New("failing")
	s, err := Create(dir, func(w io.Writer) error {
		io.WriteString(w, "half")
		return failing
	})
	if s != nil || !errors.Is(err, failing) {
		t.Errorf("%v, %v", s, err)
	}
	mustHold(t, dir, map[string]string{})
}

// Of several files all are published or none.
func TestPublishAll(t *testing.T) {
	dir := t.TempDir()
	named := func(name, data string) Named { return Named{stage(t, dir, data), name, Equal} }
	if err := PublishAll(named("a", "1"), named("b", "2")); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "1", "b": "2"}
	mustHold(t, dir, want)
	for _, last := range []string{"b", "nowhere/d"} {
		files := []Named{named("a", "1"), named("c", "3"), named(last, "4")}
		if err := PublishAll(files...); err == nil {
			t.Errorf("%s was published", last)
		}
		for _, f := range files {
			f.Discard()
		}
		mustHold(t, dir, want)
	}
	if err := PublishAll(); err != nil {
		t.Error(err)
	}
}

// What a publisher was told is there stays there, whoever publishes beside it.
func TestPublishAllAtOnce(t *testing.T) {
	for range 100 {
		dir := t.TempDir()
		errs := make([]error, 4)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				same, err1 := Stage(dir, []byte("same"))
				own, err2 := Stage(dir, fmt.Appendf(nil, "of %d", i))
				if err := errors.Join(err1, err2); err != nil {
					errs[i] = err
					return
				}
				errs[i] = PublishAll(Named{same, "a", Equal}, Named{own, "b", Equal})
				same.Discard()
				own.Discard()
			})
		}
		wg.Wait()
		for i, err := range errs {
			if err == nil {
				mustHold(t, dir, map[string]string{"a": "same", "b": fmt.Sprintf("of %d", i)})
			} else if !errors.Is(err, fs.ErrExist) {
				t.Errorf("%d: %v", i, err)
			}
		}
	}
}

func TestLinkUnsupported(t *testing.T) {
	for _, err := range []error{syscall.EPERM, syscall.ENOTSUP, syscall.ENOSYS, syscall.EMLINK} {
		if !linkUnsupported(&os.LinkError{Op: "link", Err: err}) {
			t.Errorf("%v falls back to nothing", err)
		}
	}
	for _, err := range []error{nil, syscall.EEXIST, syscall.ENOENT, syscall.ENOSPC, syscall.EIO, syscall.EACCES, syscall.EROFS} {
		if linkUnsupported(err) {
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
	if _, err := Equal(path, other); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	put(path, data)
	changed := bytes.Clone(data)
	changed[len(changed)-1]++
	for _, tt := range []struct {
		data []byte
		want bool
	}{{data, true}, {changed, false}, {data[1:], false}, {append(bytes.Clone(data), 0), false}, {nil, false}} {
		put(other, tt.data)
		if got, err := Equal(path, other); got != tt.want || err != nil {
			t.Errorf("%d bytes: %v, %v", len(tt.data), got, err)
		}
	}
	if got, err := Equal(dir, other); got || err != nil {
		t.Errorf("a directory: %v, %v", got, err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Equal(pipe, other); got || err != nil {
		t.Errorf("a pipe: %v, %v", got, err)
	}
}

// Files may change while they are compared, and disks fail.
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
	dir := t.TempDir()
	if err := publish(stage(t, dir, "one"), "private"); err != nil {
		t.Fatal(err)
	}
	syscall.Umask(0o022)
	if err := publish(stage(t, dir, "one"), "public"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"private": 0o600, "public": 0o644} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}

func publish(s *Staged, name string) error {
	_, err := s.Publish(name, Equal)
	return err
}

// Made directories are told and taken back as far as they are empty.
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
	// A link to nowhere is not made, and not taken away.
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

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	if err := stage(t, dir, "new").Replace("fresh"); err != nil {
		t.Fatal(err)
	}
	mustHold(t, dir, map[string]string{"fresh": "new"})
	s := stage(t, dir, "newer")
	if err := s.Replace("fresh"); err != nil {
		t.Fatal(err)
	}
	s.Discard() // does nothing once it has its name
	mustHold(t, dir, map[string]string{"fresh": "newer"})
}

// A link is replaced itself, and so is one of two names of a file: what else has
// the old bytes keeps them.
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
		if err := stage(t, dir, "new").Replace(name); err != nil {
			t.Fatal(err)
		}
	}
	mustHold(t, dir, map[string]string{"soft": "new", "hard": "new"})
	mustHold(t, other, map[string]string{"target": "old"})
}

// What cannot be replaced stays, and discarding leaves nothing else. The error
// does not name the temporary file.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := stage(t, dir, "new")
	err := s.Replace("taken")
	if err == nil || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("over a directory: %v", err)
	}
	s.Discard()
	mustHold(t, dir, map[string]string{"taken": fs.ModeDir.String()})

	gone := filepath.Join(dir, "gone")
	if err := os.Mkdir(gone, 0o755); err != nil {
		t.Fatal(err)
	}
	s = stage(t, gone, "new")
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	if err := s.Replace("file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that is gone: %v", err)
	}
}

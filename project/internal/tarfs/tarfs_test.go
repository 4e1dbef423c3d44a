package tarfs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/dirtree"
)

// pack returns an archive with the given members, each "NAME" or "NAME=CONTENT".
func pack(t interface{ Fatal(...any) }, members ...string) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		name, text, _ := strings.Cut(m, "=")
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o600}
		if err := errors.Join(w.WriteHeader(h), write(w, text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func write(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// open returns the file system of an archive, and the names of the refused members.
func open(t testing.TB, archive []byte) (f *FS, refused []string) {
	t.Helper()
	f, err := New(context.Background(), iotest.HalfReader(bytes.NewReader(archive)), "x.tar", nil, func(name string, why error) bool {
		if found, ok := errors.AsType[finding.Finding](why); !ok || found.Code != finding.ArchiveMemberRefused {
			t.Errorf("%s is refused with %v", name, why)
		}
		refused = append(refused, name)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, refused
}

// outline formats listings as one line for each directory.
func outline(t *rapid.T, list func(func(dirtree.Listing, error) bool)) (lines []string) {
	list(func(l dirtree.Listing, err error) bool {
		if err != nil || l.Err != nil {
			t.Fatal(err, l.Err)
		}
		line := l.Rel + ":"
		for _, e := range l.Entries {
			line += " " + e.Name()
			if info, err := e.Info(); err != nil {
				t.Fatal(err)
			} else if e.IsDir() {
				line += "/"
			} else {
				line += fmt.Sprint("=", info.Size())
			}
		}
		lines = append(lines, line)
		return true
	})
	return lines
}

// The file system of an archive has the same directories and files, in the same order, as
// the directory that was archived. Each file has its content.
func TestSameAsDirectory(t *testing.T) {
	base, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		element := rapid.StringMatching(`[ab.!é-]{1,2}`).Filter(func(s string) bool { return s != "." && s != ".." })
		names := rapid.SliceOfN(rapid.SliceOfN(element, 1, 4), 0, 20).Draw(t, "names")
		var members []string
		for i, elements := range names {
			name := strings.Join(elements, "/")
			path := filepath.Join(dir, filepath.FromSlash(name))
			text := strings.Repeat("x", i*100)
			if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
				continue // below a file
			}
			f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if err != nil {
				continue // a directory, or there already
			}
			if err := errors.Join(write(f, text), f.Close()); err != nil {
				t.Fatal(err)
			}
			members = append(members, name+"="+text)
		}
		order := rapid.Permutation(members).Draw(t, "order")
		f, err := New(context.Background(), bytes.NewReader(pack(t, order...)), "x.tar", nil, func(name string, why error) bool {
			t.Fatalf("%s: %v", name, why)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		want := outline(t, dirtree.Each(context.Background(), dir, 0, nil))
		// A directory without files is not in the archive.
		want = slices.DeleteFunc(want, func(line string) bool { return strings.HasSuffix(line, ":") && line != ".:" })
		if diff := cmp.Diff(want, outline(t, f.Each())); diff != "" {
			t.Fatalf("(-directory +archive):\n%s", diff)
		}
		for _, m := range members {
			name, text, _ := strings.Cut(m, "=")
			data, err := fs.ReadFile(f, name)
			if err != nil || string(data) != text {
				t.Fatalf("%s: %d bytes of %d, %v", name, len(data), len(text), err)
			}
			if info, err := fs.Stat(f, name); err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(text)) || info.Name() != filepath.Base(name) {
				t.Fatalf("%s: %v %v", name, info, err)
			}
			for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
				if info, err := fs.Stat(f, dir); err != nil || !info.IsDir() {
					t.Fatalf("%s: %v %v", dir, info, err)
				}
			}
		}
	})
}

// Errors have the name of the member, like those of package os.
func TestErrors(t *testing.T) {
	f, _ := open(t, pack(t, "a/b=text"))
	for name, want := range map[string]string{
		"a/c":    "a/c: no such file or directory",
		"a/b/c":  "a/b/c: no such file or directory",
		"a.b":    "a.b: no such file or directory",
		"../a/b": "../a/b: invalid argument",
	} {
		_, err := f.Open(name)
		_, statErr := f.Stat(name)
		if err == nil || err.Error() != "open "+want || statErr == nil || statErr.Error() != "stat "+want {
			t.Errorf("%s: %v, %v", name, err, statErr)
		}
	}
}

// Links, unsafe and repeated names, and members below a file are refused. The other
// members stay.
func TestRefused(t *testing.T) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range []tar.Header{
		{Name: "a", Typeflag: tar.TypeReg}, {Name: "./a", Typeflag: tar.TypeReg}, {Name: "a/b", Typeflag: tar.TypeReg}, {Name: "a/b/c", Typeflag: tar.TypeReg},
		{Name: "a.b", Typeflag: tar.TypeReg}, {Name: "link", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}, {Name: "hard", Linkname: "a", Typeflag: tar.TypeLink},
		{Name: "../up", Typeflag: tar.TypeReg}, {Name: "/abs", Typeflag: tar.TypeReg}, {Name: "d/", Typeflag: tar.TypeDir}, {Name: "pipe", Typeflag: tar.TypeFifo},
		{Name: "link/x", Typeflag: tar.TypeReg},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, refused := open(t, out.Bytes())
	if diff := cmp.Diff([]string{"./a", "link", "hard", "../up", "/abs", "pipe", "a/b", "a/b/c"}, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	var kept []string
	for _, m := range f.members {
		kept = append(kept, m.name)
	}
	if diff := cmp.Diff([]string{"a", "a.b", "link/x"}, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// Members that are not needed are neither kept nor counted.
func TestKeep(t *testing.T) {
	f, err := newFS(context.Background(), bytes.NewReader(pack(t, "a=1", "b/long=2", "c=3")), "x.tar", limits{2, 2},
		func(name string) bool { return len(name) == 1 }, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := fs.ReadFile(f, "c"); string(text) != "3" {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := f.content.file.Stat(); err != nil || info.Size() != 2 {
		t.Errorf("the temporary file is %v, %v", info, err)
	}
	if _, err := f.Stat("b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("b: %v", err)
	}
}

// If an archive cannot be read or kept, the error says why, and there is no file system.
// While there is one, and afterwards, the directory for temporary files is empty.
func TestNothingRemains(t *testing.T) {
	good := pack(t, "a=1", "b=2", "c=3")
	var links bytes.Buffer
	w := tar.NewWriter(&links)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "l", Linkname: "x", Typeflag: tar.TypeSymlink}), w.Close()); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		archive io.Reader
		limit   int
		temp    string
		want    string // of the error; empty if refuse stops
	}{
		{"good", context.Background(), bytes.NewReader(good), 3, ".", ""},
		{"limit", context.Background(), bytes.NewReader(good), 2, ".", "x.tar contains more than 2 files and directories"},
		{"long names", context.Background(), bytes.NewReader(pack(t, "five5", "other5", "b")), 3, ".", "archive_limit: the names of the members are longer than 10 bytes"},
		{"truncated", context.Background(), bytes.NewReader(good[:1000]), 3, ".", "archive_malformed"},
		{"no archive", context.Background(), strings.NewReader("text"), 3, ".", "archive_malformed"},
		{"read error", context.Background(), iotest.ErrReader(fs.ErrClosed), 3, ".", "file already closed"},
		{"no place", context.Background(), bytes.NewReader(good), 3, "missing", "the directory for temporary files"},
		{"interrupted", ended, bytes.NewReader(good), 3, ".", "context canceled"},
		{"stopped", context.Background(), &links, 3, ".", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", filepath.Join(dir, tt.temp))
			f, err := newFS(tt.ctx, tt.archive, "x.tar", limits{tt.limit, 10}, nil, func(string, error) bool { return false })
			if (f != nil) != (tt.name == "good") || (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("file system %v, error %v", f, err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("in the directory for temporary files: %v %v", left, err)
			}
			if f != nil {
				f.Close()
			}
		})
	}
}

//go:build unix

package capture

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/iotest"
)

// A file is read to its end, even if its size changed after it was looked up. If the size is
// the same, io.EOF comes with the last bytes.
func TestRegularFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	const content = "some bytes"
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{0, int64(len(content)) - 1, int64(len(content)), int64(len(content)) + 1} {
		open := func() file {
			f, err := openRegular(path, size)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		f := open()
		var want error
		if size == int64(len(content)) {
			want = io.EOF
		}
		buf := make([]byte, 100)
		if n, err := f.Read(buf); string(buf[:n]) != content || err != want {
			t.Errorf("looked up with %d bytes: %q, %v", size, buf[:n], err)
		}
		if n, err := f.Read(buf); n != 0 || err != io.EOF {
			t.Errorf("looked up with %d bytes: after the end %d bytes, %v", size, n, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		f = open()
		if err := iotest.TestReader(f, []byte(content)); err != nil {
			t.Errorf("looked up with %d bytes: %v", size, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Bytes that were appended after a file was looked up are read, also if that happens between
// two reads.
func TestRegularFileGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("abc"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := openRegular(path, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 3)
	if n, err := f.Read(buf); n != 3 || err != nil { // it asked for no more
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := os.WriteFile(path, []byte("abcde"), 0o666); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(f); string(rest) != "de" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}

// A closed file is not used again, because its descriptor may belong to another one.
func TestRegularFileClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := openRegular(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	_, read := f.Read(make([]byte, 1))
	_, readAt := f.ReadAt(make([]byte, 1), 0)
	for _, err := range []error{read, readAt, f.Close()} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("a closed file: %v", err)
		}
	}
}

// A file that cannot be opened or read is an error with its path. A named pipe in the place of
// a file is not waited for.
func TestRegularFileErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := openRegular(filepath.Join(dir, "nowhere"), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	f, err := openRegular(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var at *fs.PathError
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, syscall.EISDIR) || !errors.As(err, &at) || at.Path != dir {
		t.Errorf("a directory: %v", err)
	}
	path := fifo(t)
	within(t, func() {
		pipe, err := openRegular(path, 3)
		if err != nil {
			t.Error(err)
			return
		}
		defer pipe.Close()
		if n, err := pipe.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("a pipe: %d bytes, %v", n, err)
		}
	})
}

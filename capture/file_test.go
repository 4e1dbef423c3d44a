//go:build unix

package capture

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fifo creates a named pipe.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe.sse")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// within fails the test if f does not return in a very long time.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(5 * time.Minute):
		t.Fatal("it does not end")
	}
}

// asked is a context that calls a function when its Done method is called.
type asked struct {
	context.Context
	waiting func()
}

func (a asked) Done() <-chan struct{} {
	a.waiting()
	return a.Context.Done()
}

// Opening a named pipe without a writer ends when the context is done.
func TestOpenPipeWithoutWriter(t *testing.T) {
	stopped := errors.New("stopped by the test")
	path := fifo(t)
	for name, open := range map[string]func(context.Context) error{
		"OpenFile": func(ctx context.Context) error { _, err := OpenFile(ctx, path); return err },
		"Open":     func(ctx context.Context) error { _, err := Open(ctx, path, ""); return err },
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		within(t, func() {
			if err := open(asked{ctx, func() { cancel(stopped) }}); !errors.Is(err, stopped) {
				t.Errorf("%s: error %v, want the context's cause", name, err)
			}
		})
	}
}

// A pipe whose writer opens it later is read to the end. Reading from a silent writer
// ends when the context is done.
func TestOpenPipe(t *testing.T) {
	path := fifo(t)
	write := sync.OnceFunc(func() {
		go func() {
			if w, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
				io.WriteString(w, twoEvents)
				w.Close()
			}
		}()
	})
	within(t, func() {
		c, err := Open(asked{t.Context(), write}, path, "")
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		if frames, err := readAll(t, c); err != io.EOF || len(frames) != 2 || c.Name() != "pipe" {
			t.Errorf("%d frames of %q, %v", len(frames), c.Name(), err)
		}
	})

	stopped := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	release := make(chan struct{})
	defer close(release)
	go func() {
		if w, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			io.WriteString(w, "data")
			<-release
			w.Close()
		}
	}()
	within(t, func() {
		r, err := OpenFile(ctx, path)
		if err != nil {
			t.Error(err)
			return
		}
		b := make([]byte, len("data")+1)
		if n, err := io.ReadFull(r, b[:len("data")]); err != nil || string(b[:n]) != "data" {
			t.Errorf("read %q, %v", b[:n], err)
		}
		go cancel(stopped)
		if n, err := r.Read(b); n != 0 || !errors.Is(err, stopped) {
			t.Errorf("read %q, %v; want the context's cause", b[:n], err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("abc"), 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{path: "abc", os.DevNull: ""} {
		r, err := OpenFile(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); string(b) != want || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := OpenFile(t.Context(), dir); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("a directory: %v, want EISDIR", err)
	}
	if _, err := OpenFile(t.Context(), filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	stopped := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := OpenFile(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel(stopped)
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, stopped) {
		t.Errorf("a read after the end: %v", err)
	}
	if _, err := OpenFile(ctx, path); !errors.Is(err, stopped) {
		t.Errorf("an open after the end: %v", err)
	}
}

// A capture cannot be created at a named pipe. The pipe is not opened.
func TestCheckEmptyPipe(t *testing.T) {
	path := fifo(t)
	within(t, func() {
		if err := CheckEmpty(path); !errors.Is(err, fs.ErrExist) {
			t.Errorf("error %v", err)
		}
	})
}

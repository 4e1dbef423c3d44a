package capture

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// OpenFile opens a file, a named pipe or a device for reading. OpenFile and Read
// return when ctx is done, even while they wait for the writer of a pipe or for
// bytes. If OpenFile returns before the pipe has a writer, a goroutine remains
// until there is one. If path is a directory, the error matches syscall.EISDIR.
func OpenFile(ctx context.Context, path string) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	if err != nil {
		info = nil // opening the file fails, too
	}
	return openFile(ctx, path, info)
}

// openFile is OpenFile for a path that info, if not nil, describes.
func openFile(ctx context.Context, path string, info fs.FileInfo) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if info != nil && info.Mode().IsRegular() {
		f, err := openRegular(path, info.Size())
		if err != nil {
			return nil, err
		}
		return &readCloser{&contextReader{ctx, f}, f}, nil
	}
	type result struct {
		file *os.File
		err  error
	}
	opened := make(chan result, 1)
	go func() {
		f, err := os.Open(path)
		opened <- result{f, err}
	}()
	var r result
	select {
	case <-ctx.Done():
		go func() {
			if r := <-opened; r.err == nil {
				r.file.Close()
			}
		}()
		return nil, context.Cause(ctx)
	case r = <-opened:
	}
	if r.err != nil {
		return nil, r.err
	}
	info, err := r.file.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case info.Mode().IsRegular():
		return &readCloser{&contextReader{ctx, r.file}, r.file}, nil
	default:
		return &readCloser{Interruptible(ctx, r.file), r.file}, nil
	}
	r.file.Close()
	return nil, err
}

// readCloser combines a reader of a file with the file's Close.
type readCloser struct {
	io.Reader
	io.Closer
}

// OpenInput is like OpenFile, but the path "-" means standard input. The caller
// must call the returned function to close the input.
func OpenInput(ctx context.Context, path string) (io.Reader, func(), error) {
	if path == "-" {
		return Interruptible(ctx, os.Stdin), func() {}, nil
	}
	f, err := OpenFile(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	return f, func() { f.Close() }, nil
}

// ReadInput is like ReadFile, but "-" is standard input.
func ReadInput(ctx context.Context, path string, limit int64) ([]byte, error) {
	if path == "-" {
		return readAtMost(Interruptible(ctx, os.Stdin), "standard input", limit)
	}
	return ReadFile(ctx, path, limit)
}

// ReadFile reads a file or a pipe to its end. It fails if there are more than limit
// bytes.
func ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	f, err := OpenFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, path, limit)
}

// readSized is io.ReadAll for a reader that probably has size bytes.
func readSized(r io.Reader, size int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}

func readAtMost(r io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, err
}

//go:build unix

package capture

import (
	"context"
	"io"
	"io/fs"
	"syscall"
)

// regularFile is an open regular file that is read from its start to its end, until ctx is
// done. An os.File also asks the poller of the runtime, which cannot wait for a regular file,
// and reads once more at the end: with those, a small file costs twice as many system calls.
type regularFile struct {
	ctx  context.Context
	path string
	fd   int   // -1 when it is closed
	size int64 // when it was looked up
	read int64 // bytes
}

// openSequential opens a regular file that had size bytes when it was looked up. If another
// file has taken its place, such as a named pipe, opening and reading it do not wait.
func openSequential(ctx context.Context, path string, size int64) (io.ReadCloser, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		switch err {
		case nil:
			return &regularFile{ctx: ctx, path: path, fd: fd, size: size}, nil
		case syscall.EINTR:
		default:
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// Read implements io.Reader. It returns io.EOF with the last bytes if the file still has the
// size that it had when it was looked up.
func (f *regularFile) Read(p []byte) (int, error) {
	for {
		if f.ctx.Err() != nil {
			return 0, context.Cause(f.ctx)
		}
		if f.fd < 0 {
			return 0, &fs.PathError{Op: "read", Path: f.path, Err: fs.ErrClosed}
		}
		n, err := syscall.Read(f.fd, p)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return 0, &fs.PathError{Op: "read", Path: f.path, Err: err}
		}
		f.read += int64(n)
		if n < len(p) && (n == 0 || f.read == f.size) {
			return n, io.EOF
		}
		return n, nil
	}
}

// Close implements io.Closer.
func (f *regularFile) Close() error {
	if f.fd < 0 {
		return &fs.PathError{Op: "close", Path: f.path, Err: fs.ErrClosed}
	}
	fd := f.fd
	f.fd = -1
	if err := syscall.Close(fd); err != nil {
		return &fs.PathError{Op: "close", Path: f.path, Err: err}
	}
	return nil
}

//go:build unix

package capture

import (
	"io"
	"io/fs"
	"syscall"
)

// regularFile is an open regular file. An os.File also asks the poller of the runtime, which
// cannot wait for a regular file, and needs one more read to find the end: with those, a small
// file costs five system calls instead of three.
type regularFile struct {
	path string
	fd   int   // -1 when it is closed
	size int64 // when the file was looked up
	read int64 // number of bytes that Read returned
}

// openRegular opens a regular file that had size bytes when it was looked up. If another file
// has taken its place, such as a named pipe, neither opening nor reading it waits.
func openRegular(path string, size int64) (file, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		switch err {
		case nil:
			return &regularFile{path: path, fd: fd, size: size}, nil
		case syscall.EINTR:
		default:
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// Read implements io.Reader. If the file still has the size that it had when it was looked up,
// Read returns io.EOF with the last bytes.
func (f *regularFile) Read(p []byte) (int, error) {
	n, err := f.try("read", func() (int, error) { return syscall.Read(f.fd, p) })
	if err != nil {
		return 0, err
	}
	f.read += int64(n)
	if n < len(p) && (n == 0 || f.read == f.size) {
		return n, io.EOF
	}
	return n, nil
}

// ReadAt implements io.ReaderAt.
func (f *regularFile) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		read, err := f.try("read", func() (int, error) { return syscall.Pread(f.fd, p[n:], offset+int64(n)) })
		if err != nil {
			return n, err
		}
		if read == 0 {
			return n, io.EOF
		}
		n += read
	}
	return n, nil
}

// Close implements io.Closer.
func (f *regularFile) Close() error {
	_, err := f.try("close", func() (int, error) { return 0, syscall.Close(f.fd) })
	f.fd = -1
	return err
}

// try makes a system call until no signal interrupts it.
func (f *regularFile) try(op string, call func() (int, error)) (int, error) {
	if f.fd < 0 {
		return 0, &fs.PathError{Op: op, Path: f.path, Err: fs.ErrClosed}
	}
	for {
		n, err := call()
		if err == nil {
			return n, nil
		}
		if err != syscall.EINTR || op == "close" {
			return 0, &fs.PathError{Op: op, Path: f.path, Err: err}
		}
	}
}

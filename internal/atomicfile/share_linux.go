package atomicfile

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Share marks an open directory as used until it is closed, also by the end of the program,
// and reports whether another open one is. It is independent of Lock, and changes nothing on
// disk. The error matches errors.ErrUnsupported if the system cannot do this.
func Share(dir *os.File) (others bool, err error) {
	// The lock of a reader, which any number of programs can have. Whoever is second sees the
	// first, because each marks the directory before it looks.
	mark := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart, Len: 1}
	if err := Retry(func() error { return unix.FcntlFlock(dir.Fd(), unix.F_OFD_SETLK, &mark) }); err != nil {
		return false, os.NewSyscallError("fcntl", err)
	}
	look := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Len: 1}
	if err := Retry(func() error { return unix.FcntlFlock(dir.Fd(), unix.F_OFD_GETLK, &look) }); err != nil {
		return false, os.NewSyscallError("fcntl", err)
	}
	return look.Type != unix.F_UNLCK, nil
}

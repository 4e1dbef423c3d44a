//go:build unix && !solaris && !aix

package atomicfile

import (
	"errors"
	"math"
	"os"
	"syscall"
)

// Lock locks an open file or directory until it is closed. It waits while the file is
// locked. It returns an error if the file system has no locks.
func Lock(f *os.File) error {
	_, err := flock(f, syscall.LOCK_EX)
	return err
}

// TryLock is like Lock, but does not wait. It reports whether it locked the file. It
// returns false if the file is locked already.
func TryLock(f *os.File) (bool, error) { return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) }

// TryRLock is like TryLock, but any number of locks by TryRLock may exist at a time.
func TryRLock(f *os.File) (bool, error) { return flock(f, syscall.LOCK_SH|syscall.LOCK_NB) }

func flock(f *os.File, how int) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}

func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// MaxOpen returns the number of files that the program may have open.
func MaxOpen() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || uint64(limit.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(limit.Cur)
}

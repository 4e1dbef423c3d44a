//go:build unix && !solaris && !aix

package atomicfile

import (
	"os"
	"syscall"
)

// lock waits for the directory until dir is closed by whoever has it, where the
// file system has locks.
func lock(dir *os.File) {
	for syscall.Flock(int(dir.Fd()), syscall.LOCK_EX) == syscall.EINTR {
	}
}

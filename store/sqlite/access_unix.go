//go:build unix

package sqlite

import (
	"fmt"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// writable checks that the process may write a file. It does not open the file, because
// closing it again would give up the locks of other connections.
func writable(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("the file cannot be read and written: %w", err)
	}
	return nil
}

// links returns the number of names of a file.
func links(info fs.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Nlink) }

//go:build unix

package sqlite

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// mayWrite and mayRead return an error if the process may not read and write, or not read, a file
// or a directory. They do not open a file, because closing it again would give up the locks of
// other connections.
func mayWrite(path string) error {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, unix.AT_EACCESS)
}

func mayRead(path string) error {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK, unix.AT_EACCESS)
}

// links returns the number of names of a file.
func links(info fs.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Nlink) }

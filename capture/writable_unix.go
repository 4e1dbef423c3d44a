//go:build unix

package capture

import (
	"io/fs"
	"syscall"
)

// writable asks the system whether this process may make files in a directory.
func writable(dir string) error {
	const writeAndSearch = 2 | 1 // W_OK | X_OK of access(2)
	if err := syscall.Access(dir, writeAndSearch); err != nil {
		return &fs.PathError{Op: "access", Path: dir, Err: err}
	}
	return nil
}

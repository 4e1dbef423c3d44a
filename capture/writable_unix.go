//go:build unix

package capture

import (
	"io/fs"
	"syscall"
)

// checkWritable returns an error if this process may not create files in dir.
func checkWritable(dir string) error {
	const writeAndSearch = 2 | 1 // W_OK | X_OK of access(2)
	if err := syscall.Access(dir, writeAndSearch); err != nil {
		return &fs.PathError{Op: "access", Path: dir, Err: err}
	}
	return nil
}

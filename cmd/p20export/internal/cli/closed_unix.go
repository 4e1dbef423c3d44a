//go:build unix

package cli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// isClosed reports whether w is a standard stream that was closed when the program
// started. Go's runtime opens /dev/null for reading and writing in its place, so that no
// other file gets the descriptor. A redirection of a shell opens it only for writing.
//
// A program that passes such a /dev/null itself cannot be distinguished. Some do this to
// discard the output, so callers must not report two closed streams: nobody would see it.
func isClosed(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	null, nullErr := os.Stat(os.DevNull)
	if err != nil || nullErr != nil || !os.SameFile(info, null) {
		return false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}

//go:build unix

package cli

import (
	"context"

	"golang.org/x/sys/unix"
)

// awaitClosed waits until the reader of a pipe is gone, or until ctx is done. It reports
// whether the reader is gone.
func awaitClosed(ctx context.Context, fd int32) bool {
	const interval = 500 // milliseconds between looks at ctx
	for ctx.Err() == nil {
		fds := []unix.PollFd{{Fd: fd}} // without events, only errors are reported
		switch _, err := unix.Poll(fds, interval); {
		case err != nil && err != unix.EINTR:
			return false
		case err == nil && fds[0].Revents != 0:
			return fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
		}
	}
	return false
}

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// ErrReaderGone is the cause of a context of WithReader whose reader is gone.
var ErrReaderGone = errors.New("standard output is a pipe that nobody reads any more")

// WithReader returns a context that is also done when standard output is a pipe and its
// reader is gone. A command that waits before it writes would notice that only at its next
// write. The caller must call the returned function.
func WithReader(cmd *cobra.Command) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(cmd.Context())
	if out, ok := cmd.OutOrStdout().(interface{ Fd() uintptr }); ok {
		if fd := int32(out.Fd()); fd >= 0 {
			go func() {
				if awaitClosed(ctx, fd) {
					cancel(ErrReaderGone)
				}
			}()
		}
	}
	return ctx, func() { cancel(nil) }
}

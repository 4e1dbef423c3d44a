//go:build !unix

package capture

import (
	"context"
	"io"
)

// openSequential opens a regular file that is read from its start to its end, until ctx is
// done.
func openSequential(ctx context.Context, path string, _ int64) (io.ReadCloser, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	return &readCloser{&contextReader{ctx, f}, f}, nil
}

//go:build !unix

package cli

import "io"

// isClosed returns false: writing to a closed stream is an error.
func isClosed(io.Writer) bool { return false }

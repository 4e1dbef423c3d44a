//go:build !unix

package cli

import "context"

// awaitClosed reports that it does not know: the next write finds out.
func awaitClosed(context.Context, int32) bool { return false }

//go:build !unix

package capture

import "os"

// openRegular opens a regular file.
func openRegular(path string, _ int64) (file, error) { return os.Open(path) }

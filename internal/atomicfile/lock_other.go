//go:build !unix || solaris || aix

package atomicfile

import "os"

// lock does nothing where directories cannot be locked.
func lock(*os.File) {}

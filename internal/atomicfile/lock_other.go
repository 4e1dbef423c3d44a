//go:build !unix || solaris || aix

package atomicfile

import (
	"errors"
	"os"
)

// tryLock says that there are no locks.
func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func unlock(*os.File) {}

//go:build !unix || solaris || aix

package atomicfile

import (
	"errors"
	"os"
)

// tryLock fails, because there are no locks on this system.
func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func unlock(*os.File) {}

//go:build !unix || solaris || aix

package atomicfile

import (
	"errors"
	"math"
	"os"
)

// tryLock fails, because there are no locks on this system.
func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func unlock(*os.File) {}

// MaxOpen returns the number of files that the program may have open.
func MaxOpen() int { return math.MaxInt32 }

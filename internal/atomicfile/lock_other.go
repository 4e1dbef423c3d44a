//go:build !unix || solaris || aix

package atomicfile

import (
	"errors"
	"math"
	"os"
)

// Lock, TryLock and TryRLock fail, because there are no locks on this system.
func Lock(*os.File) error { return errors.ErrUnsupported }

// TryLock fails as Lock does.
func TryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

// TryRLock fails as Lock does.
func TryRLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func unlock(*os.File) {}

// MaxOpen returns the number of files that the program may have open.
func MaxOpen() int { return math.MaxInt32 }

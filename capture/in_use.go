package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/p20export/p20export/internal/atomicfile"
)

// ErrInUse matches the error of Recover for a capture that is still being written.
var ErrInUse = errors.New("the capture is being written")

// InUse reports whether a Writer is writing the capture in the directory name of root. It
// returns false for a directory without a claim. The error matches errors.ErrUnsupported
// if the file system has no locks, so that nobody can tell. No symbolic link is followed.
func InUse(root *os.Root, name string) (bool, error) {
	dir, err := openChild(root, name)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	f, err := openClaim(dir, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	locked, err := atomicfile.TryRLock(f)
	if err != nil {
		return false, noLocks(dir.Name(), err)
	}
	return !locked, nil
}

// openClaim opens the claim in a capture directory.
func openClaim(dir *os.Root, flag int) (*os.File, error) {
	info, err := dir.Lstat(ClaimName)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir.Name(), ClaimName)
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := dir.OpenFile(ClaimName, flag, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		f.Close()
		return nil, errors.Join(err, fmt.Errorf("%s was replaced by another program", path))
	}
	return f, nil
}

// noLocks is the error for a file system without locks.
func noLocks(dir string, err error) error {
	return fmt.Errorf("%s: %w: the file system cannot lock files (%w), so it is not known whether the capture is still being written", dir, errors.ErrUnsupported, err)
}

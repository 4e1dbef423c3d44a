package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/p20export/p20export/internal/atomicfile"
)

// ErrInUse is matched by errors of Recover and Hold for a capture that is still being
// written.
var ErrInUse = errors.New("the capture is being written")

// InUse reports whether a Writer is writing the capture in the directory name of root. It
// returns false for a directory without a claim. The error matches errors.ErrUnsupported
// if the file system has no locks. InUse does not follow symbolic links.
func InUse(root *os.Root, name string) (bool, error) {
	dir, err := openChild(root, name)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	f, err := openIn(dir, ClaimName, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	locked, err := atomicfile.TryRLock(f)
	if err != nil {
		return false, &noLocksError{dir.Name(), err}
	}
	return !locked, nil
}

// Hold locks the unfinished capture in the directory name of root, so that no other
// program recovers or removes it until release is called. An error matches ErrInUse if the
// capture is being written, ErrFinished if it has a manifest, and errors.ErrUnsupported if
// the file system has no locks. No symbolic link is followed.
func Hold(root *os.Root, name string) (release func(), err error) {
	r := &remainder{name: name}
	if r.dir, err = openChild(root, name); err != nil {
		return nil, err
	}
	if err := r.hold(); err != nil {
		r.close()
		return nil, err
	}
	return r.close, nil
}

// noLocksError reports a file system without locks.
type noLocksError struct {
	dir string
	err error
}

func (e *noLocksError) Error() string {
	return fmt.Sprintf("%s: the file system has no locks (%v), so it is not known whether the capture is still being written", e.dir, e.err)
}

func (e *noLocksError) Unwrap() []error { return []error{errors.ErrUnsupported, e.err} }

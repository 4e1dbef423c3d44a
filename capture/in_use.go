package capture

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/p20export/p20export/finding"
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

// openIn opens a regular file of a capture directory. It does not follow a symbolic link.
func openIn(dir *os.Root, name string, flag int) (*os.File, error) {
	info, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, finding.New(finding.CaptureFileLink, "%s is a symbolic link, which is not followed", finding.Escape(filepath.Join(dir.Name(), name)))
	case !info.Mode().IsRegular():
		return nil, finding.New(finding.CaptureFileMissing, "%s is not a regular file", finding.Escape(filepath.Join(dir.Name(), name)))
	}
	f, err := dir.OpenFile(name, flag|syscall.O_NONBLOCK, 0) // a named pipe may have taken its place
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		f.Close()
		return nil, errors.Join(err, errReplaced(dir, name))
	}
	return f, nil
}

// checkIs returns an error if the file name of dir is not the open file f.
func checkIs(dir *os.Root, name string, f *os.File) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	if at, err := dir.Lstat(name); err != nil || !os.SameFile(is, at) {
		return errReplaced(dir, name)
	}
	return nil
}

// errReplaced is the error for a file that is no longer the one that was looked up.
func errReplaced(dir *os.Root, name string) error {
	return &occupiedError{fmt.Sprintf("%s was replaced by another program", filepath.Join(dir.Name(), name))}
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

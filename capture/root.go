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

// checkName returns an error if name is not a single path element.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || filepath.Base(name) != name {
		return fmt.Errorf("%s is not the name of a directory", finding.Quote(name))
	}
	return nil
}

// openChild opens the directory name in parent. It does not follow a symbolic link.
func openChild(parent *os.Root, name string) (*os.Root, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	info, err := lstat(parent, name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(parent.Name(), name), Err: syscall.ENOTDIR}
	}
	child, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := lstat(child, ".")
	if err == nil && !os.SameFile(info, opened) {
		err = errReplaced(parent, name)
	}
	if err != nil {
		child.Close()
		return nil, err
	}
	return child, nil
}

// openIn opens a regular file of a capture directory. It does not follow a symbolic link.
func openIn(dir *os.Root, name string, flag int) (*os.File, error) {
	info, err := lstat(dir, name)
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
	opened, err := f.Stat()
	if err == nil && !os.SameFile(info, opened) {
		err = errReplaced(dir, name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkIs returns an error if the file name of dir is not the open file f.
func checkIs(dir *os.Root, name string, f *os.File) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	at, err := lstat(dir, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(is, at) {
		return errReplaced(dir, name)
	}
	return err
}

// errReplaced is the error for a file that is no longer the one that was looked up.
func errReplaced(dir *os.Root, name string) error {
	return &occupiedError{fmt.Sprintf("%s was replaced by another program", filepath.Join(dir.Name(), name))}
}

// lstat returns the FileInfo of a file, which may be a symbolic link. Unlike the methods of
// os.Root, it repeats a call that a signal interrupts.
func lstat(dir *os.Root, name string) (info fs.FileInfo, err error) {
	err = atomicfile.Retry(func() error { info, err = dir.Lstat(name); return err })
	return info, err
}

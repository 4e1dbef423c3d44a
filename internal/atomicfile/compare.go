package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A SameFunc reports whether an existing file is the same as a staged file. Equal is a
// SameFunc.
type SameFunc func(existing, staged *io.SectionReader) (bool, error)

// compare returns nil if the file with the given name is the same as the staged file. The
// error matches fs.ErrNotExist if nothing has the name, and fs.ErrExist if another file, a
// link or a directory has it.
func (d *Directory) compare(name string, staged *io.SectionReader, same SameFunc) error {
	_, err := d.compareInfo(name, staged, same)
	return err
}

// compareInfo is like compare, but also describes the file as it was before it was read.
func (d *Directory) compareInfo(name string, staged *io.SectionReader, same SameFunc) (fs.FileInfo, error) {
	path := filepath.Join(d.path, name)
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &directoryError{path}
	case !info.Mode().IsRegular(): // opening a pipe would block
		return nil, fmt.Errorf("%s: %w and is not a regular file", path, fs.ErrExist)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%s: %w and cannot be read for comparison: %w", path, fs.ErrExist, err)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	existing, err := content(f)
	if err != nil {
		return nil, err
	}
	ok, err := same(existing, staged)
	if err == nil && !ok {
		return nil, fmt.Errorf("%s: %w with other content", path, fs.ErrExist)
	}
	return info, err
}

// Equal reports whether two files have the same bytes.
func Equal(existing, staged *io.SectionReader) (bool, error) {
	if existing.Size() != staged.Size() {
		return false, nil
	}
	return equal(existing, staged)
}

// content returns a reader of the file from its beginning to its current end.
func content(f *os.File) (*io.SectionReader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.NewSectionReader(f, 0, info.Size()), nil
}

// equal reports whether two readers return the same bytes.
func equal(a, b io.Reader) (bool, error) {
	var bufA, bufB [32 << 10]byte
	for {
		n, errA := io.ReadFull(a, bufA[:])
		m, errB := io.ReadFull(b, bufB[:])
		if !bytes.Equal(bufA[:n], bufB[:m]) {
			return false, nil
		}
		switch {
		case errA == nil && errB == nil:
		case ended(errA) && ended(errB):
			return true, nil
		case ended(errA):
			return false, errB
		default:
			return false, errA
		}
	}
}

func ended(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

// directoryError reports that a file cannot be written because a directory has its
// name.
type directoryError struct{ path string }

func (e *directoryError) Error() string { return e.path + " is a directory" }

// Is reports that the error matches fs.ErrExist.
func (e *directoryError) Is(target error) bool { return target == fs.ErrExist }

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

// SameFunc reports whether the file there is the one that the staged file would
// be. Equal is the plainest.
type SameFunc func(there, staged *io.SectionReader) (bool, error)

// compare returns nil when the file of that name is the same as the staged one,
// an error that matches fs.ErrNotExist when nothing has the name, and one that
// matches fs.ErrExist when something else has: also a link or a directory.
func (d *Directory) compare(name string, staged *io.SectionReader, same SameFunc) error {
	path := filepath.Join(d.path, name)
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular(): // opening a pipe would wait for its writer
		return fmt.Errorf("%s: %w and is not a regular file", path, fs.ErrExist)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s: %w and cannot be read to compare it: %w", path, fs.ErrExist, err)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	there, err := content(f)
	if err != nil {
		return err
	}
	ok, err := same(there, staged)
	if err == nil && !ok {
		return fmt.Errorf("%s: %w with other bytes", path, fs.ErrExist)
	}
	return err
}

// Equal reports whether two files hold the same bytes.
func Equal(there, staged *io.SectionReader) (bool, error) {
	if there.Size() != staged.Size() {
		return false, nil
	}
	return equal(there, staged)
}

// content reads a file from its beginning to its present end.
func content(f *os.File) (*io.SectionReader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.NewSectionReader(f, 0, info.Size()), nil
}

// equal compares what two readers hold.
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

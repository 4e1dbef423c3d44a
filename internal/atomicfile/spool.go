package atomicfile

import (
	"cmp"
	"io"
	"os"
)

// Spool stores pieces of data in a temporary file without a name. The file is removed
// when the Spool is closed or the program ends. It is not synced.
type Spool struct {
	dir  string
	file *os.File
	ends []int64
}

// TemporaryError is an error that concerns the directory for temporary files (TMPDIR on
// Unix).
type TemporaryError struct {
	Dir string
	Err error
}

// Error returns the directory and the cause.
func (e *TemporaryError) Error() string {
	return "the directory for temporary files, " + e.Dir + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *TemporaryError) Unwrap() error { return e.Err }

// NewSpool returns an empty Spool in a directory. If dir is "", the file is in the
// directory for temporary files, and errors are of type *TemporaryError.
func NewSpool(dir string) (*Spool, error) {
	f, err := CreateUnnamed(dir)
	if err != nil {
		return nil, err
	}
	return &Spool{dir: dir, file: f}, nil
}

// CreateUnnamed creates a file without a name in dir, or in the directory for temporary
// files if dir is "". The file is removed when it is closed or the program ends. Errors
// name the directory; WrapUnnamed does the same for errors of the file.
func CreateUnnamed(dir string) (*os.File, error) {
	path := cmp.Or(dir, os.TempDir())
	f, err := openUnnamed(path, 0o600)
	if err == nil {
		return f, nil
	}
	f, name, err := createNamed(path, 0o600)
	if err != nil {
		return nil, WrapUnnamed(dir, err)
	}
	if err := os.Remove(name); err != nil {
		f.Close()
		return nil, WrapUnnamed(dir, err)
	}
	return f, nil
}

// WrapUnnamed returns an error that names the directory, for an error of a file that
// CreateUnnamed(dir) returned.
func WrapUnnamed(dir string, err error) error {
	if dir != "" {
		return nameDirectory(dir, dir, err)
	}
	if p, ok := asTemporary(os.TempDir(), err); ok {
		return &TemporaryError{os.TempDir(), p.Err}
	}
	return err
}

// Add appends a piece and returns its number, from 0.
func (s *Spool) Add(data []byte) (int, error) {
	if _, err := s.file.WriteAt(data, s.end(len(s.ends))); err != nil {
		return 0, WrapUnnamed(s.dir, err)
	}
	s.ends = append(s.ends, s.end(len(s.ends))+int64(len(data)))
	return len(s.ends) - 1, nil
}

// Read returns piece number i.
func (s *Spool) Read(i int) ([]byte, error) {
	data := make([]byte, s.end(i+1)-s.end(i))
	_, err := io.ReadFull(io.NewSectionReader(s.file, s.end(i), int64(len(data))), data)
	return data, WrapUnnamed(s.dir, err)
}

// end returns the offset of the end of the first n pieces.
func (s *Spool) end(n int) int64 {
	if n == 0 {
		return 0
	}
	return s.ends[n-1]
}

// Close removes the file. Close on a nil Spool does nothing.
func (s *Spool) Close() error {
	if s == nil {
		return nil
	}
	return s.file.Close()
}

package atomicfile

import (
	"cmp"
	"io"
	"os"
)

// Spool keeps pieces of data in a temporary file without a name, which is gone
// when it is closed or the program ends. It is not synced: it is for what is
// read back by the same program.
type Spool struct {
	dir  string
	file *os.File
	ends []int64
}

// TemporaryError is an error of the directory for temporary files, which TMPDIR
// names on Unix.
type TemporaryError struct {
	Dir string
	Err error
}

func (e *TemporaryError) Error() string {
	return "the directory for temporary files, " + e.Dir + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *TemporaryError) Unwrap() error { return e.Err }

// NewSpool returns an empty spool in a directory. None is the directory for
// temporary files, whose errors are of type *TemporaryError.
func NewSpool(dir string) (*Spool, error) {
	f, err := CreateUnnamed(dir)
	if err != nil {
		return nil, err
	}
	return &Spool{dir: dir, file: f}, nil
}

// CreateUnnamed returns a file without a name in a directory, which is gone when it is
// closed or the program ends. None is the directory for temporary files. Errors
// name the directory; InDirectory makes those of the file do so.
func CreateUnnamed(dir string) (*os.File, error) {
	in := cmp.Or(dir, os.TempDir())
	f, err := openUnnamed(in)
	if err == nil {
		return f, nil
	}
	f, path, err := createNamed(in)
	if err != nil {
		return nil, WrapUnnamed(dir, err)
	}
	if err := os.Remove(path); err != nil {
		f.Close()
		return nil, WrapUnnamed(dir, err)
	}
	return f, nil
}

// WrapUnnamed names the directory in an error about a file that Unnamed returned.
func WrapUnnamed(dir string, err error) error {
	if dir != "" {
		return inDirectory(dir, dir, err)
	}
	if p, ok := ofTemporary(os.TempDir(), err); ok {
		return &TemporaryError{os.TempDir(), p.Err}
	}
	return err
}

// Add appends a piece, and returns its number from 0.
func (s *Spool) Add(data []byte) (int, error) {
	if _, err := s.file.WriteAt(data, s.end(len(s.ends))); err != nil {
		return 0, WrapUnnamed(s.dir, err)
	}
	s.ends = append(s.ends, s.end(len(s.ends))+int64(len(data)))
	return len(s.ends) - 1, nil
}

// Read returns a piece by its number.
func (s *Spool) Read(i int) ([]byte, error) {
	data := make([]byte, s.end(i+1)-s.end(i))
	_, err := io.ReadFull(io.NewSectionReader(s.file, s.end(i), int64(len(data))), data)
	return data, WrapUnnamed(s.dir, err)
}

// end returns where the first n pieces end.
func (s *Spool) end(n int) int64 {
	if n == 0 {
		return 0
	}
	return s.ends[n-1]
}

// Close gives back what the spool takes. Closing no spool does nothing.
func (s *Spool) Close() error {
	if s == nil {
		return nil
	}
	return s.file.Close()
}

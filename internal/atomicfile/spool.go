package atomicfile

import (
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
	f, err := Unnamed(dir, ".p20export-*.tmp")
	if err != nil {
		return nil, inDirectory(dir, err)
	}
	return &Spool{dir: dir, file: f}, nil
}

// Unnamed returns a file without a name, which is gone when it is closed or the
// program ends. The directory and the pattern are those of os.CreateTemp.
func Unnamed(dir, pattern string) (*os.File, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Add appends a piece, and returns its number from 0.
func (s *Spool) Add(data []byte) (int, error) {
	if _, err := s.file.WriteAt(data, s.end(len(s.ends))); err != nil {
		return 0, inDirectory(s.dir, err)
	}
	s.ends = append(s.ends, s.end(len(s.ends))+int64(len(data)))
	return len(s.ends) - 1, nil
}

// Read returns a piece by its number.
func (s *Spool) Read(i int) ([]byte, error) {
	data := make([]byte, s.end(i+1)-s.end(i))
	_, err := io.ReadFull(io.NewSectionReader(s.file, s.end(i), int64(len(data))), data)
	return data, inDirectory(s.dir, err)
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

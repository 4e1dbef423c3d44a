package freeze

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// errTooLong marks a file that is longer than anything of its kind.
var errTooLong = errors.New("too long")

// readBounded reads a regular file of at most limit bytes. Of a longer one it
// returns the beginning, one byte past the limit, and errTooLong. Nothing else
// is opened: a named pipe would wait for its writer.
func readBounded(path string, limit int) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &os.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(data) > limit {
		err = fmt.Errorf("%s: %w: more than %d bytes", path, errTooLong, limit)
	}
	return data, err
}

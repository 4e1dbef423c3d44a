package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// indexSuffix follows the name of the file in the name of the index of its write-ahead log.
const indexSuffix = "-shm"

// access is how a log can be used. SQLite needs an index of the write-ahead log in shared memory,
// in a file next to the log, which also has the locks of readers.
type access int

const (
	// readWrite is that of a process that may write the file and its directory.
	readWrite access = iota
	// readShared is that of one that may not, while the log has a write-ahead log and an index:
	// somebody else uses the log, or was killed.
	readShared
	// readAlone is that of one that may not, while the log has no write-ahead log: everything is in the
	// file. Nothing then tells SQLite that others write, so Still does.
	readAlone
)

// errReadOnly is the error of everything that writes to a log that can only be read.
var errReadOnly = errors.New("the log can only be read: this user may not write the file, or not its directory, in which SQLite needs files of its own")

// writes returns an error if the log cannot be written.
func (a access) writes() error {
	if a != readWrite {
		return errReadOnly
	}
	return nil
}

// accessOf returns how a log can be used. A log to create must be writable.
func accessOf(path string, create bool) (access, error) {
	err := mayWrite(path)
	if err == nil {
		err = mayWrite(filepath.Dir(path))
	}
	switch {
	case err == nil:
		return readWrite, nil
	case create:
		return readWrite, fmt.Errorf("%w: %w", errReadOnly, err)
	}
	if err := mayRead(path); err != nil {
		return readWrite, fmt.Errorf("the file cannot be read: %w", err)
	}
	wal, err := os.Stat(path + walSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return readAlone, nil
	}
	for _, name := range []string{path + walSuffix, path + indexSuffix} {
		if err == nil {
			err = mayRead(name)
		}
	}
	switch {
	case err != nil && wal != nil && wal.Size() == 0:
		return readAlone, nil
	case err != nil:
		return readWrite, fmt.Errorf("the last entries are in %s%s, which this user cannot use: open the log once as its owner, which moves them to the file: %w", path, walSuffix, err)
	}
	return readShared, nil
}

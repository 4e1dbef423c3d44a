package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/p20export/p20export/finding"
)

// walSuffix follows the name of the file in the name of its write-ahead log.
const walSuffix = "-wal"

// identity is which files a path led to when the log was opened. SQLite finds them by their
// names only then. What is appended after one of them was removed or replaced is seen by no
// other program, and lost when the process is killed.
type identity struct {
	path      string
	file, wal fs.FileInfo
	alone     bool // nobody may change the file
}

// identify returns the identity of a log. If it can be written, its connections must be open, so
// that it has a write-ahead log.
func identify(path string, a access) (*identity, error) {
	file, err := os.Stat(path)
	if err != nil || a == readAlone {
		return &identity{path: path, file: file, alone: true}, err
	}
	wal, err := os.Stat(path + walSuffix)
	return &identity{path: path, file: file, wal: wal}, err
}

// check returns an error unless the names still lead to the files that were opened.
func (i *identity) check() error {
	file, err := os.Stat(i.path)
	if err != nil || !os.SameFile(file, i.file) {
		return fmt.Errorf("%[1]s is not the file that was opened: put that file back, or stop p20export, remove %[1]s-wal and %[1]s-shm, and start it again", finding.Escape(i.path))
	}
	if i.alone {
		return i.unchanged(file)
	}
	if wal, err := os.Stat(i.path + walSuffix); err != nil || !os.SameFile(wal, i.wal) {
		return fmt.Errorf("%s%s is not the file that was opened: it was removed or replaced. Stop p20export, which then moves what it has to the log, and start it again", finding.Escape(i.path), walSuffix)
	}
	return nil
}

// unchanged returns an error if another program has begun to write to the log since it was opened
// to be read alone.
func (i *identity) unchanged(file fs.FileInfo) error {
	if wal, err := os.Stat(i.path + walSuffix); err == nil && wal.Size() == 0 || errors.Is(err, fs.ErrNotExist) {
		if file.Size() == i.file.Size() && file.ModTime().Equal(i.file.ModTime()) {
			return nil
		}
	}
	return errors.New("another program has begun to write to the log, which this user may only read: open it again")
}

// checkLinks returns an error if a file that is about to be opened has several names: the
// write-ahead log is found by the name, so each name would have one of its own, and entries
// would be lost. A name that is added later is refused when it is opened.
func checkLinks(path string, info fs.FileInfo) error {
	if n := links(info); n > 1 {
		return fmt.Errorf("%s has %d names (hard links), and entries would be lost if it were used by different ones: remove the others", finding.Escape(path), n)
	}
	return nil
}

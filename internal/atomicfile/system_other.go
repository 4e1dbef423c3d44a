//go:build !linux

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// openUnnamed fails, because only Linux has files without names.
func openUnnamed(string, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

// Share fails, because other systems have no locks of this kind.
func Share(*os.File) (others bool, err error) { return false, errors.ErrUnsupported }

// canLink returns false, because there are no files without names.
func canLink(*os.File) bool { return false }

// link is never called, because there are no files without names.
func link(*os.File, string) error { return errors.ErrUnsupported }

// renameNew fails, so that Move uses hard links.
func renameNew(string, string) error { return errors.ErrUnsupported }

// renameNewIn fails, so that MoveIn uses hard links.
func renameNewIn(*os.File, string, string) error { return errors.ErrUnsupported }

// renameExchange fails, so that files are replaced by renaming.
func renameExchange(string, string) error { return errors.ErrUnsupported }

// syncFileSystem fails, so that each file is synced.
func syncFileSystem(*os.File) error { return errors.ErrUnsupported }

// device returns the same number for all files, because syncFileSystem is not supported.
func device(*os.File) uint64 { return 0 }

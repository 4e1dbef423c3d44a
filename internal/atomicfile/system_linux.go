package atomicfile

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openUnnamed opens a new file without a name.
func openUnnamed(dir string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(dir, unix.O_TMPFILE|os.O_RDWR, mode)
}

// openLinkable opens a new file without a name that link can give a name.
func openLinkable(dir string, mode fs.FileMode) (*os.File, error) {
	f, err := openUnnamed(dir, mode)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(descriptor(f)); err != nil { // /proc is not mounted
		f.Close()
		return nil, err
	}
	return f, nil
}

// link gives a file without a name the name to. It fails if to exists.
func link(f *os.File, to string) error {
	from := descriptor(f)
	if err := unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: err}
	}
	return nil
}

func descriptor(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// renameNew renames a file. It fails if to exists.
func renameNew(from, to string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// renameExchange exchanges the names of two files.
func renameExchange(a, b string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

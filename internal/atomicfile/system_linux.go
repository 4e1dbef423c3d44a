package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// openUnnamed opens a new file without a name.
func openUnnamed(dir string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(dir, unix.O_TMPFILE|os.O_RDWR, mode)
}

// canLink reports whether link can give names to files without names in an open
// directory: it needs /proc.
func canLink(dir *os.File) bool {
	_, err := os.Lstat(descriptor(dir))
	return err == nil
}

// link gives a file without a name the name to. It fails if to exists.
func link(f *os.File, to string) error {
	from := descriptor(f)
	err := Retry(func() error { return unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW) })
	if err != nil {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: err}
	}
	return nil
}

func descriptor(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// renameNew renames a file. It fails if to exists.
func renameNew(from, to string) error {
	err := Retry(func() error { return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE) })
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// renameNewIn is renameNew for names in an open directory.
func renameNewIn(dir *os.File, from, to string) error {
	fd := int(dir.Fd())
	err := Retry(func() error { return unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE) })
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// renameExchange exchanges the names of two files.
func renameExchange(a, b string) error {
	err := Retry(func() error { return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE) })
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}

// synced are the kinds of file systems (statfs(2)) on which syncfs makes every file
// durable and reports every error. Network file systems and FUSE may not forward the
// call, and overlayfs does not report errors of the file system below it.
var synced = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC}

// syncFileSystem makes all files of the file system of a directory durable. It returns
// an error if that is not supported, or if any file could not be written since dir was
// opened or syncFileSystem(dir) last returned an error, even a file of another program.
func syncFileSystem(dir *os.File) error {
	var info unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &info); err != nil {
		return err
	}
	if !slices.Contains(synced, int64(info.Type)) || !syncfsReports() {
		return errors.ErrUnsupported
	}
	return Retry(func() error { return unix.Syncfs(int(dir.Fd())) })
}

// syncfsReports reports whether syncfs returns the errors of writing files, as it does
// since Linux 5.8.
var syncfsReports = sync.OnceValue(func() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	major, rest, _ := strings.Cut(unix.ByteSliceToString(u.Release[:]), ".")
	minor, _, _ := strings.Cut(rest, ".")
	x, err1 := strconv.Atoi(major)
	y, err2 := strconv.Atoi(minor)
	return err1 == nil && err2 == nil && (x > 5 || x == 5 && y >= 8)
})

// device returns the number of the file system that contains an open file.
func device(f *os.File) uint64 {
	var info unix.Stat_t
	if unix.Fstat(int(f.Fd()), &info) != nil {
		return 0
	}
	return uint64(info.Dev)
}

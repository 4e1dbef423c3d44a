package finding

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/p20export/p20export/internal/atomicfile"
)

// ErrorText returns the text of an error without names of system calls: "a does not
// exist" and not "lstat a: no such file or directory".
func ErrorText(err error) string {
	text := err.Error()
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		text = strings.Replace(text, p.Error(), pathErrorText(p), 1)
		text = strings.Replace(text, p.Path+": "+p.Path+" ", p.Path+" ", 1)
	}
	return text
}

func pathErrorText(p *fs.PathError) string {
	op := operation(p.Op)
	switch {
	case errors.Is(p.Err, syscall.EISDIR):
		return p.Path + " is a directory"
	case !errors.Is(p.Err, fs.ErrNotExist):
	case op == atomicfile.OpOpenDirectory:
		return "the directory " + strings.TrimRight(p.Path, "/") + " does not exist"
	case op == "open" || op == "read":
		return p.Path + " does not exist"
	}
	return "cannot " + op + " " + p.Path + ": " + p.Err.Error()
}

// operation returns words for the operation of an error of package os, which is often
// the name of a system call.
func operation(op string) string {
	switch op {
	case "stat", "lstat", "fstatat", "statx", "readlink", "seek":
		return "read"
	case "openat":
		return "open"
	case "readdirent", "fdopendir":
		return "read the directory"
	case "mkdir", "mkdirat":
		return "create the directory"
	case "ReadFrom", "copy_file_range":
		return "write"
	case "unlink", "unlinkat":
		return "remove"
	case "fsync":
		return "sync"
	}
	return op
}

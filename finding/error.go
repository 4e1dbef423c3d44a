package finding

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/internal/hint"
)

// FromError returns the finding for an error, with a hint. isVerdict is true if
// the finding is about the evidence, and false if an operation failed.
func FromError(err error) (f Finding, isVerdict bool) {
	if errors.As(err, &f) {
		return f, f.Code != IOFailed
	}
	if unsynced, ok := errors.AsType[*atomicfile.UnsyncedError](err); ok {
		return New(DurabilityUnknown, "%s", Escape(unsynced.Error())), false
	}
	if limit, ok := errors.AsType[*dirtree.LimitError](err); ok {
		return New(TreeTooLarge, "%s", Escape(limit.Error())), true
	}
	f = New(IOFailed, "%s", Escape(ErrorText(err)))
	switch {
	case errors.Is(err, context.Canceled):
		f = New(Interrupted, "interrupted before it finished")
	case isTemporary(err):
		f.Hint = hint.ChooseTempDir
	case errors.Is(err, fs.ErrNotExist):
		f.Hint = "check the path"
		if p, ok := errors.AsType[*fs.PathError](err); ok && p.Op == atomicfile.OpOpenDirectory {
			f.Hint = "create the directory, or choose another"
		}
	case errors.Is(err, fs.ErrExist):
		f.Hint = hint.ChooseOutput
	case errors.Is(err, syscall.EISDIR):
		f.Hint = "name a file, not a directory"
	case errors.Is(err, syscall.ENOTDIR):
		f.Hint = "name a directory; the path goes through a file"
	case errors.Is(err, syscall.ENOSPC):
		f.Hint = "free disk space and run the command again"
	case errors.Is(err, fs.ErrPermission):
		f.Hint = "check the permissions"
	}
	return f, false
}

// Leftover returns the finding about a temporary name that could not be removed
// after its file was published.
func Leftover(path string) Finding {
	return New(TemporaryLeft, "%s could not be removed; the file itself is written", Escape(path))
}

// isTemporary reports whether err is about the directory for temporary files.
func isTemporary(err error) bool {
	_, ok := errors.AsType[*atomicfile.TemporaryError](err)
	return ok
}

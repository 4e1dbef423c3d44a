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

// FromError returns the finding about an error, with the next step. isVerdict
// tells what is wrong with evidence from what could not be done.
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
	f = New(IOFailed, "%s", Escape(err.Error()))
	switch {
	case errors.Is(err, context.Canceled):
		f = New(Interrupted, "interrupted before it was done")
	case isTemporary(err):
		f.Hint = hint.ChooseTempDir
	case errors.Is(err, fs.ErrNotExist):
		f.Hint = "check the path"
	case errors.Is(err, fs.ErrExist):
		f.Hint = hint.ChooseOutput
	case errors.Is(err, syscall.EISDIR):
		f.Hint = "name a file, not a directory"
	case errors.Is(err, syscall.ENOTDIR):
		f.Hint = "name a directory; a file of that name is in the way"
	case errors.Is(err, syscall.ENOSPC):
		f.Hint = "make room on the disk and run it again"
	case errors.Is(err, fs.ErrPermission):
		f.Hint = "check who may read or write it"
	}
	return f, false
}

// Leftover returns the finding about a temporary file that could not be removed
// after its content was published.
func Leftover(path string) Finding {
	return New(TemporaryLeft, "%s could not be removed; the file it became is written", Escape(path))
}

// isTemporary reports whether an error is one of the directory for temporary files.
func isTemporary(err error) bool {
	_, ok := errors.AsType[*atomicfile.TemporaryError](err)
	return ok
}

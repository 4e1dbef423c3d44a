package finding_test

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
)

// The hint is for all commands, so it does not say what was left on the disk.
func TestFromErrorNoSpace(t *testing.T) {
	f, _ := finding.FromError(fmt.Errorf("cannot write: %w", syscall.ENOSPC))
	if !strings.HasPrefix(f.Hint, "free disk space") || strings.Contains(f.Hint, "nothing") {
		t.Errorf("hint %q", f.Hint)
	}
}

// A finding about unsynced files says that they are written, and is no verdict.
func TestFromErrorUnsynced(t *testing.T) {
	f, isVerdict := finding.FromError(fmt.Errorf("publishing: %w", &atomicfile.UnsyncedError{Dir: "out", Err: syscall.EIO}))
	if f.Code != "durability_unknown" || isVerdict || !strings.HasPrefix(f.Message, "written, durability unknown: out ") {
		t.Errorf("%v, %v", f, isVerdict)
	}
}

// An error of the directory for temporary files names it and TMPDIR.
func TestFromErrorTemporary(t *testing.T) {
	for _, cause := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.ENOSPC} {
		f, isVerdict := finding.FromError(fmt.Errorf("x: %w", &atomicfile.TemporaryError{Dir: "/tmp", Err: cause}))
		if f.Code != finding.IOFailed || isVerdict || !strings.Contains(f.Message, "the directory for temporary files, /tmp: ") || !strings.Contains(f.Hint, "TMPDIR") {
			t.Errorf("%v: %+v", cause, f)
		}
	}
}

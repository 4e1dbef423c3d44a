package finding_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
)

// A full disk leaves nothing half-written of what freeze writes, but a capture
// that stays unfinished: the advice is for both.
func TestFromErrorNoSpace(t *testing.T) {
	f, _ := finding.FromError(fmt.Errorf("the capture stays unfinished: %w", syscall.ENOSPC))
	if !strings.HasPrefix(f.Hint, "make room on the disk") || strings.Contains(f.Hint, "nothing") {
		t.Errorf("hint %q", f.Hint)
	}
}

// Files that are written are never said to be missing, and are no verdict.
func TestFromErrorUnsynced(t *testing.T) {
	f, isVerdict := finding.FromError(fmt.Errorf("publishing: %w", &atomicfile.UnsyncedError{Dir: "out", Err: syscall.EIO}))
	if f.Code != "durability_unknown" || isVerdict || !strings.HasPrefix(f.Message, "written, durability unknown: out ") {
		t.Errorf("%v, %v", f, isVerdict)
	}
}

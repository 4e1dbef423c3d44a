package finding_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/finding"
)

// A full disk leaves nothing half-written of what freeze writes, but a capture
// that stays unfinished: the advice is for both.
func TestFromErrorNoSpace(t *testing.T) {
	f, _ := finding.FromError(fmt.Errorf("the capture stays unfinished: %w", syscall.ENOSPC))
	if !strings.HasPrefix(f.Hint, "make room on the disk") || strings.Contains(f.Hint, "nothing") {
		t.Errorf("hint %q", f.Hint)
	}
}

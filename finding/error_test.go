package finding_test

import (
	"fmt"
	"io/fs"
	"os"
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

// A message has no names of system calls, and says in plain words that a file does not
// exist or is a directory.
func TestFromErrorPath(t *testing.T) {
	dir := t.TempDir()
	_, noDirectory := atomicfile.OpenDirectory("no/such/")
	_, noFile := os.Lstat("absent")
	_, notDirectory := os.Stat("error_test.go/x")
	_, readDirectory := os.ReadFile(dir)
	for _, test := range []struct {
		err  error
		want string
	}{
		{noDirectory, "the directory no/such does not exist; create the directory, or choose another"},
		{noFile, "absent does not exist; check the path"},
		{fmt.Errorf("the baseline: %w", noFile), "the baseline: absent does not exist; check the path"},
		{fmt.Errorf("absent: %w", noFile), "absent does not exist; check the path"},
		{notDirectory, "cannot read error_test.go/x: not a directory; name a directory; the path goes through a file"},
		{readDirectory, dir + " is a directory; name a file, not a directory"},
		{&fs.PathError{Op: "mkdir", Path: "a/b", Err: syscall.ENOENT}, "cannot create the directory a/b: no such file or directory; check the path"},
		{&fs.PathError{Op: "openat", Path: "a", Err: syscall.EACCES}, "cannot open a: permission denied; check the permissions"},
	} {
		if f, _ := finding.FromError(test.err); f.Message+"; "+f.Hint != test.want {
			t.Errorf("%v: got %q, want %q", test.err, f.Message+"; "+f.Hint, test.want)
		}
	}
}

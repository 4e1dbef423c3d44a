package capture

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/finding"
)

// After a full disk the directory cannot be used again, so the hint names another.
func TestWriterFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	w := create(t, dir, nil)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.response.file.Close()
	w.response.file = full
	if _, err := w.Write([]byte("data: a\n\n")); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("Write: %v", err)
	}
	_, err = w.Close(EndEOF)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("Close: %v", err)
	}
	f, isVerdict := finding.FromError(err)
	if f.Code != finding.IOFailed || isVerdict || !strings.Contains(f.Message, "the capture is unfinished: ") || !strings.HasPrefix(f.Hint, "free some disk space") || !strings.Contains(f.Hint, "another -o") {
		t.Errorf("%+v", f)
	}
	if CheckEmpty(dir) == nil {
		t.Error("the directory can be used again")
	}
}

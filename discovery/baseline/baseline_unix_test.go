//go:build unix

package baseline_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/baseline"
)

// Opening a pipe would wait for a writer and could not be interrupted.
func TestLoadBaselineFromPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := baseline.Load(pipe, artifact.V1); err == nil || !strings.Contains(err.Error(), pipe) || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v", err)
	}
}

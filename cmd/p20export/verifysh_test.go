//go:build assaycli || judge

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// runVerifyScript runs the verify.sh of the sample lane with this program, and
// bin in PATH.
func runVerifyScript(t *testing.T, bin string, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(sampleDir, "verify.sh"), args...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "P20EXPORT="+filepath.Join(ownBin(t), "p20export"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("verify.sh: %v\n%s", err, out)
	}
}

//go:build assaycli || judge

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// runVerifyScript runs the sample lane's verify.sh with this program and bin in PATH. The
// script must report every event file and bundle in assay/ as verified.
func runVerifyScript(t *testing.T, bin string, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(sampleDir, "verify.sh"), args...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "P20EXPORT="+filepath.Join(ownBin(t), "p20export"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("verify.sh: %v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(sampleDir, "assay", "*"))
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Split(string(out), "\n")
	for _, file := range files {
		name := filepath.Base(file)
		if name != "pack.yaml" && !slices.Contains(said, "verified  assay/"+name) {
			t.Errorf("verify.sh does not verify assay/%s:\n%s", name, out)
		}
	}
}

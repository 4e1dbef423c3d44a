//go:build assaycli

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAssayDocs runs what the sample lane's README shows of Assay's own command
// line, and the lane's verify.sh, with the one in $P20EXPORT_ASSAY. With -update
// it rewrites what is shown.
func TestAssayDocs(t *testing.T) {
	assay := os.Getenv("P20EXPORT_ASSAY")
	if assay == "" {
		t.Fatal("P20EXPORT_ASSAY does not name the directory of assay; make assay-cli does")
	}
	readme := filepath.Join("../..", sampleReadme)
	checkConsole(t, "```console assay", readme, filepath.Dir(readme), assay)
	runVerifyScript(t, assay)
}

//go:build assaycli

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAssayDocs runs the assay commands in the sample lane's README, and the lane's
// verify.sh, with the program in $P20EXPORT_ASSAY. With -update, it rewrites the output in
// the README.
func TestAssayDocs(t *testing.T) {
	assay := os.Getenv("P20EXPORT_ASSAY")
	if assay == "" {
		t.Fatal("P20EXPORT_ASSAY does not name the directory of assay; make assay-cli does")
	}
	readme := filepath.Join("../..", sampleReadme)
	checkConsole(t, "```console assay", readme, filepath.Dir(readme), assay)
	runVerifyScript(t, assay)
}

//go:build programs

package main

import (
	"path/filepath"
	"testing"
)

// TestDocsPrograms does the same as TestDocs for a document whose commands use other programs.
func TestDocsPrograms(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	checkConsole(t, "```console", filepath.Join(root, "docs/serialization.md"), root, ownBin(t))
}

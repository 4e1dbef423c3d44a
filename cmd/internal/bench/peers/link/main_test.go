package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWrite checks that a file has its name and size, that no other name is left, and that an
// existing file is not replaced.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := write(dir, "1234 run.artifact.json"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d names, %v", len(entries), err)
	}
	info, err := os.Stat(filepath.Join(dir, "run.artifact.json"))
	if err != nil || info.Size() != 1234 {
		t.Errorf("%v, %v", info, err)
	}
	for _, line := range []string{"1 run.artifact.json", "x run.record.json", "999999999 run.record.json"} {
		if err := write(dir, line); err == nil {
			t.Errorf("%q is written", line)
		}
	}
}

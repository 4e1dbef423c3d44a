//go:build unix

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	for _, data := range []string{"new", "newer"} {
		if err := ReplaceFile(filepath.Join(dir, "fresh"), []byte(data)); err != nil {
			t.Fatal(err)
		}
		mustHold(t, dir, map[string]string{"fresh": data})
	}
}

// ReplaceFile replaces a link itself, or one of two names of a file. The link's target
// and the other name keep the old content.
func TestReplaceLinks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	target := filepath.Join(other, "target")
	if err := os.WriteFile(target, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(target, filepath.Join(dir, "soft")), os.Link(target, filepath.Join(dir, "hard"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"soft", "hard"} {
		if err := ReplaceFile(filepath.Join(dir, name), []byte("new")); err != nil {
			t.Fatal(err)
		}
	}
	mustHold(t, dir, map[string]string{"soft": "new", "hard": "new"})
	mustHold(t, other, map[string]string{"target": "old"})
}

// If ReplaceFile fails, the file does not change, and no temporary file remains. The
// error does not name the temporary file.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := ReplaceFile(filepath.Join(dir, "taken"), []byte("new"))
	if err == nil || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("over a directory: %v", err)
	}
	mustHold(t, dir, map[string]string{"taken": "directory"})
	if err := ReplaceFile(filepath.Join(dir, "gone", "file"), []byte("new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that is gone: %v", err)
	}
}

package floors

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxLines is the maximum number of lines of a file. A longer file has more than one topic.
const maxLines = 500

// TestFileLengths checks that no source is too long: Go files, including tests and files with
// build constraints, and what else git tracks that is a program or a test, not data.
func TestFileLengths(t *testing.T) {
	t.Parallel()
	check := func(path, name string) {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return // git tracks a file that was removed
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it by topic", name, n, maxLines)
		}
	}
	eachSource(t, check)
	if _, err := os.Stat("../../.git"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("only Go files were checked: git does not track this directory")
	}
	list := exec.Command("git", "ls-files", "-z", "--", "*.py", "*.js", "*.mjs", "*.cjs", "*.jsx", "*.ts", "*.mts", "*.tsx", "*.sh", "*.bash", "*.txtar")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	names := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	for _, name := range names {
		check(filepath.Join("../..", filepath.FromSlash(name)), name)
	}
	if len(names) < 100 {
		t.Errorf("git ls-files lists only %d files", len(names))
	}
}

// eachSource calls do for each Go file of the repository, with its path and its name.
func eachSource(t *testing.T, do func(path, name string)) {
	t.Helper()
	read := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "node_modules" || name == "testdata" || name != ".." && strings.HasPrefix(name, ".")) {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".go" {
			read++
			do(path, strings.TrimPrefix(filepath.ToSlash(path), "../../"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 500 {
		t.Errorf("only %d files were read", read)
	}
}

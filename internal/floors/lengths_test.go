package floors

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxLines is the maximum number of lines of a file. A longer file has more than one topic.
const maxLines = 500

// TestFileLengths checks that no Go file is too long, including tests and files with build
// constraints.
func TestFileLengths(t *testing.T) {
	t.Parallel()
	eachSource(t, func(path, name string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it by topic", name, n, maxLines)
		}
	})
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

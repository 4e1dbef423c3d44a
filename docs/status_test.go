package docs_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Only these files mention the status that P20 §15 gives the lane: GATE.md and its
// generator, our summary of the plan, and the releases in the changelog.
func TestStatusIsSaidOnce(t *testing.T) {
	mark := regexp.MustCompile(`(?i)\bpre[- ]` + `proof\b`)
	allowed := []string{"../discovery/GATE.md", "../cmd/internal/generate/gate/gate.go", "p20.md"}
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && d.Name() != ".github" || d.Name() == "captures" || d.Name() == "node_modules" || d.Name() == "target"):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		name := strings.TrimPrefix(path, "../docs/")
		if slices.Contains(allowed, name) || slices.Contains(allowed, path) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if path == "../CHANGELOG.md" {
			text, _, _ = bytes.Cut(text, []byte("\n## "))
		}
		if at := mark.FindIndex(text); at != nil {
			t.Errorf("%s mentions the status: %q", path, text[max(0, at[0]-40):min(len(text), at[1]+40)])
		}
		return nil
	})
	if err != nil || files < 300 {
		t.Errorf("%d files: %v", files, err)
	}
}

// The other pages link to GATE.md for the status, in the same words.
func TestStatusIsPointedTo(t *testing.T) {
	for page, up := range map[string]string{
		"contract.md": "../", "projections.md": "../", "assay.md": "../", "../README.md": "", "../CHANGELOG.md": "",
		"../examples/ag-ui-compacted-message-snapshot-evidence/README.md": "../../",
	} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if want := "Status: see [the discovery gate](" + up + "discovery/GATE.md)."; strings.Count(string(text), want) != 1 {
			t.Errorf("%s does not contain %q exactly once", page, want)
		}
	}
	text, err := os.ReadFile("../discovery/GATE.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "# The discovery gate\n\n**Status") || strings.Count(string(text), "**Status") != 1 {
		t.Errorf("GATE.md does not begin with the status: %.80s", text)
	}
}

package floors

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/discovery/scenario"
)

// TestNoIntegrationIsKnown checks that the code treats all integrations alike: only
// tests and benchmarks may name an integration.
func TestNoIntegrationIsKnown(t *testing.T) {
	files, err := filepath.Glob("../../discovery/harness/*/" + scenario.HarnessName)
	if err != nil || len(files) < 10 {
		t.Fatalf("%d harnesses: %v", len(files), err)
	}
	var names []string
	for _, file := range files {
		h, err := scenario.LoadHarness(t.Context(), filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, `"`+h.Name+`"`, h.Integration.Name)
	}
	read := 0
	for _, dir := range []string{"../../artifact", "../../capture", "../../envelope", "../../project", "../../schema", "../../discovery", "../../internal", "../../cmd"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == "bench" || strings.HasPrefix(d.Name(), ".v")) {
				return fs.SkipDir
			}
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			read++
			for _, name := range names {
				if strings.Contains(string(text), name) {
					t.Errorf("%s names %s", path, name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 100 {
		t.Errorf("only %d files were read", read)
	}
}

// Package floors holds the table of who may import whom, and a test of it.
package floors

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/p20export/p20export"

// ground are the packages that every other one may import, and internal/ with
// them. They import no package above.
var ground = []string{"digest", "finding"}

// floors says which of our packages each package may import, besides those
// on the ground. What is not in the table may import none.
var floors = map[string][]string{
	"cmd/p20export":               {"discovery", "discovery/report", "schema", "project/importer", "project/freeze", "project", "envelope", "capture/client", "capture", "artifact/assay", "artifact"},
	"discovery":                   {"project/freeze", "project", "envelope", "capture/client", "capture", "artifact"},
	"internal/generate/gate":      {"discovery", "capture", "artifact"},
	"discovery/report":            {"project/freeze", "project", "envelope", "capture", "artifact"},
	"schema":                      {},
	"internal/generate/schema":    {"schema", "project", "envelope", "capture", "artifact"},
	"schema/schematest":           {"schema"},
	"schema/vectors":              {},
	"schema/vectors/differential": {"project/freeze", "artifact"},
	"schema/vectors/mutation":     {},
	"project/importer":            {"project/freeze", "project", "envelope", "artifact/assay", "artifact"},
	"project/freeze":              {"capture", "envelope", "project", "artifact"},
	"project":                     {"envelope", "envelope/event/names", "artifact"},
	"envelope":                    {"envelope/event/names", "capture"},
	"envelope/event/names":        {},
	"capture/client":              {"capture"},
	"capture":                     {},
	"artifact/assay":              {"artifact"},
	"artifact":                    {"envelope/event/names"},
	"internal/bench":              {"artifact"},
}

// banned are imports of the standard library that a package must do without.
var banned = map[string][]string{
	"capture":        {"net/http"},
	"artifact":       {"net/http", "os", "net"},
	"artifact/assay": {"net/http", "os", "net"},
	"envelope":       {"net/http", "os", "net"},
	"project":        {"net/http", "os", "net", "path/filepath"},
}

// kept are modules that only some packages import.
var kept = map[string][]string{
	"github.com/chromedp":                      {}, // tests alone
	"github.com/invopop/jsonschema":            {"internal/generate/schema"},
	"github.com/santhosh-tekuri/jsonschema/v5": {"schema/schematest"},
}

// mayImport reports whether a package may import a path that is not ours.
func mayImport(name, path string) bool {
	for module, packages := range kept {
		if (path == module || strings.HasPrefix(path, module+"/")) && !slices.Contains(packages, name) {
			return false
		}
	}
	return !slices.Contains(banned[name], path)
}

func TestImports(t *testing.T) {
	var stderr bytes.Buffer
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	checked := 0
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		internal := strings.HasPrefix(name, "internal/") || slices.Contains(ground, name)
		allowed, known := floors[name]
		if !known && !internal {
			t.Errorf("package %s has no floor: add it to the table and to docs/architecture.md", name)
			continue
		}
		checked++
		for _, path := range p.Imports {
			ours, ok := strings.CutPrefix(path, module+"/")
			switch {
			case !ok && !mayImport(name, path):
				t.Errorf("package %s must do without %s", name, path)
			case !ok || strings.HasPrefix(ours, "internal/") || slices.Contains(ground, ours):
			case internal && !known:
				t.Errorf("package %s is below every floor and imports %s", name, ours)
			case !slices.Contains(allowed, ours):
				t.Errorf("package %s may not import %s", name, ours)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d packages were checked", checked)
	}
}

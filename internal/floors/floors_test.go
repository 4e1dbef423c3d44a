// Package floors tests rules for the packages of this module: which packages each may
// import, what public signatures may contain, and what may run before main.
package floors

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/p20export/p20export"

// ground lists the packages that every package may import, in addition to internal/.
// They must not import a package of the table.
var ground = []string{"digest", "finding", "frame"}

// floors lists, for each package, the packages of this module that it may import in
// addition to ground. A package that is not in the table fails the test.
var floors = map[string][]string{
	"cmd/p20export": {
		"cmd/p20export/internal/build", "cmd/p20export/internal/cli", "cmd/p20export/internal/logs", "cmd/p20export/internal/monitor", "cmd/p20export/internal/render", "cmd/p20export/internal/service", "cmd/p20export/internal/signals", "schema", "docs",
		"discovery/scenario", "discovery/gate", "discovery/baseline", "discovery/report", "discovery/analysis",
		"project/export", "project/verify", "project/freeze", "project/difference", "project/tracediff", "project/golden", "project/validate", "project/sign", "project/record", "project/lint/transport", "project/lint", "project/prune", "project/rewrite", "project/scan", "project",
		"serve", "store/transfer", "store/seal", "store/restore", "store", "envelope/lineage", "envelope/event", "envelope/compact", "envelope/sequence", "envelope/reduce", "envelope", "capture/proxy", "capture/recovery", "capture/replay", "capture/client", "capture/inputs", "capture", "artifact/assay", "artifact",
	},
	"cmd/p20export/internal/render": {
		"cmd/p20export/internal/render/document", "cmd/p20export/internal/render/rows", "cmd/p20export/internal/render/text", "schema", "docs",
		"discovery/scenario", "discovery/gate", "discovery/baseline", "discovery/report", "discovery/analysis",
		"project/export", "project/verify", "project/freeze", "project/difference", "project/tracediff", "project/golden", "envelope/trace", "project/validate", "project/sign", "project/record", "project/lint/transport", "project/lint", "project/prune", "project/rewrite", "project/scan", "project",
		"store/transfer", "store/seal", "store/restore", "store", "envelope/lineage", "envelope", "capture/recovery", "capture/client", "capture", "artifact/assay", "artifact",
	},
	"cmd/p20export/internal/render/document": {"cmd/p20export/internal/render/rows", "cmd/p20export/internal/render/text", "project/record", "artifact"},
	"cmd/p20export/internal/render/rows":     {"artifact"},
	"cmd/p20export/internal/render/text":     {"docs"},
	"cmd/p20export/internal/logs":            {"store/postgres", "store/sqlite", "store"},
	"cmd/p20export/internal/build":           {"project/record"},
	"cmd/p20export/internal/cli":             {"cmd/p20export/internal/render"},
	"cmd/p20export/internal/monitor":         {"serve", "capture/proxy", "capture"},
	"cmd/p20export/internal/service":         {"store/transfer", "store/seal", "store/restore", "store", "envelope/reduce", "envelope", "project/freeze", "project", "capture/proxy", "capture/recovery", "capture/inputs", "capture"},
	"cmd/p20export/internal/signals":         {},
	"discovery":                              {},
	"discovery/scenario":                     {"discovery", "discovery/analysis", "project/scan", "project", "envelope", "capture/client", "capture", "artifact"},
	"discovery/gate":                         {"discovery/analysis", "project", "envelope", "capture", "artifact"},
	"discovery/baseline":                     {"discovery/analysis", "project", "envelope", "capture", "artifact"},
	"discovery/analysis":                     {"project/scan", "project", "envelope", "capture", "artifact"},
	"discovery/report":                       {"discovery/report/internal/markup", "discovery/analysis", "project/tracediff", "envelope/trace", "project/sign", "project/record", "project/scan", "project", "envelope", "capture", "artifact"},
	"discovery/report/internal/markup":       {"project", "artifact"},
	"project/export":                         {"project/sign", "project/record", "project", "envelope", "capture", "artifact/assay", "artifact"},
	"project/verify":                         {"project/internal/tarfs", "project/sign", "project/record", "project/scan", "project", "envelope", "capture/inputs", "capture", "artifact"},
	"project/sign":                           {"project/sign/timetoken", "project/record", "project", "capture", "artifact"},
	"project/sign/timetoken":                 {},
	"project/freeze":                         {"project/sign", "project/record", "project/scan", "project", "envelope", "capture/inputs", "capture"},
	"project/difference":                     {"project/validate", "project", "artifact"},
	"project/validate":                       {"project/internal/tarfs", "project/record", "project", "envelope", "capture/inputs", "capture", "artifact"},
	"project/internal/tarfs":                 {"capture/inputs"},
	"project/record":                         {"project", "envelope", "capture", "artifact"},
	"project/prune":                          {"project/verify", "project/record", "project", "capture"},
	"project/tracediff":                      {"project/scan", "project", "envelope/trace", "envelope", "capture"},
	"project/golden":                         {"project/tracediff", "project/lint", "project/scan", "project", "envelope/trace", "envelope", "capture/inputs", "capture"},
	"project/rewrite":                        {"project/scan", "project", "envelope/compact", "envelope/reduce", "envelope", "capture"},
	"project/lint/producer":                  {"envelope/reduce", "envelope/chunk", "envelope"},
	"project/lint/transport":                 {"capture"},
	"project/lint/peer":                      {},
	"project/lint":                           {"project/lint/producer", "project/lint/transport", "project/scan", "project", "envelope/sequence", "envelope/event", "envelope", "capture/inputs", "capture", "artifact"},
	"project/scan":                           {"project", "envelope/reduce", "envelope", "capture/inputs", "capture", "artifact"},
	"project":                                {"envelope/reduce", "envelope/chunk", "envelope", "artifact"},
	"envelope/reduce":                        {"envelope/internal/jsonpatch", "envelope/chunk", "envelope", "envelope/event"},
	"envelope/sequence":                      {"envelope/chunk", "envelope", "envelope/event"},
	"envelope/join":                          {"envelope/sequence", "envelope/reduce", "envelope", "envelope/event"},
	"envelope/chunk":                         {"envelope"},
	"store/memory":                           {"store/internal/index", "store/internal/leases", "store"},
	"serve":                                  {"store/transfer", "capture", "envelope/event", "serve/internal/facts", "serve/window", "serve/internal/guard", "serve/internal/runs", "store/attach", "store/seal", "store/restore", "store", "envelope/lineage", "capture/proxy", "artifact"},
	"serve/internal/facts":                   {"envelope", "project/lint", "store"},
	"store/attach":                           {"store/restore", "store", "envelope/compact", "envelope/sequence", "envelope/lineage", "envelope/reduce", "envelope", "capture"},
	"serve/internal/runs":                    {"store/attach", "store/transfer", "store", "capture/proxy", "capture", "envelope/sequence", "envelope/event", "envelope"},
	"store/storetest":                        {"store"},
	"store/sqlite":                           {"store/internal/sqlstore", "store/internal/index", "store/internal/leases", "store"},
	"store/postgres":                         {"store/internal/sqlstore", "store"},
	"store/internal/sqlstore":                {"store/internal/index", "store"},
	"store/seal":                             {"store", "project/sign", "project", "artifact"},
	"store/transfer":                         {"store/seal", "store", "project", "envelope", "capture/inputs", "capture"},
	"store/internal/index":                   {"store"},
	"store/internal/leases":                  {"store"},
	"store":                                  {"capture"},
	"store/restore":                          {"store", "envelope/join", "envelope/lineage", "envelope/reduce", "envelope/event", "envelope"},
	"envelope":                               {},
	"envelope/trace":                         {"envelope/internal/jsonpatch", "envelope"},
	"envelope/compact":                       {"envelope/internal/jsonpatch", "envelope/reduce", "envelope"},
	"envelope/lineage":                       {"envelope", "envelope/event"},
	"envelope/event":                         {},
	"envelope/internal/jsonpatch":            {},
	"envelope/judge":                         {},
	"envelope/witness":                       {"envelope/event"},
	"serve/internal/guard":                   {},
	"serve/window":                           {},
	"serve/servetest":                        {"store/attach", "store/restore", "store", "envelope/compact", "envelope/reduce", "envelope/sequence", "envelope/judge", "envelope"},
	"capture/client":                         {"capture/internal/exchange", "capture"},
	"capture/internal/exchange":              {"capture"},
	"capture/internal/tarball":               {},
	"capture/proxy":                          {"capture/internal/exchange", "capture"},
	"capture/replay":                         {"capture/internal/exchange", "capture"},
	"capture/inputs":                         {"capture/internal/tarball", "capture"},
	"capture/recovery":                       {"capture"},
	"capture":                                {},
	"artifact/assay":                         {"artifact"},
	"artifact":                               {},
	"schema":                                 {},
	"docs":                                   {},
	"schema/schematest":                      {"schema"},
	"schema/vectors":                         {},
	"schema/vectors/differential":            {"project/validate", "project/scan", "project", "envelope", "capture/inputs", "capture", "artifact"},
	"schema/vectors/mutation":                {},
	"cmd/internal/check":                     {},
	"cmd/internal/dist":                      {"project/sign"},
	"cmd/internal/release":                   {},
	"cmd/internal/generate/gate":             {"discovery/scenario", "discovery/gate", "discovery/analysis", "project/lint", "project/scan", "project", "envelope", "envelope/reduce", "capture/inputs", "capture", "artifact"},
	"cmd/p20export/internal/generate/python": {"cmd/p20export/internal/cli", "cmd/p20export/internal/render"},
	"cmd/p20export/internal/generate/schema": {"cmd/p20export/internal/render", "project/golden", "envelope/trace", "project/lint", "envelope/event", "store/seal", "store", "envelope/lineage", "schema", "discovery/scenario", "discovery/gate", "discovery/baseline", "discovery/analysis", "store/transfer", "project/prune", "project/sign", "project/record", "project", "envelope", "capture", "artifact/assay", "artifact"},
	"cmd/internal/bench":                     {"artifact"},
	"cmd/internal/bench/captures":            {},
	"cmd/internal/bench/generate":            {"cmd/internal/bench/captures"},
	"cmd/internal/bench/logs":                {"cmd/internal/bench/page", "store/sqlite", "store/postgres", "store/memory", "store", "capture"},
	"cmd/internal/bench/page":                {},
	"cmd/internal/bench/peers":               {"cmd/internal/bench/captures", "cmd/internal/bench/page"},
	"cmd/internal/bench/peers/hash":          {},
	"cmd/internal/bench/peers/link":          {},
	"cmd/internal/bench/work":                {},
	"cmd/internal/bench/processes":           {"cmd/internal/bench/page"},
	"cmd/internal/bench/proxy":               {"cmd/internal/bench/page", "cmd/internal/bench/processes", "cmd/internal/bench/traffic"},
	"cmd/internal/bench/serve":               {"cmd/internal/bench/logs", "cmd/internal/bench/page", "cmd/internal/bench/processes", "cmd/internal/bench/traffic", "serve", "store/seal", "store", "project/sign"},
	"cmd/internal/bench/store":               {"cmd/internal/bench/captures", "cmd/internal/bench/logs", "cmd/internal/bench/page", "cmd/internal/bench/processes", "store/transfer", "store/seal", "store/restore", "store/memory", "store", "project/sign", "project", "capture/inputs", "capture"},
	"cmd/internal/bench/traffic":             {"cmd/internal/bench/page"},
}

// banned are imports of the standard library that a package must do without.
var banned = map[string][]string{
	"capture":                {"net/http"},
	"artifact":               {"net/http", "os", "net"},
	"artifact/assay":         {"net/http", "os", "net"},
	"store":                  {"net/http", "os", "net"},
	"store/attach":           {"net/http", "os", "net"},
	"store/memory":           {"net/http", "os", "net"},
	"store/transfer":         {"net/http", "net"},
	"store/internal/index":   {"net/http", "os", "net"},
	"store/restore":          {"net/http", "os", "net"},
	"envelope":               {"net/http", "os", "net"},
	"envelope/chunk":         {"net/http", "os", "net"},
	"envelope/compact":       {"net/http", "os", "net"},
	"envelope/join":          {"net/http", "os", "net"},
	"envelope/lineage":       {"net/http", "os", "net"},
	"envelope/event":         {"net/http", "os", "net"},
	"envelope/reduce":        {"net/http", "os", "net"},
	"envelope/sequence":      {"net/http", "os", "net"},
	"project/lint":           {"net/http", "os", "net"},
	"project/lint/producer":  {"net/http", "os", "net"},
	"project/lint/transport": {"net/http", "os", "net"},
	"finding":                {"net/http", "os", "net"},
	"digest":                 {"net/http", "os", "net"},
	"project":                {"net/http", "os", "net", "path/filepath"},
	"project/scan":           {"net/http", "os", "net"},
	"project/record":         {"net/http", "net"},
}

// kept are modules that only some packages import.
var kept = map[string][]string{
	"github.com/chromedp":                      {"internal/testkit/browser"},
	"github.com/pressly/goose":                 {"store/internal/sqlstore", "store/sqlite", "store/postgres"},
	"github.com/prometheus":                    {"cmd/p20export/internal/monitor"},
	"github.com/invopop/jsonschema":            {"cmd/p20export/internal/generate/python", "cmd/p20export/internal/generate/schema"},
	"github.com/santhosh-tekuri/jsonschema/v5": {"schema/schematest"},
	"github.com/digitorus":                     {"project/sign/timetoken"},
	"github.com/secure-systems-lab":            {"project/sign"},
	"github.com/youmark":                       {"project/sign"},
	"github.com/jackc":                         {"store/postgres", "cmd/internal/bench/logs"},
	"modernc.org":                              {"store/sqlite", "internal/testkit/sqlitetest"},
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
	t.Parallel()
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
			t.Errorf("package %s is not in the table: add it there and to docs/architecture.md", name)
			continue
		}
		checked++
		for _, path := range p.Imports {
			ours, ok := strings.CutPrefix(path, module+"/")
			switch {
			case (ours == "internal/testkit" || strings.HasPrefix(ours, "internal/testkit/") || ours == "store/storetest") && !strings.HasPrefix(name, "internal/testkit/"):
				t.Errorf("package %s imports %s, which is for tests", name, ours)
			case !ok && !mayImport(name, path):
				t.Errorf("package %s must not import %s", name, path)
			case !ok || strings.HasPrefix(ours, "internal/") || slices.Contains(ground, ours):
			case internal && !known:
				t.Errorf("package %s must not import a package of the table and imports %s", name, ours)
			case !slices.Contains(allowed, ours):
				t.Errorf("package %s may not import %s", name, ours)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d packages were checked", checked)
	}
}

// commands matches the files whose strings may name commands and flags: the program, the
// other programs of the repository, and the table of hints.
var commands = regexp.MustCompile(`^(cmd|internal/hint|schema/vectors/(mutation|differential)|envelope/witness)/`)

// commandLine matches a flag, or the program followed by a command.
var commandLine = regexp.MustCompile(`(^|[^-\w])--[a-z%]|p20export `)

// TestOnlyCommandsNameFlags checks that the packages below the commands do not name
// commands or flags, because other programs may import them.
func TestOnlyCommandsNameFlags(t *testing.T) {
	eachSource(t, func(path, name string) {
		if strings.HasSuffix(path, "_test.go") || commands.MatchString(name) {
			return
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && commandLine.MatchString(literal.Value) {
				t.Errorf("%s names a flag or a command: %s", set.Position(literal.Pos()), literal.Value)
			}
			return true
		})
	})
}

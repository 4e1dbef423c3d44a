package floors

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cheap lists the functions that package-level variables may call. They allocate little,
// or delay the work until the first use.
var cheap = []string{
	"errors.New", "fmt.Errorf", "strings.NewReplacer", "time.Date",
	"sync.OnceFunc", "sync.OnceValue", "sync.OnceValues", "[]byte",
}

// startupWork returns the work that the package-level declarations of a file do before
// main: calls, map literals and init functions.
func startupWork(file *ast.File) (work []ast.Node) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			work = append(work, f)
		}
		variables, ok := d.(*ast.GenDecl)
		if !ok || variables.Tok != token.VAR {
			continue
		}
		ast.Inspect(variables, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit, *ast.FuncType:
				return false
			case *ast.CallExpr:
				if !slices.Contains(cheap, types.ExprString(n.Fun)) {
					work = append(work, n)
				}
			case *ast.CompositeLit:
				if _, ok := n.Type.(*ast.MapType); ok {
					work = append(work, n)
				}
			}
			return true
		})
	}
	return work
}

// TestNothingAtStartUp checks that no package compiles a regular expression or builds a
// table before main begins, because most commands do not need them.
func TestNothingAtStartUp(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", `{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`, module+"/cmd/p20export").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := strings.Fields(string(out))
	set := token.NewFileSet()
	for _, path := range files {
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range startupWork(file) {
			at := set.Position(n.Pos())
			t.Errorf("%s:%d: computed before main; use a function, or sync.OnceValue", filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), at.Line)
		}
	}
	if len(files) < 100 {
		t.Errorf("only %d files were read", len(files))
	}
}

// TestStartupWork tests startupWork.
func TestStartupWork(t *testing.T) {
	for text, want := range map[string]int{
		"var x = 1":                  0,
		"var x = []string{`a`, `b`}": 0,
		"var x = errors.New(`a`)":    0,
		"var x = sync.OnceValue(func() int { return f() })": 0,
		"func x() { init(); f(map[int]int{}) }":             0,
		"const x = len(`a`)":                                0,
		"type x func() map[int]int":                         0,
		"var x = regexp.MustCompile(`a`)":                   1,
		"var (\n\tx = 1\n\ty = []any{f()}\n)":               1,
		"var x = map[string]int{`a`: 1}":                    1,
		"var x = func() int { return 1 }()":                 1,
		"func init() {}":                                    1,
		"func (x) init() {}":                                0,
		"var x = sync.OnceValue(f())":                       1,
		"var x = template.Must(template.New(`a`).Parse(b))": 3,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := startupWork(file); len(got) != want {
			t.Errorf("%s: found %d, want %d", text, len(got), want)
		}
	}
}

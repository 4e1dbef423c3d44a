package main

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/schema"
)

var update = flag.Bool("update", false, "rewrite the schemas")

// TestCommitted compares the committed schemas with those generated from the current
// types.
func TestCommitted(t *testing.T) {
	t.Chdir("../../../../..")
	if *update {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	generated, err := schemas()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range schema.Names() {
		committed, err := os.ReadFile(path(name))
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(string(committed), string(generated[name])); diff != "" {
			t.Errorf("%s is out of date: run 'make schema' and review the changes (-committed +generated):\n%s", path(name), diff)
		}
	}
	files, err := filepath.Glob("schema/*.json")
	if err != nil || len(files) != len(schema.Names()) {
		t.Errorf("%d files for %d schemas (%v)", len(files), len(schema.Names()), err)
	}
}

// TestClasses compares the character classes with the functions they are generated from,
// for every code point.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		name, inside string
		in           func(rune) bool
	}{
		{"space", space, artifact.IsSpace},
		{"control", control, unicode.IsControl},
		{"either", spaceOrControl, func(r rune) bool { return artifact.IsSpace(r) || unicode.IsControl(r) }},
	} {
		class := regexp.MustCompile("^[" + c.inside + "]$")
		for r := rune(0); r <= unicode.MaxRune; r++ {
			if r >= 0xd800 && r < 0xe000 {
				continue
			}
			if class.MatchString(string(r)) != c.in(r) {
				t.Errorf("%s: for %U the function returns %t, unlike the class", c.name, r, c.in(r))
			}
		}
	}
}

// TestPlain checks that the classes mean the same in RE2 and in other engines.
func TestPlain(t *testing.T) {
	for name, pattern := range map[string]string{"space": space, "control": control, "either": spaceOrControl} {
		for _, r := range pattern {
			if r > 0xffff || strings.ContainsRune(`\]^[`, r) {
				t.Errorf("%s contains %U", name, r)
			}
		}
	}
}

// TestReasons compares the reasons of omissions with the code that records them. In package
// project, a reason is a code that is an argument of omission, rejectOrOmit or unfit, that
// is returned or assigned, or that is in an Omission.
func TestReasons(t *testing.T) {
	files, err := filepath.Glob("../../../../../project/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	codes, used := codeNames(t), map[finding.Code]bool{}
	note := func(n ast.Expr) {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if code, ok := codes[s.Sel.Name]; ok {
				used[code] = true
			}
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				name := ""
				switch f := n.Fun.(type) {
				case *ast.SelectorExpr:
					name = f.Sel.Name
				case *ast.Ident:
					name = f.Name
				}
				if slices.Contains([]string{"omission", "rejectOrOmit", "unfit"}, name) {
					for _, arg := range n.Args {
						note(arg)
					}
				}
			case *ast.ReturnStmt:
				for _, r := range n.Results {
					note(r)
				}
			case *ast.AssignStmt:
				for _, r := range n.Rhs {
					note(r)
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Reason" {
					note(n.Value)
				}
			}
			return true
		})
	}
	for _, code := range reasons() {
		if !used[code] {
			t.Errorf("package project has no omission with the reason %s", code)
		}
		delete(used, code)
	}
	// These two are assigned to a variable, and refuse the run.
	delete(used, finding.SnapshotMalformed)
	delete(used, finding.RequestMalformed)
	for code := range used {
		t.Errorf("package project may have an omission with the reason %s, which the schema does not have", code)
	}
}

// codeNames maps the Go names of codes to the codes.
func codeNames(t *testing.T) map[string]finding.Code {
	f, err := parser.ParseFile(token.NewFileSet(), "../../../../../finding/codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]finding.Code)
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok {
				code, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				names[v.Names[0].Name] = finding.Code(code)
			}
		}
		return true
	})
	if len(names) < 50 {
		t.Fatalf("only %d codes", len(names))
	}
	return names
}

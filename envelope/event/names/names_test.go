package names_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/p20export/p20export/envelope/event/names"
)

// TestEveryConstantIsListed compares the lists with the constants.
func TestEveryConstantIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "names.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				name, err := strconv.Unquote(value.Value)
				if err != nil {
					t.Fatal(err)
				}
				declared = append(declared, name)
			}
		}
		return true
	})
	if !slices.Equal(declared, names.All()) {
		t.Errorf("declared %q, listed %q", declared, names.All())
	}
	for _, name := range names.Released() {
		if names.Intern([]byte(name)) != name || !names.IsReleased(name) {
			t.Errorf("%s is not found", name)
		}
	}
	if len(declared) != names.Count()+1 || names.IsReleased(names.Meta) {
		t.Errorf("%d declared, %d released", len(declared), names.Count())
	}
}

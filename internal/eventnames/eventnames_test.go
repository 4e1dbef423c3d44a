package eventnames_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/p20export/p20export/internal/eventnames"
)

// TestEveryConstantIsListed compares the lists with the constants.
func TestEveryConstantIsListed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "eventnames.go", nil, 0)
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
	if !slices.Equal(declared, eventnames.All()) {
		t.Errorf("declared %q, listed %q", declared, eventnames.All())
	}
	for _, name := range eventnames.Released() {
		if eventnames.Intern([]byte(name)) != name || !eventnames.IsReleased(name) {
			t.Errorf("%s is not found", name)
		}
	}
	if len(declared) != eventnames.Count()+1 || eventnames.IsReleased(eventnames.Meta) {
		t.Errorf("%d declared, %d released", len(declared), eventnames.Count())
	}
}

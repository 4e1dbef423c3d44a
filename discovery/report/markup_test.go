package report

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConversions lists what is converted to HTML, which nothing escapes: the page's
// own files and policy, and what Append, AppendTree and AppendJSON made.
func TestConversions(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.go", "internal/markup/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		files = append(files, found...)
	}
	var got []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && slices.Contains([]string{"HTML", "markup.HTML"}, types.ExprString(call.Fun)) {
				got = append(got, path+" "+types.ExprString(call))
			}
			return true
		})
	}
	slices.Sort(got)
	want := []string{
		"body.go markup.HTML(tree)", "conversation.go markup.HTML(b)", "internal/markup/picture.go HTML(b)", "kept.go markup.HTML(b)", "page.go markup.HTML(pageJS)",
		"page.go markup.HTML(policy())", "page.go markup.HTML(style())", "section.go markup.HTML(v.data(r.timeline, parts, omissions))",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

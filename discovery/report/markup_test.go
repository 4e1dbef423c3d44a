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

// TestShown lists the calls that show text without redaction. They may only show names that
// the caller chose, and texts of the program itself.
func TestShown(t *testing.T) {
	var got []string
	found, err := filepath.Glob("*.go")
	if err != nil || len(found) == 0 {
		t.Fatal(err)
	}
	for _, path := range found {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && slices.Contains([]string{"markup.Visible", "markup.Append", "markup.AppendJSON"}, types.ExprString(call.Fun)) {
				got = append(got, types.ExprString(call))
			}
			return true
		})
	}
	slices.Sort(got)
	got = slices.Compact(got)
	want := []string{
		"markup.AppendJSON(append(b, '['), []byte(kind), len(b) + 1 << 10)", // a type of event, by viewer.kind
		"markup.Visible(f.record.Subject[0].Name)", "markup.Visible(name)", "markup.Visible(sums[0].Name)", "markup.Visible(sums[1].Name)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestConversions lists the conversions to markup.HTML, which is not escaped. Only the page's
// own files, its policy, and text from Append, AppendTree and AppendJSON may be converted.
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
		"body.go markup.HTML(tree)", "conversation.go markup.HTML(b)", "internal/markup/picture.go HTML(b)", "kept.go markup.HTML(b)", "page.go markup.HTML(policy())",
		"page.go markup.HTML(script())", "page.go markup.HTML(style())", "section.go markup.HTML(v.data(r.timeline, parts, omissions))",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

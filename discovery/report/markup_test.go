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
	for _, c := range callsIn(t, []string{"*.go"}, "markup.Visible", "markup.Append", "markup.AppendJSON") {
		got = append(got, c.text)
	}
	slices.Sort(got)
	got = slices.Compact(got)
	want := []string{
		"markup.AppendJSON(append(b, '['), []byte(kind), len(b) + 1 << 10)", // a type of event, by viewer.kind
		"markup.Visible(f.record.Subject[0].Name)", "markup.Visible(filepath.Base(one.Record))", "markup.Visible(name)", "markup.Visible(sums[0].Name)", "markup.Visible(sums[1].Name)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestConversions lists the conversions to markup.HTML, which is not escaped. Only the page's
// own files, its policy, and text from Append, AppendTree and AppendJSON may be converted.
func TestConversions(t *testing.T) {
	var got []string
	for _, c := range callsIn(t, []string{"*.go", "internal/markup/*.go"}, "HTML", "markup.HTML") {
		got = append(got, c.path+" "+c.text)
	}
	slices.Sort(got)
	want := []string{
		"body.go markup.HTML(tree)", "conversation.go markup.HTML(b)", "internal/markup/picture.go HTML(b)", "kept.go markup.HTML(b)", "page.go markup.HTML(policy())",
		"page.go markup.HTML(script())", "page.go markup.HTML(style())", "section.go markup.HTML(v.data(r.timeline, parts, omissions))",
		"traces.go markup.HTML(css)", "traces.go markup.HTML(hash(css))", "traces.go markup.HTML(s.rows)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// call is a function call in a source file.
type call struct{ path, text string }

// callsIn returns the calls of functions in the files that match patterns, except tests.
func callsIn(t *testing.T, patterns []string, functions ...string) (calls []call) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok && slices.Contains(functions, types.ExprString(c.Fun)) {
					calls = append(calls, call{path, types.ExprString(c)})
				}
				return true
			})
		}
	}
	return calls
}

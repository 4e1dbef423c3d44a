package finding_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
)

// declared returns the constants of type Code in codes.go by name.
func declared(t *testing.T) map[string]finding.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := make(map[string]finding.Code)
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, s := range group.Specs {
			spec := s.(*ast.ValueSpec)
			kind, ok := spec.Type.(*ast.Ident)
			if !ok || kind.Name != "Code" || len(spec.Names) != 1 || len(spec.Values) != 1 {
				t.Errorf("%s is not declared as one Code", spec.Names[0].Name)
				continue
			}
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes[spec.Names[0].Name] = finding.Code(value)
		}
	}
	if len(codes) < 50 {
		t.Fatalf("only %d codes were found in codes.go", len(codes))
	}
	return codes
}

func TestEveryCodeIsDescribed(t *testing.T) {
	names := make(map[finding.Code]string)
	for name, code := range declared(t) {
		if other, ok := names[code]; ok {
			t.Errorf("%s and %s are both %s", name, other, code)
		}
		names[code] = name
		if _, ok := finding.Describe(code); !ok {
			t.Errorf("%s (%s) has no entry in kinds.go", name, code)
		}
	}
	listed := finding.Codes()
	if !slices.IsSorted(listed) {
		t.Error("Codes is not sorted")
	}
	for _, code := range listed {
		if _, ok := names[code]; !ok {
			t.Errorf("%s of kinds.go is not declared in codes.go", code)
		}
	}
	if _, ok := finding.Describe("no_such_code"); ok {
		t.Error("a code that is not declared is described")
	}
}

func TestDescriptions(t *testing.T) {
	lowerSnake := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	meanings := make(map[string]finding.Code)
	for _, code := range finding.Codes() {
		about, _ := finding.Describe(code)
		if !lowerSnake.MatchString(string(code)) {
			t.Errorf("%s is not lower_snake", code)
		}
		switch about.Severity {
		case finding.Error, finding.Warning, finding.Info:
		default:
			t.Errorf("%s has severity %q", code, about.Severity)
		}
		if about.Severity != finding.Info && about.Hint == "" {
			t.Errorf("%s does not say what to do", code)
		}
		if about.Meaning == "" {
			t.Errorf("%s has no meaning", code)
		}
		if other, ok := meanings[about.Meaning]; ok {
			t.Errorf("%s and %s have the same meaning", code, other)
		}
		meanings[about.Meaning] = code
		for _, s := range []string{about.Meaning, about.Spec, about.Hint} {
			if s != strings.TrimSpace(s) || s != finding.Escape(s) || strings.HasSuffix(s, ".") {
				t.Errorf("%s: %q is not one plain line without a full stop", code, s)
			}
		}
		if f := finding.New(code, "message"); f.Code != code || f.Severity != about.Severity || f.Spec != about.Spec || f.Hint != about.Hint || f.Message != "message" {
			t.Errorf("%s makes %+v", code, f)
		}
	}
}

// TestHintsHaveCodes checks that every hint belongs to a declared code.
func TestHintsHaveCodes(t *testing.T) {
	for code := range hint.ByCode() {
		if _, ok := finding.Describe(finding.Code(code)); !ok {
			t.Errorf("there is a hint for the undeclared code %q", code)
		}
	}
}

package finding_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
)

// rule matches the text of a rule: its number, its code, if any, and its source.
var ruleText = regexp.MustCompile("(?m)^<a id=\"[A-Z]\\d+\"></a>\\*\\*([A-Z]\\d+)\\.\\*\\* (.*)$")

// The rules in the code and on the pages have the same order, codes and sources.
func TestRulesAreThePages(t *testing.T) {
	for _, page := range []struct {
		name  string
		rules []finding.Rule
		least int
	}{
		{"contract.md", finding.Rules(), 60},
		{"sequence.md", finding.SequenceRules(), 29},
		{"lint.md", finding.LintRules(), 31},
	} {
		text, err := os.ReadFile("../docs/" + page.name)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		stated := ruleText.FindAllStringSubmatch(string(text), -1)
		for _, m := range stated {
			want = append(want, m[1])
		}
		for i, r := range page.rules {
			got = append(got, r.ID)
			if i >= len(want) || want[i] != r.ID {
				break
			}
			if pattern := origin(r); !regexp.MustCompile(pattern).MatchString(stated[i][2]) {
				t.Errorf("%s: %s does not say %s", r.ID, page.name, pattern)
			}
		}
		if len(want) < page.least {
			t.Fatalf("only %d rules were found in %s", len(want), page.name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// origin returns the contract's text for the code and the source of a rule.
// Sections of the plan are links, and an own rule has a reason.
func origin(r finding.Rule) string {
	code := ""
	if r.Code != "" {
		code = "`" + string(r.Code) + "`, "
	}
	if strings.ContainsAny(r.ID[:1], "WN") { // a rule of lint has a severity, which is never an error
		about, _ := finding.Describe(r.Code)
		code += map[finding.Severity]string{finding.Info: "an info, "}[about.Severity]
		if about.Severity != finding.Info {
			code += "a warning, "
		}
	}
	switch section, ofThePlan := strings.CutPrefix(r.Spec, "P20 §"); {
	case ofThePlan:
		return code + regexp.QuoteMeta("["+r.Spec+"](p20.md#s"+section+")") + `[.,:]`
	case r.Spec == finding.OwnRule:
		return code + `[Oo]urs[:,] \S`
	default:
		return code + regexp.QuoteMeta(r.Spec) + `([.,:]| \()`
	}
}

// All sources of rules are named in the contract. If all rules of a code have the
// same source, the code has it too.
func TestOrigins(t *testing.T) {
	text, err := os.ReadFile("../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	known := regexp.MustCompile(`^(P20 §\d+(\.\d)?|RFC \d+( §[\d.]+)?|WHATWG HTML §[\d.]+|AG-UI|Assay's (mapper|verifier) [\d.]+|p20export)$`)
	of := make(map[finding.Code][]string)
	for _, r := range slices.Concat(finding.Rules(), finding.SequenceRules(), finding.LintRules()) {
		if !known.MatchString(r.Spec) {
			t.Errorf("%s comes from %q", r.ID, r.Spec)
		}
		row := "| `" + r.Spec + "` |\n"
		if !strings.HasPrefix(r.Spec, "P20 ") && !strings.HasPrefix(r.Spec, "RFC ") && !strings.HasPrefix(r.Spec, "WHATWG ") && !strings.Contains(string(text), row) {
			t.Errorf("the contract's table of origins lacks %s", r.Spec)
		}
		if !slices.Contains(of[r.Code], r.Spec) {
			of[r.Code] = append(of[r.Code], r.Spec)
		}
	}
	delete(of, "")
	for code, specs := range of {
		if about, _ := finding.Describe(code); len(specs) == 1 && about.Spec != specs[0] {
			t.Errorf("%s comes from %q, and its rules from %q", code, about.Spec, specs[0])
		}
	}
}

// Numbers of withdrawn rules are not reused.
func TestWithdrawn(t *testing.T) {
	text, err := os.ReadFile("../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	const number = "E10"
	if !strings.Contains(string(text), "\n<a id=\""+number+"\"></a>"+number+" is withdrawn") {
		t.Errorf("the contract does not say that %s is withdrawn", number)
	}
	for _, r := range finding.Rules() {
		if r.ID == number {
			t.Errorf("%s is a rule", number)
		}
	}
	if f := finding.New(finding.TerminalOtherRun, "why").WithRule(); f.Rule != "" {
		t.Errorf("%s is of rule %s", f.Code, f.Rule)
	}
}

func TestBreach(t *testing.T) {
	for _, r := range slices.Concat(finding.Rules(), finding.SequenceRules(), finding.LintRules()) {
		if r.Code == "" {
			continue
		}
		about, ok := finding.Describe(r.Code)
		inLint := slices.Contains(finding.LintRules(), r)
		if f := finding.Violation(r.ID, "why"); !ok || f.Rule != r.ID || f.Code != r.Code || f.Spec != r.Spec || f.Severity != finding.Error && !inLint || f.Hint != about.Hint || f.Message != "why" {
			t.Errorf("%s makes %+v", r.ID, f)
		}
	}
	if f := finding.New(finding.JSONSyntax, "why").WithRule(); f.Rule != "T3" {
		t.Errorf("json_syntax is of rule %q", f.Rule)
	}
	// WithRule ignores a code of several rules.
	if f := finding.New(finding.TooLong, "why").WithRule(); f.Rule != "" {
		t.Errorf("too_long is of rule %q", f.Rule)
	}
}

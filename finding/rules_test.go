package finding_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
)

// A rule of the contract's text: its number, its code where it has one, and
// where it comes from.
var ruleText = regexp.MustCompile("(?m)^<a id=\"[A-Z]\\d+\"></a>\\*\\*([A-Z]\\d+)\\.\\*\\* (.*)$")

// The rules in code are those of docs/contract.md, in its order, with the code
// and the origin it states.
func TestRulesAreTheContracts(t *testing.T) {
	text, err := os.ReadFile("../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range ruleText.FindAllStringSubmatch(string(text), -1) {
		want = append(want, m[1])
	}
	for i, r := range finding.Rules() {
		got = append(got, r.ID)
		if i >= len(want) || want[i] != r.ID {
			break
		}
		stated := ruleText.FindAllStringSubmatch(string(text), -1)[i][2]
		origin := r.Spec
		if r.Code != "" {
			origin = "`" + string(r.Code) + "`, " + r.Spec
		}
		if !strings.Contains(stated, origin+".") && !strings.Contains(stated, origin+" ") {
			t.Errorf("%s: the contract does not say %s", r.ID, origin)
		}
	}
	if len(want) < 60 {
		t.Fatalf("only %d rules were found in the contract", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBreach(t *testing.T) {
	for _, r := range finding.Rules() {
		if r.Code == "" {
			continue
		}
		about, ok := finding.Describe(r.Code)
		if f := finding.Breach(r.ID, "why"); !ok || f.Rule != r.ID || f.Code != r.Code || f.Spec != r.Spec || f.Severity != finding.Error || f.Hint != about.Hint || f.Message != "why" {
			t.Errorf("%s makes %+v", r.ID, f)
		}
	}
	if f := finding.New(finding.JSONSyntax, "why").Ruled(); f.Rule != "T3" {
		t.Errorf("json_syntax is of rule %q", f.Rule)
	}
	// A code of several rules is of none by itself.
	if f := finding.New(finding.TooLong, "why").Ruled(); f.Rule != "" {
		t.Errorf("too_long is of rule %q", f.Rule)
	}
}

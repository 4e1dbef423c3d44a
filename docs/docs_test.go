package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/docs"
	"github.com/p20export/p20export/finding"
)

// Every rule of the pages is found, in order.
func TestRulesAreThePages(t *testing.T) {
	stated := regexp.MustCompile(`(?m)^<a id="([A-Z]\d+)"></a>`)
	for page, least := range map[string]int{docs.Contract: 70, docs.Projections: 80, docs.Sequence: 29, docs.Lint: 31} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, m := range stated.FindAllStringSubmatch(string(text), -1) {
			want = append(want, m[1])
		}
		for _, r := range docs.Rules() {
			if r.Page == page {
				got = append(got, r.ID)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got) < least {
			t.Errorf("%s: %d rules: %s", page, len(got), diff)
		}
	}
}

// Every code and every rule can be explained.
func TestEverythingIsExplained(t *testing.T) {
	for _, r := range finding.Rules() {
		rule, ok := docs.Find(r.ID)
		if !ok || rule.Page != docs.Contract {
			t.Errorf("%s is not explained", r.ID)
		}
		if r.Code != "" && (!slices.Contains(rule.Codes, r.Code) || !slices.Contains(docs.RulesOf(r.Code), r.ID)) {
			t.Errorf("%s and %s do not name each other", r.ID, r.Code)
		}
		if _, err := os.Stat(filepath.Join("../schema/vectors/cases", r.ID)); err != nil {
			t.Errorf("%s has no vectors: %v", r.ID, err)
		}
	}
	for _, r := range finding.SequenceRules() {
		rule, ok := docs.Find(r.ID)
		if !ok || rule.Page != docs.Sequence {
			t.Errorf("%s is not explained", r.ID)
		}
		if !slices.Contains(rule.Codes, r.Code) || !slices.Contains(docs.RulesOf(r.Code), r.ID) {
			t.Errorf("%s and %s do not name each other", r.ID, r.Code)
		}
		if _, err := os.Stat(filepath.Join("../envelope/sequence/testdata/vectors", r.ID+".json")); err != nil {
			t.Errorf("%s has no vectors: %v", r.ID, err)
		}
	}
	for _, r := range finding.LintRules() {
		rule, ok := docs.Find(r.ID)
		if !ok || rule.Page != docs.Lint {
			t.Errorf("%s is not explained", r.ID)
		}
		if !slices.Contains(rule.Codes, r.Code) || !slices.Contains(docs.RulesOf(r.Code), r.ID) {
			t.Errorf("%s and %s do not name each other", r.ID, r.Code)
		}
	}
	markdown := regexp.MustCompile(`\]\(|\*\*|<a id|\n## `)
	outside := regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`")
	for _, r := range docs.Rules() {
		if found, ok := docs.Find(strings.ToLower(r.ID)); !ok || found.ID != r.ID {
			t.Errorf("%s is not found", r.ID)
		}
		if summary := r.Summary(); len(summary) < 10 || strings.Contains(summary, "\n") {
			t.Errorf("%s has the summary %q", r.ID, summary)
		}
		if m := markdown.FindString(outside.ReplaceAllString(r.Text+"\n\n"+r.Notes, "")); m != "" {
			t.Errorf("%s has %q", r.ID, m)
		}
		if strings.Count(r.Text, "```")%2 != 0 || strings.Count(r.Notes, "```")%2 != 0 {
			t.Errorf("%s has an unclosed fence", r.ID)
		}
	}
}

func TestFind(t *testing.T) {
	for _, name := range []string{"", "A", "A99", "a26 ", "ſ1", "too_long"} {
		if r, ok := docs.Find(name); ok {
			t.Errorf("%q is %s", name, r.ID)
		}
	}
	a1, _ := docs.Find("a1")
	want := docs.Rule{
		ID: "A1", Page: docs.Contract, Codes: []finding.Code{finding.NotObject},
		Text: "The value MUST be an object. `not_an_object`, P20 §12. If A1 is broken, T4 is still checked, but no other rule of sections 3 and 4.",
	}
	if diff := cmp.Diff(want, a1); diff != "" {
		t.Error(diff)
	}
	if got := a1.Summary(); got != "The value MUST be an object" {
		t.Errorf("A1 has the summary %q", got)
	}
	// A block directly after the paragraph belongs to the rule; the next paragraph may not.
	a28, _ := docs.Find("A28")
	if !strings.Contains(a28.Text, "\n\n```\nabout blob") || a28.Notes != "" {
		t.Errorf("A28 is %+v", a28)
	}
	a5, _ := docs.Find("A5")
	if !strings.HasPrefix(a5.Notes, "If a string breaks A6 or A7, ") {
		t.Errorf("A5 is %+v", a5)
	}
	if diff := cmp.Diff([]string{"X7"}, docs.RulesOf(finding.SnapshotLacksText)); diff != "" {
		t.Error(diff)
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"A299":                    "A29",
		"tool_long":               "too_long",
		"TOO_LONG":                "too_long",
		"stack_trace":             "error_stack_trace",
		"snapshot_lack":           "snapshot_lacks_streamed_text",
		"":                        "",
		strings.Repeat("x", 1000): "",
	} {
		if got := docs.Nearest(name); len(got) != 4 || want != "" && got[0] != want {
			t.Errorf("nearest to %.20q are %q", name, got)
		}
	}
}

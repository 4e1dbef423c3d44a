package serve_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
)

// Each code is in the description and in the table of the document, and they have no others.
func TestCodesAreDescribed(t *testing.T) {
	t.Parallel()
	var want []string
	declared := regexp.MustCompile("(?m)^\t\\w+ +(Refusal|Code) += \"([a-z_]+)\"")
	for _, file := range []string{"problem.go", "internal/guard/guard.go"} {
		for _, m := range declared.FindAllStringSubmatch(string(testkit.Read(t, file)), -1) {
			want = append(want, m[2])
		}
	}
	slices.Sort(want)
	if len(want) < 30 {
		t.Fatalf("only %d codes: %q", len(want), want)
	}
	// 404 and 405 are also the answers to paths and methods that are not described.
	described := []string{"method_not_allowed"}
	for _, operations := range readAPI(t).Paths {
		for _, o := range operations {
			for _, r := range o.Responses {
				if _, ok := r.of("application/problem+json"); ok {
					described = append(described, codes(r.Description)...)
				}
			}
		}
	}
	_, table, _ := strings.Cut(string(testkit.Read(t, "../docs/serve.md")), "| status | code | means |")
	table, _, _ = strings.Cut(table, "\n\n")
	var documented []string
	for row := range strings.Lines(table) {
		if cells := strings.Split(row, "|"); len(cells) > 2 {
			documented = append(documented, codes(cells[2])...)
		}
	}
	for where, got := range map[string][]string{"the description": described, "the document": documented} {
		slices.Sort(got)
		if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
			t.Errorf("the codes of %s (-code +described):\n%s", where, diff)
		}
	}
}

// codes returns the codes that a text names.
func codes(text string) (list []string) {
	for _, m := range code().FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

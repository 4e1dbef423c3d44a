package validate_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/validate"
)

// The two example files at the beginning of the contract are accepted and canonical. No
// key can be removed from them.
func TestContractExamples(t *testing.T) {
	head, _, _ := strings.Cut(string(testkit.Read(t, "../../docs/contract.md")), "\n## ")
	examples := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(head, -1)
	if len(examples) != 2 {
		t.Fatalf("the head of the contract has %d examples, not an artifact and an envelope", len(examples))
	}
	for i, kind := range []validate.Kind{validate.Artifact, validate.Envelope} {
		text := examples[i][1]
		for _, profile := range artifact.Profiles() {
			row := validate.Reader(strings.NewReader(text), "example", profile, kind)
			if row.Verdict != project.Accepted || row.Canonical == nil || !*row.Canonical {
				t.Errorf("the minimal %s is %s under %s: %v", kind, row.Verdict, profile, row.Findings)
			}
		}
		lines := strings.SplitAfter(text, "\n")
		lines = lines[:len(lines)-1]
		for n := range lines {
			t.Run(fmt.Sprintf("%s/%d", kind, n+1), func(t *testing.T) {
				less := strings.Join(slices.Delete(slices.Clone(lines), n, n+1), "")
				if row := validate.Reader(strings.NewReader(less), "example", artifact.V1, kind); row.Verdict != project.Malformed {
					t.Errorf("without its line %d the minimal %s is %s:\n%s", n+1, kind, row.Verdict, less)
				}
			})
		}
	}
}

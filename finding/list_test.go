package finding_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
)

// TestList checks that a List keeps the first findings in the order of Sort and
// counts the others, for any order of Add.
func TestListKeepsTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []finding.Finding
		var list finding.List
		n := rapid.IntRange(0, 5*finding.MaxListed).Draw(t, "n")
		for range n {
			f := finding.New(finding.KeyUnknown, "m").WithPointer(finding.Pointer(fmt.Sprint("/", rapid.IntRange(0, 9).Draw(t, "pointer"))))
			if at := rapid.Int64Range(-2, 300).Draw(t, "offset"); at >= 0 {
				f = f.WithOffset(at)
				if list.CountUnlisted(at) {
					all = append(all, f)
					continue
				}
			}
			all = append(all, f)
			list.Add(f)
		}
		finding.Sort(all)
		want := all[:min(n, finding.MaxListed)]
		got := list.Findings()
		if n > finding.MaxListed {
			want = append(slices.Clone(want), finding.New(finding.FindingsUnlisted, "%d more findings are not listed", n-finding.MaxListed))
		}
		if diff := cmp.Diff(want, got); n > 0 && diff != "" || list.Failed() != (n > 0) {
			t.Fatalf("%d findings: %s", n, diff)
		}
	})
}

// TestListKeepsTheGravest checks that no warning pushes an error out of a list.
func TestListKeepsTheGravest(t *testing.T) {
	severities := []finding.Severity{finding.Error, finding.Warning, finding.Info}
	rapid.Check(t, func(t *rapid.T) {
		list := finding.List{GravestFirst: true}
		var all []finding.Finding
		n := rapid.IntRange(finding.MaxListed+1, 5*finding.MaxListed).Draw(t, "n")
		for i := range n {
			f := finding.New(finding.KeyUnknown, "m").WithOffset(int64(i)).WithSeverity(rapid.SampledFrom(severities).Draw(t, "severity"))
			all = append(all, f)
		}
		order := rapid.Permutation(all).Draw(t, "order")
		for _, f := range order {
			if f.Severity != finding.Error || !list.CountUnlisted(*f.Offset) {
				list.Add(f)
			}
		}
		slices.SortStableFunc(all, func(a, b finding.Finding) int {
			return slices.Index(severities, a.Severity) - slices.Index(severities, b.Severity)
		})
		want := slices.Clone(all[:finding.MaxListed])
		finding.Sort(want)
		want = append(want, finding.New(finding.FindingsUnlisted, "%d more findings are not listed", n-finding.MaxListed))
		if diff := cmp.Diff(want, list.Findings()); diff != "" {
			t.Fatalf("%d findings: %s", n, diff)
		}
	})
}

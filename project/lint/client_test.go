//go:build client

package lint_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// The first error of a stream that the client notices is about the event that it refuses:
// because of its order, after it has converted events, or because of its form.
func TestClientLint(t *testing.T) {
	j := judge.Start(t)
	refused := 0
	n := judge.Streams(5000)
	for i := range n {
		r := rand.New(rand.NewPCG(17, uint64(i)))
		events := judge.Generate(r, judge.Generator{With: judge.UnknownTypes | judge.ExtraKeys | judge.Legacy})
		if i%5 > 0 {
			events = judge.Damage(r, events)
		}
		want, why := j.Pipeline(events)
		row := linted(t, event.V1, events...)
		got := -1
		var first finding.Finding
		for _, f := range row.Findings {
			if source, ok := finding.SourceOf(f.Rule); ok && !source.Enforced(event.V1.Client()) {
				continue
			}
			refuses := f.Severity == finding.Error && !strings.Contains(f.Message, "does not refuse it") || strings.Contains(f.Message, "; only the client ")
			if refuses && f.EventIndex != nil && (got < 0 || *f.EventIndex < got) {
				got, first = *f.EventIndex, f
			}
		}
		noRun := finding.Has(row.Findings, finding.NoRun)
		if got != want || (row.Client == project.Accepted) != (want < 0) && !noRun {
			t.Fatalf("stream %d is %s: the first error is at %d, %v; the client's at %d, %q\n%s", i, row.Verdict, got, first, want, why, strings.Join(events, "\n"))
		}
		if want >= 0 {
			refused++
		}
	}
	if refused < n/4 || refused > n*19/20 {
		t.Errorf("%d of %d streams were refused", refused, n)
	}
	t.Logf("%d streams, %d of them refused", n, refused)
}

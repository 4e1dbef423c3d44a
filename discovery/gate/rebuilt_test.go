package gate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
)

func TestRebuiltSummary(t *testing.T) {
	t.Parallel()
	var s gate.RebuiltSummary
	s.Add("a", analysis.Rebuilt{Rebuilt: 2, Emitted: 2, Same: 2})
	s.Add("b", analysis.Rebuilt{Rebuilt: 2, Emitted: 2, Same: 2, OtherID: 1})
	s.Add("c", analysis.Rebuilt{Rebuilt: 3, Emitted: 5, Same: 1, OtherName: 1, Deviations: map[analysis.Deviation]int{analysis.EmittedTwice: 2, analysis.StreamedText: 2}})
	s.Add("d", analysis.Rebuilt{Rebuilt: 1, Emitted: 2, Same: 1, Deviations: map[analysis.Deviation]int{analysis.EmittedTwice: 1}})
	want := gate.RebuiltSummary{
		Runs: 4, Agreeing: 2, Identical: 1, Same: 6, OtherID: 1, OtherName: 1,
		Deviations: map[analysis.Deviation]gate.DeviationCount{
			analysis.EmittedTwice: {Runs: 2, Times: 3, First: "c"},
			analysis.StreamedText: {Runs: 1, Times: 2, First: "c"},
		},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

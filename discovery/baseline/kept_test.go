package baseline_test

import (
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/baseline"
)

// A baseline that an earlier version wrote can be read, and its captures have not
// changed. Do not rewrite the file: a program that cannot read it violates
// docs/stability.md.
func TestKeptBaseline(t *testing.T) {
	base, err := baseline.Load("testdata/v1.json", artifact.V1)
	if err != nil {
		t.Fatal(err)
	}
	var runs []analysis.Run
	for _, name := range []string{"adk/one-turn", "adk/model-error", "agno/three-turns-3", "langgraph/backend-tool"} {
		runs = append(runs, analysis.Analyze(t.Context(), filepath.Join("../captures", name), artifact.V1, nil)...)
	}
	compared := base.Compare(runs)
	if len(compared) != len(base.Runs) || len(compared) < 4 {
		t.Errorf("%d runs, %d in the baseline", len(compared), len(base.Runs))
	}
	for _, run := range compared {
		for _, change := range run.Changes {
			t.Errorf("%s: %v", run.Capture, change)
		}
	}
}

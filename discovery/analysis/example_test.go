package analysis_test

import (
	"context"
	"fmt"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
)

// An analysis has the result of each projection for each run.
func ExampleAnalyze() {
	for _, run := range analysis.Analyze(context.Background(), "../captures/langgraph/one-turn", artifact.V1, nil) {
		fmt.Println(*run.RunID, run.Verdict)
		for _, p := range run.Projections {
			fmt.Println(" ", p.Name, p.Verdict, p.Roles)
		}
	}
	// Output:
	// run-one-turn exact
	//   emitted-snapshot frozen [user assistant]
	//   emitted-snapshot-text frozen [user assistant]
	//   folded-stream refused []
}

package baseline_test

import (
	"context"
	"fmt"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/baseline"
)

// This example makes a baseline from a capture of one release and compares a capture of
// the next release with it.
func ExampleBaseline_Compare() {
	ctx := context.Background()
	before := analysis.Analyze(ctx, "../drift/captures/adk-0.4.0/one-turn", artifact.V1, nil)
	base, err := baseline.New(before, artifact.V1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, run := range base.Compare(analysis.Analyze(ctx, "../captures/adk/one-turn", artifact.V1, nil)) {
		fmt.Println(run.Verdict)
		for _, change := range run.Changes {
			fmt.Println(" ", change.Severity, change.Code)
		}
	}
	// Output:
	// exact
	//   error baseline_role
	//   error baseline_messages
	//   error baseline_incomplete
	//   info baseline_snapshot_place
	//   info baseline_reasons
	//   info baseline_reasons
	//   info baseline_field_untaken
	//   info baseline_families
}

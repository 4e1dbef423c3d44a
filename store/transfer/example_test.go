package transfer_test

import (
	"context"
	"fmt"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/transfer"
)

// An import can be repeated: it appends what the log lacks.
func ExampleImport() {
	ctx := context.Background()
	events := memory.New()
	defer events.Close()
	for range 2 {
		in := inputs.File("../../discovery/captures/mastra/three-turns-1")
		row := transfer.Import(ctx, events, in, transfer.ImportSettings{})
		in.Close()
		for _, f := range row.Findings {
			fmt.Println(f.Code, f.Message)
		}
		for _, p := range row.Parts {
			fmt.Printf("%s: %d appended, %d found\n", p.Thread, p.Appended, p.Found)
		}
	}
	// Output:
	// thread-three-turns: 12 appended, 0 found
	// thread-three-turns: 0 appended, 12 found
}

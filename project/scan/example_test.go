package scan_test

import (
	"context"
	"fmt"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/project/scan"
)

// toolCalls counts the tool calls of each run.
type toolCalls struct{ runs []int }

func (t *toolCalls) Begin(*envelope.Run) scan.Observer { return &calls{of: t} }

func (t *toolCalls) Finish(r scan.Result) error {
	fmt.Println(r.Runs, "run,", r.Events, "events, tool calls:", t.runs)
	return nil
}

type calls struct {
	of *toolCalls
	n  int
}

func (c *calls) Event(e *envelope.Event) {
	if e.Type == "TOOL_CALL_START" {
		c.n++
	}
}

func (c *calls) End(*envelope.Run) error {
	c.of.runs = append(c.of.runs, c.n)
	return nil
}

// Several consumers process a capture in one reading.
func ExampleRun() {
	ctx := context.Background()
	c, err := capture.Open(ctx, "../../discovery/captures/adk/backend-tool", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	inspector := scan.NewInspector(c.Path())
	if _, err := scan.Run(ctx, c, nil, new(toolCalls), inspector); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*inspector.Inspections()[0].Terminal)
	// Output:
	// 1 run, 17 events, tool calls: [1]
	// RUN_FINISHED
}

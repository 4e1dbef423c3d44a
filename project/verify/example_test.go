package verify_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/verify"
)

const response = `data: {"type":"RUN_STARTED","threadId":"t1","runId":"r1","timestamp":1767225600000}

data: {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"Hello"}]}

data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r1","timestamp":1767225601000}

`

// Capture verifies the files of a frozen run with the capture that they were made from.
func ExampleCapture() {
	ctx := context.Background()
	runs, err := freeze.Reader(ctx, strings.NewReader(response), "hello", freeze.Settings{
		Tool: record.Tool{Name: record.ToolName, Version: "0.1.0"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	made := runs[0].Files
	check := func(response string) {
		c, err := capture.OpenReader(strings.NewReader(response), "hello", "")
		if err != nil {
			fmt.Println(err)
			return
		}
		defer c.Close()
		row := verify.Capture(ctx, c, verify.Files{Name: "hello.artifact.json", Artifact: made.Artifact, Envelope: made.Envelope, Record: made.Record})
		fmt.Println(row.Verdict)
		for _, f := range row.Findings {
			fmt.Println(" ", f.Code)
		}
	}
	check(response)
	check(strings.Replace(response, "Hello", "Jello", 1))
	// Output:
	// verified
	// differs
	//   capture_differs
}

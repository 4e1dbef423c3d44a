package freeze_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
)

const response = `data: {"type":"RUN_STARTED","threadId":"t1","runId":"r1","timestamp":1767225600000}

data: {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"1","role":"user","content":"Hello"}]}

data: {"type":"RUN_FINISHED","threadId":"t1","runId":"r1","timestamp":1767225601000}

`

// Reader freezes a response in memory.
func ExampleReader() {
	runs, err := freeze.Reader(context.Background(), strings.NewReader(response), "hello", freeze.Settings{
		Tool: record.Tool{Name: record.ToolName, Version: "0.1.0"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, run := range runs {
		fmt.Println(*run.RunID, run.Verdict, *run.ArtifactDigest)
		fmt.Printf("%s", run.Files.Artifact)
	}
	// Output:
	// r1 frozen sha256:a1f51e1439d633dad91468db4f56cc9bed8850c7f24ad52bad3949637ce3f04e
	// {
	//   "schema": "ag-ui.compacted-message-snapshot.export.v1",
	//   "framework": "ag_ui",
	//   "surface": "compacted_message_snapshot_artifact",
	//   "thread_id_ref": "t1",
	//   "run_id_ref": "r1",
	//   "started_at": "2026-01-01T00:00:00Z",
	//   "finished_at": "2026-01-01T00:00:01Z",
	//   "messages": [
	//     {
	//       "id": "1",
	//       "role": "user",
	//       "content": "Hello"
	//     }
	//   ],
	//   "terminal_event": "RUN_FINISHED"
	// }
}

// For a refused run, each reason is a finding with a code.
func ExampleReader_refused() {
	rich := strings.Replace(response, `"content":"Hello"`, `"content":"Hello","metadata":{}`, 1)
	runs, err := freeze.Reader(context.Background(), strings.NewReader(rich), "hello", freeze.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range runs[0].Findings {
		fmt.Println(runs[0].Verdict, f.Code == finding.KeyOutsideSubset, f.Pointer)
	}
	runs, err = freeze.Reader(context.Background(), strings.NewReader(rich), "hello", freeze.Settings{
		Settings: project.Settings{Projection: project.EmittedSnapshotText},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(runs[0].Verdict, runs[0].Findings[0].Code)
	var f finding.Finding
	fmt.Println(errors.As(error(runs[0].Findings[0]), &f), f.Severity)
	// Output:
	// refused true /messages/0/metadata
	// frozen omissions_recorded
	// true info
}

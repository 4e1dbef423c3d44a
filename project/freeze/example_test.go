package freeze_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/digest"
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

// Batch freezes the captures of an archive, in memory.
func ExampleBatch() {
	ctx := context.Background()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range []string{"monday/hello.sse", "tuesday/hello.sse", "tuesday/broken.sse"} {
		text := response
		if name == "tuesday/broken.sse" {
			text = strings.Replace(response, "RUN_FINISHED", "CUSTOM", 1)
		}
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o666, Size: int64(len(text))})
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}

	source := inputs.Tar(&archive)
	defer source.Close()
	captures, err := freeze.Batch(ctx, source.All(ctx), freeze.Settings{}, freeze.BatchOptions{Inline: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for runs := range captures {
		for _, run := range runs {
			fmt.Println(run.Capture, run.Verdict)
			if run.Verdict == project.Frozen {
				fmt.Println(" ", *run.ArtifactBytes, *run.ArtifactDigest == digest.Of([]byte(*run.ArtifactJSON)))
				continue
			}
			for _, f := range run.Findings {
				if f.Severity == finding.Error { // findings are sorted by place
					fmt.Println(" ", f.Code)
				}
			}
		}
	}
	// Output:
	// monday/hello.sse frozen
	//   398 true
	// tuesday/hello.sse frozen
	//   398 true
	// tuesday/broken.sse refused
	//   run_not_terminated
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

// Command consumer freezes, validates and verifies the response on standard input
// through the packages alone, as another module would.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/validate"
	"github.com/p20export/p20export/project/verify"
)

func main() {
	ctx := context.Background()
	response, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	runs, err := freeze.Reader(ctx, bytes.NewReader(response), "run", freeze.Settings{Tool: record.Tool{Name: record.ToolName, Version: "9"}})
	if err != nil {
		panic(err)
	}
	for _, run := range runs {
		if run.Verdict != project.Frozen {
			fmt.Println(run.Verdict, run.Findings[0].Code == finding.SnapshotMissing)
			continue
		}
		file := validate.Reader(bytes.NewReader(run.Files.Artifact), "run.artifact.json", artifact.V1, "")
		c, err := capture.OpenReader(bytes.NewReader(response), "run", "")
		if err != nil {
			panic(err)
		}
		row := verify.Capture(ctx, c, verify.Files{Name: "run.artifact.json", Artifact: run.Files.Artifact, Record: run.Files.Record})
		fmt.Println(run.Verdict, file.Verdict, row.Verdict, digest.Of(run.Files.Artifact) == *run.ArtifactDigest)
	}
	_, err = capture.Open(ctx, os.TempDir(), "")
	var f finding.Finding
	fmt.Println(errors.As(err, &f) && f.Code == finding.CaptureUnfinished)
}

// What stands in public signatures can be named.
var (
	_ scan.Consumer                          = (*scan.Inspector)(nil)
	_ func(envelope.Value) envelope.Kind     = func(v envelope.Value) envelope.Kind { return v.Kind }
	_ func(*envelope.Event) *envelope.Object = func(e *envelope.Event) *envelope.Object { return &e.Object }
)

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
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = errors.Join(show(context.Background(), bytes.NewReader(text)), check(context.Background(), text))
	}
	fmt.Println(err)
	_, err = capture.Open(context.Background(), os.TempDir(), "")
	var f finding.Finding
	fmt.Println(errors.As(err, &f) && f.Code == finding.CaptureUnfinished)
}

// show is what README.md shows.
func show(ctx context.Context, response io.Reader) error {
	runs, err := freeze.Reader(ctx, response, "run", freeze.Settings{Tool: record.Tool{Name: record.ToolName, Version: "9"}})
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Verdict != project.Frozen {
			fmt.Println(run.Verdict, run.Findings[0].Code)
			continue
		}
		file := validate.Reader(bytes.NewReader(run.Files.Artifact), "run.artifact.json", artifact.V1, "")
		fmt.Println(run.Verdict, file.Verdict, *run.ArtifactDigest)
	}
	return nil
}

// check freezes and verifies in 20 lines.
func check(ctx context.Context, response []byte) error {
	runs, err := freeze.Reader(ctx, bytes.NewReader(response), "run", freeze.Settings{Tool: record.Tool{Name: record.ToolName, Version: "9"}})
	if err != nil {
		return err
	}
	for _, run := range runs {
		c, err := capture.OpenReader(bytes.NewReader(response), "run", "")
		if err != nil {
			return err
		}
		defer c.Close()
		row := verify.Capture(ctx, c, verify.Files{Name: "run.artifact.json", Artifact: run.Files.Artifact, Record: run.Files.Record})
		fmt.Println(row.Verdict, row.Findings[0].Code == finding.EnvelopeAbsent)
	}
	return nil
}

// What stands in public signatures can be named.
var (
	_ scan.Consumer                          = (*scan.Inspector)(nil)
	_ func(envelope.Value) envelope.Kind     = func(v envelope.Value) envelope.Kind { return v.Kind }
	_ func(*envelope.Event) *envelope.Object = func(e *envelope.Event) *envelope.Object { return &e.Object }
)

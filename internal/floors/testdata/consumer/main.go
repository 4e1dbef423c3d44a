// Command consumer freezes, validates and verifies the response in a file. It uses only
// the public packages, as another module would.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	ctx, path := context.Background(), os.Args[1]
	text, err := os.ReadFile(path)
	fmt.Println(errors.Join(err, show(ctx, path), check(ctx, text)))
	_, err = capture.Open(ctx, os.TempDir(), "")
	var f finding.Finding
	fmt.Println(errors.As(err, &f) && f.Code == finding.CaptureUnfinished)
}

// show is the example in docs/go.md.
func show(ctx context.Context, path string) error {
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		return err
	}
	defer c.Close()
	runs, err := freeze.Capture(ctx, c, freeze.Settings{})
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Verdict != project.Frozen {
			for _, f := range run.Findings {
				if f.Severity == finding.Error {
					fmt.Println(run.Verdict, f.Code)
				}
			}
			continue
		}
		file := validate.Reader(bytes.NewReader(run.Files.Artifact), "run.artifact.json", artifact.V1, "")
		fmt.Println(run.Verdict, file.Verdict, *run.ArtifactDigest)
	}
	return nil
}

// check freezes and verifies a response.
func check(ctx context.Context, response []byte) error {
	runs, err := freeze.Reader(ctx, bytes.NewReader(response), "run", freeze.Settings{Tool: record.Tool{Version: "1.2.0"}})
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

// The types in public signatures can be named.
var (
	_ scan.Consumer                          = (*scan.Inspector)(nil)
	_ func(envelope.Value) envelope.Kind     = func(v envelope.Value) envelope.Kind { return v.Kind }
	_ func(*envelope.Event) *envelope.Object = func(e *envelope.Event) *envelope.Object { return &e.Object }
)

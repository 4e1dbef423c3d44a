package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/project/freeze"
)

func newVerify() *cobra.Command {
	var record, source string
	cmd := &cobra.Command{
		Use:   "verify ARTIFACT [--record RECORD] --capture CAPTURE",
		Short: "Repeat a projection from the raw capture and compare",
		Long: `Repeat the projection a RECORD names from the raw CAPTURE and compare artifact,
envelope and record byte for byte (tool version aside). The envelope is looked
for beside the artifact, and so is the record when none is given.

Verdicts:
  verified      every byte is what the capture projects to
  differs       something is not (exit status 1)
  unverifiable  it cannot be told here: the record names a projection or version
                this program does not have, or the capture given lacks its
                manifest and arrival times (exit status 3)
  error         a file could not be read (exit status 3)

Times given by an operator are taken from the record and reported as such.
` + exitHelp,
		Example: `  p20export verify frozen/one-turn.artifact.json \
      --record frozen/one-turn.record.json --capture captures/one-turn`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&record, "record", "", "the record (default: the one beside the artifact)")
	cmd.Flags().StringVar(&source, "capture", "", "the capture it was made from (required)")
	f := addFormat(cmd)
	if err := cmd.MarkFlagRequired("capture"); err != nil {
		panic(err)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if record == "" {
			record = strings.TrimSuffix(args[0], ".artifact.json") + ".record.json"
		}
		progress, show := newReading(cmd.ErrOrStderr(), source)
		row := freeze.Verify(cmd.Context(), args[0], record, source, show)
		progress.end()
		p := newPrinter(cmd)
		if *f == formatJSON {
			p.json(row)
		} else {
			p.verified(row)
		}
		return p.close(statusOf(row.Verdict).err())
	}
	return cmd
}

func (p *printer) verified(row freeze.VerifyRow) {
	p.line("%s %s", p.verdict(row.Verdict), row.Artifact)
	p.line("  record    %s", row.Record)
	p.line("  capture   %s", row.Capture)
	if row.Origin != nil {
		p.line("  snapshot  %s", originShown(*row.Origin))
	}
	if row.TimeSource != nil {
		p.line("  times     %s", string(*row.TimeSource))
	}
	p.findings(row.Findings)
}

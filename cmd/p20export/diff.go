package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/difference"
)

func newDiff() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show the differences between two artifacts or two captures",
		Long: `Compare two artifact files, A and B, under the v1 contract. One of them can be
-, which is standard input. Or compare two captures event by event.

Each key that differs is listed with both values, and times with the interval
between them. Messages are paired by id; the others are paired in order if they
have the same role and content. A message is changed (id, role, content or
name), moved, only in A, or only in B. Of long values only the text around the
first difference is shown.

Artifacts with the same value are equal even if their JSON is formatted
differently. Their digests then differ, but their canonical digests do not. A
time in another format is a difference, because it changes the canonical digest.

If a file is not a well-formed artifact, its findings are shown as validate
shows them, and nothing is compared.

Captures are directories, or files named .sse, .ndjson or .jsonl. Their events
are compared in the normal form of docs/traces.md: ids are names such as
message-2, times and RAW events do not count, the deltas of a message are one,
and patches of the state count by their effect. Events whose order a client
cannot notice may have any. An event is missing, added, changed or moved. --raw,
--deltas, --pulses, --patches, --order and --text choose what counts. The result
is not evidence. A capture with something that is not an event is refused.

Two directories of captures are compared capture by capture: those with the same
name. Then only what differs is printed, and how many captures do. --html FILE
also writes a page with both in two columns.

--format json prints one row, or for captures a row for each difference and then
one with the verdict. In the row of artifacts, each difference has a pointer,
the kind of difference (added, removed, changed or moved), and the values a and
b. pointer_b is the position in B if it is not the same as in A. --format sarif
(SARIF 2.1.0) and junit (JUnit XML), for captures, are one document at the end.
` + exitHelp("A and B are equal", "they differ, a file is not a well-formed artifact, or a capture is refused", ""),
		Example: `  p20export diff before.artifact.json after.artifact.json
  p20export diff - frozen/one-turn.artifact.json < one-turn.artifact.json
  p20export diff --format json A B | jq '.differences[].pointer'
  p20export diff captures/one-turn changed/one-turn
  p20export diff captures/one-turn changed/one-turn --text shape
  p20export diff captures changed`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 2:
				return fmt.Errorf("name two artifacts or two captures, not %d", len(args))
			case args[0] == "-" && args[1] == "-":
				return errors.New("standard input can be only one of the two artifacts; name a file for the other")
			}
			return nil
		},
	}
	t := addTraceFlags(cmd)
	f := cli.AddFormat(cmd, render.SARIF, render.JUnit)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkFiles(args...); err != nil {
			return err
		}
		if err := checkNoBundles(args...); err != nil {
			return err
		}
		switch a, b := isTraced(args[0]), isTraced(args[1]); {
		case a && b:
			return diffCaptures(cmd, args[0], args[1], t, f)
		case a || b:
			one, other := args[0], args[1]
			if b {
				one, other = other, one
			}
			if _, err := os.Stat(other); err != nil && other != "-" {
				return fmt.Errorf("%w: %w", errInput, err)
			}
			return fmt.Errorf("%s is a capture and %s is not; name two artifacts or two captures", finding.Quote(one), finding.Quote(other))
		}
		if name := t.changed(cmd); name != "" {
			return fmt.Errorf("--%s is only for captures", name)
		}
		if *f == render.SARIF || *f == render.JUnit {
			return fmt.Errorf("--format %s is only for captures", *f)
		}
		row := difference.CompareFiles(cmd.Context(), args[0], args[1])
		if err := interrupted(cmd); err != nil {
			return err
		}
		p := newPrinter(cmd, f)
		p.Diff(row)
		return p.Close(render.StatusOf(row.Verdict).Err())
	}
	return cmd
}

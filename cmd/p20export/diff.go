package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/project/difference"
)

func newDiff() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show the differences between two artifacts",
		Long: `Compare two artifact files, A and B, under the v1 contract. One of them can be
-, which is standard input.

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

--format json prints one row. Each difference in it has a pointer, the kind of
difference (added, removed, changed or moved), and the values a and b. pointer_b
is the position in B if it is not the same as in A.
` + exitHelp("the artifacts are equal", "they differ, or a file is not a well-formed artifact", ""),
		Example: `  p20export diff before.artifact.json after.artifact.json
  p20export diff - frozen/one-turn.artifact.json < one-turn.artifact.json
  p20export diff --format json A B | jq '.differences[].pointer'`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 2:
				return fmt.Errorf("name two artifacts, not %d", len(args))
			case args[0] == "-" && args[1] == "-":
				return errors.New("standard input can be only one of the two artifacts; name a file for the other")
			}
			return nil
		},
	}
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkFiles(args...); err != nil {
			return err
		}
		if err := checkNoBundles(args...); err != nil {
			return err
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

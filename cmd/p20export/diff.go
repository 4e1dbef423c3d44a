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
		Short: "Show how two artifacts differ",
		Long: `Compare two artifact files under the v1 contract.
- is standard input, for one of them.

Each key that differs is listed with both values, and times with how far apart
they are. Messages with the same id are the same message. The others are paired
in order if they have the same role and content. A message is changed (id, role,
content or name), moved, only in A, or only in B. Long values are cut to the
place where they part.

Artifacts with the same value are equal, even if their JSON is spelled
differently: their digests differ and their canonical digests do not. A time
spelled differently is a difference, because it changes the canonical digest.

Exit status 0 says that the artifacts are equal, 1 that they differ or that one
of the files is not a well-formed artifact. Its findings are then shown as
validate shows them, and nothing is compared.

--format json prints one row. Each difference in it has a pointer, what differs
(added, removed, changed or moved), and the values a and b. pointer_b is the
place in B if it is another than in A.
` + exitHelp,
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

package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/recovery"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
)

func newRecover() *cobra.Command {
	s := recovery.Settings{Tool: capture.Tool(build.Tool())}
	cmd := &cobra.Command{
		Use:   "recover DIR",
		Short: "Close captures that a crash left unfinished",
		Long: `Save what was received of each unfinished capture in DIR and below it as a new
capture. DIR may also be an unfinished capture itself. The new capture is next
to the unfinished one and has the name NAME-recovered, the end "error" and the
label recovered-from. It has every byte of the response whose time of arrival is
known. After it has been read back, the unfinished files get the suffix
.unfinished, so that they no longer look like a capture. Nothing is deleted;
p20export prune --unfinished removes these files later.

A capture that is being written is left alone. Temporary files that a crash left
in closed captures are removed. Symbolic links are not followed.

Verdicts:
  recovered      what arrived is in a new capture
  set-aside      nothing had arrived, or it was an incomplete copy, so there is
                 no new capture
  cleaned        temporary files were removed from a closed capture
  recoverable    without --dry-run, it would probably be one of the above
  in-use         the capture is being written (exit status 0)
  unrecoverable  the directory does not say what was captured, or the file
                 system cannot tell whether it is in use (exit status 3)
  error          it could not be read or written (exit status 3)

p20export proxy recovers its captures when it starts. If recover is interrupted,
run it again.
` + exitHelp("all unfinished captures were recovered, except those in use", "", "a capture could not be recovered"),
		Example: `  p20export recover captures
  p20export recover captures --dry-run
  p20export recover captures/mine --format json`,
		Args:              cli.One("DIR"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	cmd.Flags().BoolVar(&s.DryRun, "dry-run", false, "only print what would be recovered")
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		root, err := os.OpenRoot(args[0])
		if err != nil {
			return inputError(err)
		}
		defer root.Close()
		p := newPrinter(cmd, f)
		var tally render.Tally
		for row := range recovery.All(cmd.Context(), root, s) {
			p.Recovery(row, &tally)
			if !p.Flush() {
				return p.Close(nil)
			}
		}
		if err := interrupted(cmd); err != nil {
			return p.Close(err)
		}
		p.RecoverySummary(args[0], &tally)
		return p.Close(tally.Status.Err())
	}
	return cmd
}

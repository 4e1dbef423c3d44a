package main

import (
	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/scan"
)

func newFreeze() *cobra.Command {
	var (
		out, run, name string
		fl             projecting
	)
	cmd := &cobra.Command{
		Use:   "freeze CAPTURE... -o DIR",
		Short: "Freeze the runs of captures into artifacts",
		Long: `Freeze each run of each CAPTURE into an artifact that anyone can check. For each
run it writes three files into DIR:

  NAME.artifact.json     the snapshot's messages, the run's ids, times and end
  NAME.envelope.ndjson   the bounded envelope behind it: three events to review
  NAME.record.json       how it was made: projection, digests, every omission

NAME is the capture's base name (a file's less its extension, and stdin for -),
with .N added when it holds several runs. A directory that is no capture stands
for the captures in it and below it, closed or not; what one in a subdirectory
gives goes into that subdirectory of DIR, so that two captures of one name do
not meet. Plain response files are named themselves. Symbolic links in the
directory are not followed.

A projection decides what of a run becomes the artifact. A run is frozen whole
or refused with every reason; a refused run writes nothing. Files that exist
are never overwritten: the same bytes count as done, others are an error.

Projections:
  emitted-snapshot       the run's only MESSAGES_SNAPSHOT as it is; refuses any
                         message richer than id, role, content and name as text
  emitted-snapshot-text  one emitted snapshot reduced to that text subset; each
                         omission is recorded
  folded-stream          for runs that emitted no snapshot: built from the
                         request and the streamed text, and marked as built;
                         where the capture has no request.json, the input in
                         RUN_STARTED is read instead

A snapshot that lacks text the run streamed is frozen with a warning, and the
record names each message that is lacking. A terminal event that names another
run is a warning; emitted-snapshot refuses the run. emitted-snapshot also
refuses an error text that holds a stack trace of a known shape; the other two
cut the text before it.

Records name a projection with its version, folded-stream@3 for example. Those
of earlier versions still verify.

The times in an artifact are the events' own (timestamps in milliseconds, from
2025 on and at most a day ahead of their arrival), else the capture's arrival
times, else those given with --started-at and --finished-at; never the clock's.
` + exitHelp,
		Example: `  p20export freeze captures/one-turn -o frozen
  p20export freeze captures -o frozen --projection emitted-snapshot-text
  p20export freeze run.sse -o frozen --started-at 2026-01-31T12:00:00Z
  p20export freeze captures/two-runs -o frozen --run '#2'`,
		Args: cli.OneOrMore("CAPTURE"),
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "output", "o", "", "`DIR` the files go into; made when it is not there (required)")
	flags.StringVar(&run, "run", "", "freeze one `RUN`: its id, or '#2' for the second")
	fl.addFlags(cmd, project.EmittedSnapshot, "`PROJECTION` by which a run becomes an artifact")
	flags.StringVar(&name, "name", "", "`NAME` of the files instead of the capture's (one capture only)")
	f := cli.AddFormat(cmd)
	cli.Require(cmd, "output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s := freeze.Settings{Run: scan.RunSelector(run), Name: name, Tool: build.Tool()}
		var err error
		if s.Settings, err = fl.settings(); err != nil {
			return err
		}
		if err := checkOutput("-o", out); err != nil {
			return err
		}
		captures, err := findCaptures(cmd, args)
		if err != nil {
			return err
		}
		if err := fl.checkTimes(len(captures)); err != nil {
			return err
		}
		if err := checkFreezing(captures, name, out); err != nil {
			return err
		}
		if err := s.Normalize(); err != nil {
			return err
		}
		p := newPrinter(cmd, f)
		var tally render.Tally
		for _, c := range captures {
			var rows []freeze.Row
			s.Dir = c.Under(out)
			cli.Reading(cmd, c.Path, func(progress func(int64)) {
				s.Progress = progress
				rows, err = freeze.Freeze(cmd.Context(), c.Path, s)
			})
			if err != nil {
				return p.Close(err)
			}
			for _, row := range rows {
				tally.AddRun(row)
				p.Freeze(row)
			}
			if err := interrupted(cmd); err != nil {
				return p.Close(err)
			}
		}
		if len(captures) > 1 {
			p.FreezeSummary(len(captures), &tally)
		}
		return p.Close(tally.Status.Err())
	}
	return cmd
}

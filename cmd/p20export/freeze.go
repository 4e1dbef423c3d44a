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
		fl             projectionFlags
	)
	cmd := &cobra.Command{
		Use:   "freeze CAPTURE... -o DIR",
		Short: "Freeze the runs of captures into artifacts",
		Long: `Freeze each run of each CAPTURE into an artifact that anyone can check. Each run
becomes three files in DIR:

  NAME.artifact.json     the snapshot's messages, the run's ids, times and end
  NAME.envelope.ndjson   the bounded envelope behind it: three events to review
  NAME.record.json       how it was made: projection, digests, every omission

NAME is the base name of the capture: the name of a file without its extension,
or stdin for -. If the capture contains several runs, .N is added. A directory
that is not a capture means all captures in it and below it, finished or not.
Symbolic links in it are not followed. The files of a capture in a subdirectory
are written to the same subdirectory of DIR, so that captures with the same name
do not collide. Plain response files must be named individually.

A projection decides what part of a run becomes the artifact. A run is either
frozen as a whole or refused with every reason; nothing is written for a refused
run. Existing files are never overwritten: a file with the same bytes counts as
written, and any other file is an error.

Projections:
  emitted-snapshot       takes the run's only MESSAGES_SNAPSHOT unchanged;
                         refuses a message with anything but id, role, content
                         and name as text
  emitted-snapshot-text  takes one emitted snapshot and reduces it to that text
                         subset; records each omission
  folded-stream          for runs without a snapshot: builds one from the
                         request and the streamed text, and marks it as built.
                         If the capture has no request.json, the input in
                         RUN_STARTED is used

A snapshot that lacks text that the run streamed is frozen with a warning, and
the record names each missing message. If the terminal event names another run,
emitted-snapshot refuses the run and the other projections warn.
emitted-snapshot also refuses an error text that contains a stack trace of a
known format; the others cut the text before it.

Records name a projection with its version, for example folded-stream@3. Records
of earlier versions still verify.

The times in an artifact are those of its events (timestamps in milliseconds,
from 2025 on and at most a day ahead of their arrival), otherwise the capture's
arrival times, otherwise --started-at and --finished-at. The time of freezing is
never used.
` + exitHelp("every run was frozen", "a run was refused", ""),
		Example: `  p20export freeze captures/one-turn -o frozen
  p20export freeze captures -o frozen --projection emitted-snapshot-text
  p20export freeze run.sse -o frozen --started-at 2026-01-31T12:00:00Z
  p20export freeze captures/two-runs -o frozen --run '#2'`,
		Args: cli.OneOrMore("CAPTURE"),
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "output", "o", "", "`DIR` to write the files to, created if missing (required)")
	flags.StringVar(&run, "run", "", "freeze only one `RUN`: its id, or '#2' for the second")
	fl.addFlags(cmd, project.EmittedSnapshot, "`PROJECTION` that turns a run into an artifact")
	flags.StringVar(&name, "name", "", "`NAME` of the files instead of the capture's name (one capture only)")
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

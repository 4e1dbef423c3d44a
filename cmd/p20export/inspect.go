package main

import (
	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/project/scan"
)

func newInspect() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect CAPTURE...",
		Short: "Show the runs, event counts, snapshots and times of captures",
		Long: `Show every run in each CAPTURE: its ids, its event families with counts, the
text messages it streamed, its MESSAGES_SNAPSHOT events with their positions and
messages, its times and their source, its terminal event and its size. Messages
are counted by role. A snapshot with fewer messages of a role than were streamed
may lack some; compare and freeze check the texts.

A CAPTURE is a capture directory, a plain SSE, NDJSON or JSON array file, or -
for standard input. Any other directory means all captures in it and below it,
finished or not. Symbolic links in it are not followed.

Events are counted from 0, as in a record, but runs and snapshots from 1.
inspect lists the problems of a run, but does not check anything.
` + exitHelp("every capture has a run and was not changed; other problems are only shown", "a capture has no run, or was changed after it was closed", ""),
		Example: `  p20export inspect captures/one-turn
  p20export inspect --format json captures | jq .families
  curl -sN -d @request.json -H 'Content-Type: application/json' URL |
      p20export inspect -`,
		Args: cli.OneOrMore("CAPTURE"),
	}
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		paths, err := findPaths(cmd, args)
		if err != nil {
			return err
		}
		p := newPrinter(cmd, f)
		worst := render.Done
		for _, path := range paths {
			var rows []scan.Inspection
			cli.Reading(cmd, path, func(progress func(int64)) { rows = scan.Inspect(cmd.Context(), path, progress) })
			p.Inspection(rows)
			worst = worst.Worse(render.StatusOfInspection(rows))
			if err := interrupted(cmd); err != nil {
				return p.Close(err)
			}
		}
		return p.Close(worst.Err())
	}
	return cmd
}

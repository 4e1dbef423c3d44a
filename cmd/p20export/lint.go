package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/project/lint"
)

func newLint() *cobra.Command {
	var protocol string
	cmd := &cobra.Command{
		Use:   "lint CAPTURE...",
		Short: "Check whether the AG-UI client accepts the events of captures",
		Long: `Check the events of each CAPTURE against the rules that the AG-UI reference
client enforces (docs/sequence.md). The client ends a run at the first event
that breaks a rule; lint reports all of them, each with its rule, event, JSON
Pointer, line, column and byte offset, up to 100 findings per capture.

--protocol 1.0 checks the order of events, and their form (docs/vocabulary.md),
as the client 1.0.0 does: what it refuses is an error, what it drops or
converts a warning, listed once for each kind. --protocol 0.x checks the order
of events as the client 0.0.59 does, and not their form, for which that client
may refuse a capture without errors.

Events before the first RUN_STARTED are checked too, because the client sees
them. A frame that cannot be read is an error. From there to the next
RUN_STARTED, lint reports only breaches that the missing event could not have
prevented. The client accepts a run without an end, so lint only notes it.

A CAPTURE is a capture directory, a plain SSE, NDJSON or JSON array file, or -
for standard input. Any other directory means all captures in it and below it,
finished or not. Symbolic links in it are not followed.

lint says nothing about artifacts: freeze and compare do not apply its rules.

Lines and columns are known for the first 8 MiB of a response. --format sarif
(SARIF 2.1.0) and --format junit (JUnit XML) write one document after all
captures have been checked, and nothing if interrupted.
` + exitHelp("no capture has an error", "a capture breaks a rule, has no events or an HTTP error, or was changed after it was closed", ""),
		Example: `  p20export lint captures/one-turn
  p20export lint --format sarif captures > findings.sarif
  p20export lint --protocol 0.x old.ndjson`,
		Args: cli.OneOrMore("CAPTURE"),
	}
	cmd.Flags().StringVar(&protocol, "protocol", string(event.V1), "rules of AG-UI `1.0|0.x`: of the client 1.0.0, or of the client 0.0.59")
	f := cli.AddFormat(cmd, render.SARIF, render.JUnit)
	cli.Complete(cmd, "protocol", string(event.V1), string(event.V0))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rules, err := event.ParseProtocol(protocol)
		if err != nil {
			return fmt.Errorf("unknown protocol %q: %w", protocol, err)
		}
		paths, err := findPaths(cmd, args)
		if err != nil {
			return err
		}
		p := newPrinter(cmd, f)
		var tally render.Tally
		for _, path := range paths {
			var row lint.Row
			cli.Reading(cmd, path, func(progress func(int64)) { row = lint.Capture(cmd.Context(), path, rules, progress) })
			if err := interrupted(cmd); err != nil {
				return p.Close(err)
			}
			tally.Add(row.Verdict)
			p.Lint(row)
		}
		p.LintSummary(&tally)
		return p.Close(tally.Status.Err())
	}
	return cmd
}

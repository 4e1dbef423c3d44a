package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/discovery"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/spell"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

func newFreeze() *cobra.Command {
	var (
		out, run, name string
		fl             projecting
	)
	cmd := &cobra.Command{
		Use:   "freeze CAPTURE... -o DIR",
		Short: "Project the runs of captures to frozen artifacts",
		Long: `Project each run of each CAPTURE and write three files into DIR:

  NAME.artifact.json     who said what, in which run, how it ended
  NAME.envelope.ndjson   the bounded envelope behind it: three events, for review
  NAME.record.json       how it was made: projection, digests, every omission

NAME is the capture's base name (a file's less its extension), with .N added
when it holds several runs. A run is frozen whole or refused with every reason;
a refused run writes nothing. Files that exist are never overwritten: the same
bytes count as done, others are an error.

Projections:
  emitted-snapshot       the run's only MESSAGES_SNAPSHOT as it is; refuses any
                         message richer than id, role, content and name as text
  emitted-snapshot-text  one emitted snapshot reduced to that text subset; each
                         omission is recorded
  folded-stream          for runs that emitted no snapshot: built from the
                         request and the streamed text, and marked as built

The times in an artifact are the events' own (timestamps in milliseconds, from
2025 on and at most a day ahead of their arrival), else the capture's arrival
times, else those given with --started-at and --finished-at; never the clock's.
` + exitHelp,
		Example: `  p20export freeze captures/one-turn -o frozen
  p20export freeze captures/* -o frozen --projection emitted-snapshot-text
  p20export freeze run.sse -o frozen --started-at 2026-01-31T12:00:00Z
  p20export freeze captures/two-runs -o frozen --run '#2'`,
		Args: oneOrMore("CAPTURE"),
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "output", "o", "", "directory the files go into; made when it is not there (required)")
	flags.StringVar(&run, "run", "", "freeze one run: its id, or '#2' for the second")
	fl.addFlags(cmd, project.EmittedSnapshot, "how a run becomes an artifact")
	flags.StringVar(&name, "name", "", "name of the files instead of the capture's (one capture only)")
	f := addFormat(cmd)
	if err := cmd.MarkFlagRequired("output"); err != nil {
		panic(err)
	}
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		s := freeze.Settings{Dir: out, Run: run, Name: name, Tool: tool()}
		var err error
		if s.Settings, err = fl.settings(); err != nil {
			return err
		}
		if err := s.Check(); err != nil {
			return err
		}
		if err := freeze.CheckNames(paths, name); err != nil {
			return err
		}
		if err := freeze.CheckOutput("-o", out); err != nil {
			return err
		}
		p := newPrinter(cmd.OutOrStdout())
		worst := status(exitDone)
		count := make(map[freeze.Verdict]int)
		for _, path := range paths {
			progress, show := newReading(cmd.ErrOrStderr(), path)
			s.Progress = show
			rows, err := freeze.Freeze(cmd.Context(), path, s)
			progress.end()
			if err != nil {
				return p.close(err)
			}
			for _, row := range rows {
				worst = worst.worse(statusOf(row.Verdict))
				count[row.Verdict]++
				if *f == formatJSON {
					p.json(row)
				} else {
					p.frozen(row)
				}
			}
			if cmd.Context().Err() != nil {
				return p.close(context.Cause(cmd.Context()))
			}
		}
		if len(paths) > 1 && *f == formatText {
			p.line("%s: %d frozen, %d refused, %d failed", plural(len(paths), "capture", "captures"), count[freeze.Frozen], count[freeze.Refused], count[freeze.Failed])
		}
		return p.close(worst.err())
	}
	return cmd
}

// statusOf is the exit status of one verdict.
func statusOf(v freeze.Verdict) status {
	switch v {
	case freeze.Frozen, freeze.Accepted, freeze.Verified, written, captured, discovery.Skipped:
		return exitDone
	case freeze.Failed, freeze.Unverifiable:
		return exitFailed
	}
	return exitNegative
}

func (p *printer) frozen(row freeze.Row) {
	if row.Run == nil {
		p.line("%s %s", p.verdict(row.Verdict), row.Capture)
	} else {
		p.line("%s %s  run %d  %s", p.verdict(row.Verdict), row.Capture, *row.Run, *row.RunID)
	}
	if row.Verdict == freeze.Frozen {
		p.line("  artifact  %s  %s  %s", *row.Artifact, spell.Bytes(int64(*row.ArtifactBytes)), string(*row.ArtifactDigest))
		p.line("  envelope  %s", *row.Envelope)
		p.line("  record    %s", *row.Record)
		p.line("  snapshot  %s", originShown(*row.Origin))
	}
	p.findings(row.Findings)
	if row.Verdict == freeze.Frozen {
		p.line("  %s", assayLine(row))
	}
}

// originShown says where an artifact's messages come from.
func originShown(o project.Origin) string {
	if o == project.Built {
		return "built from the request and the streamed text, not emitted"
	}
	return "emitted by the run"
}

// assayLine says whether Assay could take the artifact and, if not, why.
func assayLine(row freeze.Row) string {
	switch {
	case row.Profiles.Assay && *row.Origin == project.Built:
		return "Assay could take this artifact as a receipt (p20export assay --receipt), which says that its snapshot was built."
	case row.Profiles.Assay:
		return "Assay could take this artifact."
	}
	var reasons []string
	for _, f := range row.Assay {
		if f.Severity == finding.Error {
			reasons = append(reasons, f.Message)
		}
	}
	const shown = 3
	if more := len(reasons) - shown; more > 0 {
		reasons = append(reasons[:shown], "and "+plural(more, "more reason", "more reasons"))
	}
	return "Assay could not take this artifact: " + strings.Join(reasons, "; ") + "."
}

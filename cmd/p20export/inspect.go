package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/spell"
	"github.com/p20export/p20export/project/freeze"
)

func newInspect() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect CAPTURE...",
		Short: "Look into captures: runs, event families, snapshots, times",
		Long: `Describe every run in each capture: its ids, its event families with counts, its
MESSAGES_SNAPSHOT events with their positions and messages by role, its times
and where they come from, its terminal event and its size.

A CAPTURE is a capture directory, a plain SSE, NDJSON or JSON array file, or -
for standard input. Events are counted from 0, as in a record; runs and
snapshots from 1. inspect describes and does not judge: what is wrong with a
run is listed, and the exit status is 0 all the same. It is 1 when a capture
holds no run or was altered after it was closed.
` + exitHelp,
		Example: `  p20export inspect captures/one-turn
  p20export inspect --format json captures/* | jq .families
  curl -sN -d @request.json -H 'Content-Type: application/json' URL | p20export inspect -`,
		Args: oneOrMore("CAPTURE"),
	}
	f := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		p := newPrinter(cmd.OutOrStdout())
		worst := status(exitDone)
		for _, path := range paths {
			progress, show := newReading(cmd.ErrOrStderr(), path)
			rows := freeze.Inspect(cmd.Context(), path, show)
			progress.end()
			if *f == formatText {
				p.source(rows[0])
			}
			for _, row := range rows {
				switch {
				case row.Failed:
					worst = worst.worse(exitFailed)
				case row.Negative:
					worst = worst.worse(exitNegative)
				}
				if *f == formatJSON {
					p.json(row)
				} else {
					p.inspected(row)
				}
			}
			if cmd.Context().Err() != nil {
				return p.close(context.Cause(cmd.Context()))
			}
		}
		return p.close(worst.err())
	}
	return cmd
}

// source says what a capture is, once for all its runs.
func (p *printer) source(row freeze.InspectRow) {
	p.line("%s", row.Capture)
	if row.Source.Digest == "" {
		return
	}
	if m := row.Source.Manifest; m != nil && m.Source.URL != "" {
		p.line("  source    %s %s, status %d, %s", m.Source.Method, m.Source.URL, m.Source.Status, m.Source.ContentType)
	}
	p.line("  response  %s, framing %s, %s", spell.Bytes(row.Source.Bytes), string(row.Source.Framing), string(row.Source.Digest))
	if m := row.Source.Manifest; m != nil {
		for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
			p.line("  label     %s=%s", key, m.Labels[key])
		}
	}
}

func (p *printer) inspected(row freeze.InspectRow) {
	if row.Run != nil {
		p.line("run %d", *row.Run)
		p.line("  thread    %s", text(row.ThreadID))
		p.line("  run       %s", text(row.RunID))
		if row.ParentRunID != nil {
			p.line("  parent    %s", *row.ParentRunID)
		}
		p.line("  events    %d in %s: %s", row.Events, spell.Bytes(row.Bytes), counts(*row.Families))
		for _, s := range row.Snapshots {
			p.line("  snapshot  event %d, %s: %s", s.Index, plural(s.Messages, "message", "messages"), counts(s.Roles))
		}
		if len(row.Snapshots) == 0 {
			p.line("  snapshot  none")
		}
		p.line("  times     %s", times(row))
		p.line("  terminal  %s", text(row.Terminal))
	}
	p.findings(row.Findings)
}

func times(row freeze.InspectRow) string {
	if row.StartedAt == nil {
		return "none: no event timestamp that can be used, and no arrival times"
	}
	s := "started " + *row.StartedAt
	if row.FinishedAt != nil {
		s += ", finished " + *row.FinishedAt
	}
	return s + fmt.Sprintf(" (source: %s)", *row.TimeSource)
}

// counts spells counted names: "RUN_STARTED 1, TEXT_MESSAGE_CONTENT 3".
func counts(f envelope.Families) string {
	var parts []string
	for name, n := range f.All {
		parts = append(parts, fmt.Sprintf("%s %d", name, n))
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func text(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}

package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/discovery/report"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/spell"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

func newReport() *cobra.Command {
	var (
		out, run string
		fl       projecting
	)
	cmd := &cobra.Command{
		Use:   "report CAPTURE... -o FILE.html",
		Short: "Make one HTML page to look at captures",
		Long: `Make one self-contained HTML page of the runs of each CAPTURE: what happened, what
each projection makes of it, the artifact, the three events behind it with every
omission at its place, the raw events with their times of arrival, findings, sizes
and digests. The page loads nothing and works from a file; several runs get an
index.

What it says of a run is what freeze does with it, under the projection named, or
else under the first of emitted-snapshot, emitted-snapshot-text and folded-stream
that freezes it. A refused run is shown with every reason: the page judges nothing,
freeze does. Of a run with several snapshots, of which none was chosen, it also says
what emitted-snapshot-text makes of the last.

The page holds the raw events, which can say more than an artifact does: prompts,
arguments of tools, state. Pass it on only to those who may see the captures. It is
bounded however large a capture is: of an event in the timeline it shows up to
64 KiB, of all of them 8 MiB and 100,000 events, and it says what it leaves out.

A capture that does not count, such as one that is unfinished or was altered, is
shown as refused. When one cannot be read at all, because it is not there or a disk
fails, no page is written, not even of the others. A capture is read several times,
so - is not taken; capture --from - keeps what comes on standard input.

The same captures make the same bytes. A file that exists is never overwritten: the
same bytes count as done, others are an error.

Exit status: 0 the page is written, whatever it shows; 2 the command line is wrong;
3 it could not be done; 130 or 143 interrupted.`,
		Example: `  p20export report captures/one-turn -o one-turn.html
  p20export report captures/* -o captures.html
  p20export report run.sse -o run.html --started-at 2026-01-31T12:00:00Z
  p20export report captures/two-runs -o second.html --run '#2' --projection folded-stream`,
		Args: oneOrMore("CAPTURE"),
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "output", "o", "", "file the page goes into (required)")
	flags.StringVar(&run, "run", "", "show one run: its id, or '#2' for the second")
	fl.addFlags(cmd, "", "the projection the page is about (default: the first that freezes)")
	f := addFormat(cmd)
	if err := cmd.MarkFlagRequired("output"); err != nil {
		panic(err)
	}
	if err := cmd.MarkFlagFilename("output", "html"); err != nil {
		panic(err)
	}
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if slices.Contains(paths, "-") {
			return errors.New("a capture is read several times, and standard input can be read once; keep it first with capture --from -")
		}
		if out == "-" {
			return errors.New("a report is a file; give -o NAME.html")
		}
		s := report.Settings{Run: run, Tool: tool(), Out: out}
		var err error
		if s.Settings, err = fl.settings(); err != nil {
			return err
		}
		dir, name := filepath.Split(out)
		if name == "" {
			return errors.New("-o names no file")
		}
		if err := freeze.CheckOutput("-o", filepath.Clean(dir)); err != nil {
			return err
		}
		var last *progress
		s.Reading = func(path string) freeze.Progress {
			if last != nil {
				last.end()
			}
			var show freeze.Progress
			last, show = newReading(cmd.ErrOrStderr(), path)
			return show
		}
		rows, err := report.Write(cmd.Context(), paths, s)
		if last != nil {
			last.end()
		}
		p := newPrinter(cmd.OutOrStdout())
		if err != nil {
			return p.close(err)
		}
		for _, row := range rows {
			if *f == formatJSON {
				p.json(row)
			} else {
				p.reported(row)
			}
		}
		if cmd.Context().Err() != nil {
			return p.close(context.Cause(cmd.Context()))
		}
		if rows[0].Report == nil {
			return p.close(status(exitFailed))
		}
		if *f == formatText {
			p.line("%s %s  %s  %s", p.verdict(written), *rows[0].Report, spell.Bytes(*rows[0].ReportBytes), string(*rows[0].ReportDigest))
		}
		return p.close(nil)
	}
	return cmd
}

// reported writes what a page shows of one run, in a line, or why there is none.
func (p *printer) reported(row report.Row) {
	switch {
	case row.Report == nil && row.Capture == nil:
		p.line("%s no page", p.verdict(row.Verdict))
		p.findings(row.Findings)
	case row.Report == nil:
		p.line("%s %s", p.verdict(row.Verdict), *row.Capture)
		p.findings(row.Findings)
	case row.Run == nil:
		p.line("%s %s", p.verdict(row.Verdict), *row.Capture)
		p.reasons(row.Findings)
	default:
		p.line("%s %s  run %d  %s  %s", p.verdict(row.Verdict), *row.Capture, *row.Run, text(row.RunID), string(*row.Projection))
		if row.Verdict == freeze.Refused {
			p.reasons(row.Findings)
		}
		if row.Last {
			p.line("  next    --projection %s --snapshot %s freezes it", string(project.EmittedSnapshotText), string(project.Last))
		}
	}
}

// shownReasons is how many reasons stand below a refused run; the page has all.
const shownReasons = 3

// reasons writes the first errors of a refused run, and after them what it was
// warned of, with what to do about each.
func (p *printer) reasons(all []finding.Finding) {
	var list []finding.Finding
	for _, s := range []finding.Severity{finding.Error, finding.Warning} {
		for _, f := range all {
			if f.Severity == s {
				list = append(list, f)
			}
		}
	}
	p.findings(list[:min(shownReasons, len(list))])
	if more := len(list) - shownReasons; more > 0 {
		p.line("  %-7s %s on the page", "…", plural(more, "more is", "more are"))
	}
}

package main

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/discovery/report"
	"github.com/p20export/p20export/project/scan"
)

func newReport() *cobra.Command {
	var (
		out, run, redact string
		force            bool
		fl               projecting
	)
	cmd := &cobra.Command{
		Use:   "report CAPTURE... -o FILE.html",
		Short: "Make one HTML page to look at captures",
		Long: `Make one self-contained HTML page of the runs of each CAPTURE. It says first
what was kept of a run, what was left out and why, and whether the capture is
intact. Then come the conversation, with each message that was left out at its
place, and the run as a picture. Folded below are the raw events with their
times of arrival, the three events behind the artifact with every omission at
its place, findings, sizes and digests. The page loads nothing and works from a
file. Several runs get an index.

Give captures, or directories: a directory that is not a capture stands for the
captures in it and below it, closed or not. Symbolic links there are not
followed.

What the page says of a run is what freeze does with it, under the projection
named, or else under the first of emitted-snapshot, emitted-snapshot-text and
folded-stream that freezes it. A refused run is shown with every reason. Of a
run with several snapshots, of which none was chosen, it also says what
emitted-snapshot-text makes of the last. The words for runs are those of
compare: exact, reduced, chosen, incomplete, built and refused.

The page holds the raw events, which can say more than an artifact does:
prompts, arguments of tools, state. Pass it on only to those who may see the
captures, or make it with --redact text. Then every text, number and boolean of
a capture is replaced, a text by its length; so are ids, unknown keys, labels
and the URL. What stays: the types, roles and keys of AG-UI, counts, sizes,
times, findings, and the names of the captures. Such a page has no digests,
since a short text could be guessed from one.

A page is bounded however large a capture is: of an event in the timeline it
shows up to 64 KiB, of all of them 8 MiB and 100,000 events, and it says what it
leaves out.

A capture that does not count, such as one that is unfinished or was altered, is
shown as refused. Of a failed request the page shows the body that came, up to
64 KiB. When a capture cannot be read at all, because it is not there or a disk
fails, no page is written, not even of the others. A page names captures by
their files, so - is not taken; capture --from - keeps what comes on standard
input.

The same captures make the same bytes. If FILE exists with the same bytes, there
is nothing to do. If it has other bytes it is left as it is, and the exit status
is 3; --force replaces it in one step, but only if it is a page of report.

Exit status: 0 the page is written, whatever it shows; 2 the command line is
wrong, or the Go runtime failed; 3 it could not be done; 129, 130 or 143 ended
by SIGHUP, SIGINT or SIGTERM.`,
		Example: `  p20export report captures/one-turn -o one-turn.html
  p20export report captures -o captures.html --force
  p20export report captures/failed -o issue.html --redact text
  p20export report run.sse -o run.html --started-at 2026-01-31T12:00:00Z
  p20export report captures/two-runs -o second.html --run '#2' \
      --projection folded-stream`,
		Args: cli.OneOrMore("CAPTURE"),
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "output", "o", "", "`FILE` the page goes into (required)")
	flags.BoolVar(&force, "force", false, "replace FILE if it is a page of report; any other file is never replaced")
	flags.StringVar(&redact, "redact", string(report.RedactNone), "what of the captures' content to replace by its length, `none|text`")
	cli.Complete(cmd, "redact", report.Redactions()...)
	flags.StringVar(&run, "run", "", "show one `RUN`: its id, or '#2' for the second")
	fl.addFlags(cmd, "", "`PROJECTION` the page is about (default: the first that freezes)")
	f := cli.AddFormat(cmd)
	cli.Require(cmd, "output")
	if err := cmd.MarkFlagFilename("output", "html"); err != nil {
		panic(err)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(args, "-") {
			return errors.New("a page names captures by their files, and standard input can be read once; keep it first with capture --from -")
		}
		if out == "-" {
			return errors.New("a report is a file; give -o NAME.html")
		}
		s := report.Settings{Run: scan.RunSelector(run), Tool: build.Tool(), Out: out, Force: force}
		var err error
		if s.Settings, err = fl.settings(); err != nil {
			return err
		}
		if s.Redact, err = report.ParseRedaction(redact); err != nil {
			return err
		}
		if _, name := filepath.Split(out); name == "" {
			return errors.New("-o names no file")
		}
		if err := checkOutputFile("-o", out); err != nil {
			return err
		}
		paths, err := findPaths(cmd, args)
		if err != nil {
			return err
		}
		if err := fl.checkTimes(len(paths)); err != nil {
			return err
		}
		last := new(render.Progress)
		s.Reading = func(path string) (show scan.Progress) {
			last.End()
			last, show = render.NewReading(cmd.ErrOrStderr(), path)
			return show
		}
		rows, err := report.Write(cmd.Context(), paths, s)
		last.End()
		p := newPrinter(cmd, f)
		if err != nil {
			return p.Close(err)
		}
		for _, row := range rows {
			p.Reported(row)
		}
		if err := interrupted(cmd); err != nil {
			return p.Close(err)
		}
		if rows[0].Report == nil {
			return p.Close(render.Failed)
		}
		p.ReportWritten(rows[0])
		return p.Close(nil)
	}
	return cmd
}

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/discovery/report"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/project/verify"
)

func newReport() *cobra.Command {
	var (
		out, run, redact string
		force            bool
		fl               projectionFlags
		frozen           string
		trust            trustFlags
	)
	cmd := &cobra.Command{
		Use:   "report CAPTURE... -o FILE.html",
		Short: "Make one HTML page to look at captures",
		Long: `Make one self-contained HTML page of the runs of each CAPTURE. For each run the
page shows first what was kept, what was left out and why, and whether the
capture is intact. The conversation follows, with a row at the place of each
message that was left out, and then a picture of the run over time. At the end
are the raw events with their arrival times, the three events behind the
artifact, the findings, sizes and digests. They are folded, except for the raw
events of a single short run. Several runs get an index. The page loads nothing
and works offline.

A directory that is not a capture means all captures in it and below it,
finished or not. Symbolic links in it are not followed.

The page shows what freeze does with each run, under the given projection or
else the first of emitted-snapshot, emitted-snapshot-text and folded-stream that
freezes the run; --snapshot alone chooses emitted-snapshot-text. If the run is
refused, it shows every reason. For a run with several snapshots it also says
whether the last one can be frozen. The verdicts are those of compare.

The page contains the raw events: prompts, arguments of tools, state. Share it
only with people who may see the captures, or use --redact text. This replaces
each text by its length, and hides numbers, booleans, ids, unknown keys, labels,
the URL and digests (a short text could be guessed from its digest). AG-UI
types, roles, keys and constants, HTTP statuses, common content types, counts,
sizes, times, findings and the names of the captures remain. The same applies to
the output of the command.

With --frozen-in, the records in the directory OUT are verified, and the page
shows for each run whether a record was made from it and verifies. With --trust,
it also shows the state of the record's signature, who signed it and not later
than when, as p20export verify does.

A page has a limited size: up to 64 KiB per event, 8 MiB and 100,000 events in
total, and 64 KiB of the response to a failed request. It states what it does
not show.

An unfinished or altered capture is shown as refused. If a capture cannot be
read, no page is written. Standard input is not accepted; save it first with
p20export capture --from -.

The same captures produce the same bytes. If FILE exists and is different, it is
not changed, and the exit status is 3. --force replaces it, but only if it is a
page that report wrote. A capture is never replaced.
` + exitHelp("the page was written, even if it shows refused runs", "", "no page was written"),
		Example: `  p20export report captures/one-turn -o one-turn.html
  p20export report captures -o captures.html --force
  p20export report captures/failed -o issue.html --redact text
  p20export report run.sse -o run.html --started-at 2026-01-31T12:00:00Z
  p20export report captures/two-runs -o second.html --run '#2' \
      --projection folded-stream`,
		Args: cli.OneOrMore("CAPTURE"),
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "output", "o", "", "`FILE` to write the page to (required)")
	flags.BoolVar(&force, "force", false, "replace FILE if it is a page that report wrote; other files are never replaced")
	flags.StringVar(&redact, "redact", string(report.RedactNone), "hide the content of the captures: `none|text`")
	cli.Complete(cmd, "redact", report.Redactions()...)
	flags.StringVar(&run, "run", "", "show one `RUN`: its id, or '#2' for the second")
	fl.addFlags(cmd, "", "`PROJECTION` that the page shows (default: the first that freezes)")
	flags.StringVar(&frozen, "frozen-in", "", "show whether the runs have records in the directory `OUT` that verify")
	trust.add(cmd)
	cli.CompleteBy(cmd, "frozen-in", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	f := cli.AddFormat(cmd)
	cli.Require(cmd, "output")
	if err := cmd.MarkFlagFilename("output", "html"); err != nil {
		panic(err)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(args, "-") {
			return errors.New("standard input is not accepted; save it first with: p20export capture --from - -o DIR")
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
			return fmt.Errorf("-o %s is a directory; give the name of a file, such as page.html in it", finding.Quote(out))
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
		if s.Frozen, err = verifiedIn(cmd, frozen, paths, &trust); err != nil {
			return err
		}
		last := new(render.Progress)
		s.Reading = func(path string) (show scan.Progress) {
			last.End()
			last, show = render.NewReadingProgress(cmd.ErrOrStderr(), path)
			return show
		}
		s.Writing = func(bytes int64) { last.SetWritingBytes(out, bytes) }
		rows, err := report.Write(cmd.Context(), paths, s)
		last.End()
		p := newPrinter(cmd, f)
		if err != nil {
			return p.Close(err)
		}
		for _, row := range rows {
			p.ReportRow(row)
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

// verifiedIn verifies the records in a directory with the captures at paths. It returns nil
// if no directory is given.
func verifiedIn(cmd *cobra.Command, dir string, paths []string, fl *trustFlags) (report.Frozen, error) {
	switch changed := cmd.Flags().Changed; {
	case changed("frozen-in") && dir == "":
		return nil, errors.New("--frozen-in is empty")
	case changed("trust") && dir == "":
		return nil, errors.New("--trust needs --frozen-in OUT, which has the records")
	case dir == "":
		return nil, nil
	case !isDirectory(dir):
		return nil, fmt.Errorf("--frozen-in %s is not a directory", finding.Quote(dir))
	}
	trust, err := fl.read()
	if err != nil {
		return nil, err
	}
	frozen := make(report.Frozen)
	for row := range verify.Tree(cmd.Context(), dir, verify.TreeSettings{Captures: paths, Signed: &sign.Policy{Trust: trust}}) {
		if row.Record == nil || row.Source == (record.Source{}) {
			continue // of no run
		}
		frozen[row.Source] = append(frozen[row.Source], report.Verified{Record: *row.Record, Verdict: row.Verdict, Signature: row.Signature})
	}
	return frozen, nil
}

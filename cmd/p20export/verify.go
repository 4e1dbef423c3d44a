package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/importer"
)

func newVerify() *cobra.Command {
	var (
		record   string
		captures []string
		strict   bool
	)
	cmd := &cobra.Command{
		Use:   "verify ARTIFACT|DIR [--record RECORD] [--capture CAPTURE]",
		Short: "Repeat a projection from the raw capture and compare",
		Long: `Repeat the projection a RECORD names from the raw CAPTURE and compare artifact,
envelope and record byte for byte (tool version aside). The envelope is looked
for beside the artifact, and so is the record when none is given.

Verdicts:
  verified      every byte is what the capture projects to
  differs       something is not (exit status 1)
  unverifiable  it cannot be told here: the record names a projection or version
                this program does not have, or the capture given lacks its
                manifest and arrival times (exit status 3)
  error         a file could not be read (exit status 3)

Times given by an operator are taken from the record and reported as such.

With a DIR every record in it and below it is verified, with the artifact and
envelope beside it that it names. Its capture may lie anywhere in DIR: a capture
directory is found by the digest of its capture.json, a plain file (which no
artifact, envelope or record is) by its size and digest. --capture gives more
captures, or directories of them, and may be repeated; what is there serves and
is not judged. Of several that are the same the first that is whole serves; the
row names it. Further verdicts, and what they are of:
  unverifiable  a record whose artifact or capture is not there; an artifact or
                envelope that no record beside it names (exit status 3)
  differs       a capture whose files are not what its capture.json says (1)
  whole         a capture that is, and from which no record here was made, or
                which is the same as one that was used (exit status 0)
  unexplained   a capture without its capture.json, and every file that is no
                record's and no whole capture's, such as one in a capture
                directory that capture.json does not list. Exit status 0 with a
                warning; 1 with --strict

Names that begin with a dot are names like any other. Symbolic links in DIR are
not followed, and pipes, sockets and devices not opened: they are unexplained,
and an artifact or envelope that is one is unverifiable. Empty directories count
as nothing. A DIR without any artifact, envelope, record or capture is
unverifiable. A directory that cannot be read, or more than 100,000 files and
directories in one tree, is an error (exit status 3). A JSON row has the keys of
a single one, null where there is nothing, and file for what is none of those.
` + exitHelp,
		Example: `  p20export verify frozen/one-turn.artifact.json \
      --record frozen/one-turn.record.json --capture captures/one-turn
  p20export verify evidence --strict
  p20export verify frozen --capture captures
  p20export verify evidence --format json | jq 'select(.verdict != "verified")'`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&record, "record", "", "the record of one artifact (default: the one beside it)")
	cmd.Flags().StringArrayVar(&captures, "capture", nil, "the capture it was made from (required for one artifact);\nfor a DIR more captures, or a directory of them (repeatable)")
	cmd.Flags().BoolVar(&strict, "strict", false, "with a DIR: anything unexplained in it is an error")
	f := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
			if cmd.Flags().Changed("record") {
				return errors.New("--record goes with one artifact; in a directory records are found")
			}
			if slices.Contains(captures, "-") {
				return errors.New("--capture - goes with one artifact")
			}
			return verifyTree(cmd, args[0], freeze.TreeSettings{Captures: captures, Strict: strict}, *f)
		}
		switch {
		case strict:
			return errors.New("--strict goes with a directory")
		case strings.HasSuffix(args[0], importer.BundleSuffix):
			return fmt.Errorf("%q is named like a bundle; p20export assay verify verifies those", args[0])
		case len(captures) == 0:
			return errors.New(`required flag(s) "capture" not set`)
		case len(captures) > 1:
			return errors.New("one artifact has one --capture")
		}
		return verifyOne(cmd, args[0], record, captures[0], *f)
	}
	return cmd
}

// verifyOne verifies one artifact.
func verifyOne(cmd *cobra.Command, artifact, record, source string, f format) error {
	if record == "" {
		record = freeze.RecordPath(artifact)
	}
	progress, show := newReading(cmd.ErrOrStderr(), source)
	row := freeze.Verify(cmd.Context(), artifact, record, source, show)
	progress.end()
	p := newPrinter(cmd.OutOrStdout())
	if f == formatJSON {
		p.json(row)
	} else {
		p.verified(row)
	}
	return p.close(statusOf(row.Verdict).err())
}

// verifyTree verifies a directory. Each row is written when it is known.
func verifyTree(cmd *cobra.Command, dir string, s freeze.TreeSettings, f format) error {
	p := newPrinter(cmd.OutOrStdout())
	worst := status(exitDone)
	count := make(map[freeze.Verdict]int)
	progress, show := newReading(cmd.ErrOrStderr(), dir)
	s.Progress = func(read int64) { show(read) }
	for row := range freeze.VerifyTree(cmd.Context(), dir, s) {
		progress.end()
		worst = worst.worse(statusOfRow(row))
		count[row.Verdict]++
		if f == formatJSON {
			p.json(row)
		} else {
			p.treeRow(row)
		}
		if p.w.Flush() != nil {
			return p.close(nil)
		}
		progress, show = newReading(cmd.ErrOrStderr(), dir)
	}
	progress.end()
	if cmd.Context().Err() != nil {
		return p.close(context.Cause(cmd.Context()))
	}
	if f == formatText {
		p.line("%s: %s", dir, verdictCounts(count, freeze.Verified, freeze.Differs, freeze.Unverifiable, freeze.Failed, freeze.Whole, freeze.Unexplained))
	}
	return p.close(worst.err())
}

// statusOfRow is the exit status of one row of a directory.
func statusOfRow(row freeze.TreeRow) status {
	switch {
	case row.Verdict == freeze.Whole, row.Verdict == freeze.Unexplained && !finding.Failed(row.Findings):
		return exitDone
	}
	return statusOf(row.Verdict)
}

// verdictCounts spells how often verdicts were given, in the order of theirs;
// those that were not are left out, but for the first.
func verdictCounts[V ~string](count map[V]int, verdicts ...V) string {
	var parts []string
	for i, v := range verdicts {
		if n := count[v]; n > 0 || i == 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(parts, ", ")
}

func (p *printer) verified(row freeze.VerifyRow) {
	p.line("%s %s", p.verdict(row.Verdict), row.Artifact)
	p.line("  record    %s", row.Record)
	p.line("  capture   %s", row.Capture)
	p.made(row.Origin, row.TimeSource)
	p.findings(row.Findings)
}

// treeRow writes a row of a directory: first what it is about, then the rest of
// what it names.
func (p *printer) treeRow(row freeze.TreeRow) {
	labels := [...]string{"", "  record    ", "  capture   ", ""}
	about := true
	for i, path := range [...]*string{row.Artifact, row.Record, row.Capture, row.File} {
		switch {
		case path == nil:
		case about:
			p.line("%s %s", p.treeVerdict(row), *path)
			about = false
		default:
			p.line("%s%s", painted(labels[i]), *path)
		}
	}
	p.made(row.Origin, row.TimeSource)
	p.findings(row.Findings)
}

// treeVerdict returns the verdict of a row in its colour.
func (p *printer) treeVerdict(row freeze.TreeRow) painted {
	colour := ""
	switch {
	case row.Verdict == freeze.Whole:
		colour = green
	case statusOfRow(row) == exitDone && row.Verdict == freeze.Unexplained:
		colour = yellow
	default:
		return p.verdict(row.Verdict)
	}
	return p.paint(colour, fmt.Sprintf("%-9s", string(row.Verdict)))
}

// made says how a verified artifact was made.
func (p *printer) made(origin *project.Origin, times *project.TimeSource) {
	if origin != nil {
		p.line("  snapshot  %s", originShown(*origin))
	}
	if times != nil {
		p.line("  times     %s", string(*times))
	}
}

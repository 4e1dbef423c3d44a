package main

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/project/verify"
)

func newVerify() *cobra.Command {
	var (
		stated   string
		captures []string
		strict   bool
		only     bool
	)
	cmd := &cobra.Command{
		Use:   "verify ARTIFACT|DIR [--record RECORD] [--capture CAPTURE]",
		Short: "Check artifacts against the captures they were made from",
		Long: `Check that an artifact is what its capture gives: repeat the projection that its
RECORD names from the raw CAPTURE, and compare artifact, envelope and record
byte for byte (tool version aside). The envelope is looked for beside the
artifact, and so is the record when none is given. Without
--capture the capture is looked for in the artifact's directory and below it, by
the digest that the record states; so it is where --capture gives a directory of
captures. --capture - is standard input.

Verdicts:
  verified      every byte is what the capture projects to
  differs       something is not (exit status 1)
  unverifiable  this cannot be decided: there is no record; the record names a
                projection or version this program does not have; no capture
                with the digest that the record states was found; or the capture
                given lacks its capture.json (exit status 3)
  error         a file could not be read (exit status 3)

Times given by an operator are taken from the record and reported as such.

With a DIR every record in it and below it is verified, with the artifact and
envelope beside it that it names. Its capture may lie anywhere in DIR: a capture
directory is found by the digest of its capture.json, a plain file (which no
artifact, envelope or record is) by its size and digest. --capture gives more
captures, or directories of them, and may be repeated; captures there are
used, not judged. Of several that are the same the first whole one is used; the
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
as nothing. A DIR in which no record is verified is unverifiable, even where
nothing in it is at fault.

With --captures-only captures alone are looked for, and each is compared with
its capture.json: that is the check of a directory that holds nothing else.
Every other file is unexplained then, and a DIR without a whole capture is
unverifiable.

A directory that cannot be read, or more than 100,000 files and directories in
one tree, is an error (exit status 3). A JSON row has the keys of a single one,
null where there is nothing, and file for what is none of those.
` + exitHelp,
		Example: `  p20export verify frozen/one-turn.artifact.json \
      --record frozen/one-turn.record.json --capture captures/one-turn
  p20export verify evidence --strict
  p20export verify frozen --capture captures
  p20export verify captures --captures-only
  p20export verify evidence --format json | jq 'select(.verdict != "verified")'`,
		Args: cli.One("ARTIFACT or DIR"),
	}
	cmd.Flags().StringVar(&stated, "record", "", "the `RECORD` of one artifact (default: the one beside it)")
	cmd.Flags().StringArrayVar(&captures, "capture", nil, "the `CAPTURE` it was made from, or a directory that holds it (default: the artifact's directory); for a DIR more captures (repeatable)")
	cmd.Flags().BoolVar(&strict, "strict", false, "with a DIR: anything unexplained in it is an error")
	cmd.Flags().BoolVar(&only, "captures-only", false, "with a DIR: check the captures in it, and no records")
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(captures, "") {
			return errors.New("--capture is empty")
		}
		for _, path := range captures {
			if err := checkURL(path); err != nil {
				return err
			}
		}
		if err := checkFiles(args[0], stated); err != nil {
			return err
		}
		if err := checkNoBundles(args[0]); err != nil {
			return err
		}
		if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
			if cmd.Flags().Changed("record") {
				return errors.New("--record goes with one artifact; in a directory records are found")
			}
			if slices.Contains(captures, "-") {
				return errors.New("--capture - goes with one artifact")
			}
			if only && captures != nil {
				return errors.New("--capture goes with records, and with --captures-only none are verified")
			}
			return verifyTree(cmd, args[0], verify.TreeSettings{Captures: captures, CapturesOnly: only, Strict: strict}, f)
		}
		switch {
		case strict:
			return errors.New("--strict goes with a directory")
		case only:
			return errors.New("--captures-only goes with a directory")
		case len(captures) > 1:
			return errors.New("one artifact has one --capture")
		}
		from := strings.Join(captures, "")
		var row verify.Row
		cli.Reading(cmd, cmp.Or(from, args[0]), func(progress func(int64)) {
			row = verify.File(cmd.Context(), args[0], stated, from, progress)
		})
		p := newPrinter(cmd, f)
		p.Verification(row)
		return p.Close(render.StatusOf(row.Verdict).Err())
	}
	return cmd
}

// verifyTree verifies a directory. Each row is written when it is known.
func verifyTree(cmd *cobra.Command, dir string, s verify.TreeSettings, f *render.Format) error {
	p := newPrinter(cmd, f)
	var tally render.Tally
	shown, show := render.NewReading(cmd.ErrOrStderr(), dir)
	s.Progress = func(read int64) { show(read) }
	for row := range verify.Tree(cmd.Context(), dir, s) {
		shown.End()
		tally.AddTreeEntry(row)
		p.TreeEntry(row)
		if !p.Flush() {
			return p.Close(nil)
		}
		shown, show = render.NewReading(cmd.ErrOrStderr(), dir)
	}
	shown.End()
	if err := interrupted(cmd); err != nil {
		return p.Close(err)
	}
	p.TreeSummary(dir, s.CapturesOnly, &tally)
	return p.Close(tally.Status.Err())
}

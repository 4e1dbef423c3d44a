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
		Long: `Check that an artifact is exactly what its capture produces: repeat the
projection that its RECORD names on the raw CAPTURE, and compare artifact,
envelope and record byte for byte, except for the tool version.

The envelope is looked for next to the artifact, and so is the record unless
--record names it. Without --capture, the capture is searched for in the
artifact's directory and below it, by the digest in the record. If --capture
names a directory of captures, the search happens there. --capture - is standard
input.

Verdicts:
  verified      every byte is what the capture produces
  differs       something is not (exit status 1)
  unverifiable  the check is not possible (exit status 3): there is no record;
                the record names a projection or version that this program does
                not have; no capture with the digest in the record was found; or
                the given capture has no capture.json
  error         a file could not be read (exit status 3)

Times that an operator gave are taken from the record and reported as such.

With a DIR, every record in it and below it is verified, together with the
artifact and the envelope next to it that it names. Its capture may be anywhere
in DIR: a capture directory is found by the digest of its capture.json, a plain
file (except artifacts, envelopes and records) by its size and digest. --capture
adds captures, or directories of captures, and may be repeated. Added captures
are only looked up and get no verdict. If several captures match, the first
intact one is used, and the row names it. Further verdicts:
  unverifiable  a record without its artifact or capture; an artifact or
                envelope that no record next to it names (exit status 3)
  differs       a capture whose files do not match its capture.json (exit status
                1)
  whole         an intact capture without a record here, or a second copy of a
                capture that was used (exit status 0)
  unexplained   a capture without its capture.json, and every file that belongs
                to no record and to no intact capture, such as a file in a
                capture directory that capture.json does not list (a warning,
                exit status 0; with --strict an error, exit status 1)

Names that begin with a dot are treated like any others. Symbolic links in DIR
are not followed, and pipes, sockets and devices are not opened: they are
unexplained, or unverifiable if they have the name of an artifact or envelope.
Empty directories are ignored. A DIR in which no record is verified is
unverifiable, even if nothing in it is wrong.

With --captures-only, records are ignored and each capture is compared with its
capture.json. Use it for a directory that contains only captures. All other
files are then unexplained, and a DIR without an intact capture is unverifiable.

It is an error (exit status 3) if a directory cannot be read, or if a tree
contains more than 1,000,000 files and directories. In JSON, a row has the same
keys as for a single artifact, null where they do not apply, and the key file
for any other file.
` + exitHelp("nothing differs, and everything was verifiable", "something differs, or with --strict a file is unexplained", "something is unverifiable or could not be read"),
		Example: `  p20export verify frozen/one-turn.artifact.json \
      --record frozen/one-turn.record.json --capture captures/one-turn
  p20export verify evidence --strict
  p20export verify frozen --capture captures
  p20export verify captures --captures-only
  p20export verify evidence --format json | jq 'select(.verdict != "verified")'`,
		Args: cli.One("ARTIFACT or DIR"),
	}
	cmd.Flags().StringVar(&stated, "record", "", "the `RECORD` of a single artifact (default: the one next to it)")
	cmd.Flags().StringArrayVar(&captures, "capture", nil, "the `CAPTURE` it was made from, or a directory that contains it (default: the artifact's directory); with a DIR: more captures (repeatable)")
	cmd.Flags().BoolVar(&strict, "strict", false, "with a DIR: treat unexplained files as errors")
	cmd.Flags().BoolVar(&only, "captures-only", false, "with a DIR: check only the captures in it")
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
				return errors.New("--record is only for a single artifact; in a directory the records are found by name")
			}
			if slices.Contains(captures, "-") {
				return errors.New("--capture - is only for a single artifact")
			}
			if only && captures != nil {
				return errors.New("--capture cannot be used with --captures-only, which verifies no records")
			}
			return verifyTree(cmd, args[0], verify.TreeSettings{Captures: captures, CapturesOnly: only, Strict: strict}, f)
		}
		switch {
		case strict:
			return errors.New("--strict is only for a directory")
		case only:
			return errors.New("--captures-only is only for a directory")
		case len(captures) > 1:
			return errors.New("give only one --capture for a single artifact")
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

// verifyTree verifies a directory. It prints each row as soon as it is known.
func verifyTree(cmd *cobra.Command, dir string, s verify.TreeSettings, f *render.Format) error {
	p := newPrinter(cmd, f)
	var tally render.Tally
	shown, show := render.NewReadingProgress(cmd.ErrOrStderr(), dir)
	s.Progress = func(read int64) { show(read) }
	for row := range verify.Tree(cmd.Context(), dir, s) {
		shown.End()
		tally.AddTreeEntry(row)
		p.TreeEntry(row)
		if !p.Flush() {
			return p.Close(nil)
		}
		shown, show = render.NewReadingProgress(cmd.ErrOrStderr(), dir)
	}
	shown.End()
	if err := interrupted(cmd); err != nil {
		return p.Close(err)
	}
	p.TreeSummary(dir, s.CapturesOnly, &tally)
	return p.Close(tally.Status.Err())
}

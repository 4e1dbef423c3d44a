package main

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/verify"
)

func newVerify() *cobra.Command {
	var (
		stated   string
		captures []string
		strict   bool
		only     bool
		signed   policyFlags
	)
	cmd := &cobra.Command{
		Use:   "verify ARTIFACT|DIR [--record RECORD] [--capture CAPTURE] | verify --from-list FILE [--capture CAPTURE] | verify --from-tar FILE",
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

With --trust, the signature of each record is judged by the given public keys,
and its time-stamp by the certificates of authorities (docs/signatures.md):
  signed        enough trusted keys have signed the record (--threshold)
  unsigned      there is no signature
  untrusted     there are signatures, but too few by trusted keys
  broken        a signature that names a trusted key is not valid, or a
                signature or time-stamp is not of its record
Keys that are trusted for a period are judged as of the time-stamp, otherwise as
of --at, otherwise as of now. Two more verdicts are about artifacts that verify:
  broken        the signature is (exit status 1). Without --trust, too: a file
                that is not of its record is found without keys
  unsigned      --require-signature, --threshold or --require-timestamp is not
                met (exit status 1)

With --captures-only, records are ignored and each capture is compared with its
capture.json, and its times of arrival with its response. Use it for a directory
that contains only captures, such as that of a proxy, which may be running. All
other files are then unexplained, and a DIR without an intact capture is
unverifiable. Responses need not be event streams, or in a format that this
program can read: their bytes are compared.

It is an error (exit status 3) if a directory cannot be read, or if a tree
contains more than 1,000,000 files and directories. In JSON, a row has the same
keys as for a single artifact, null where they do not apply, and the key file
for any other file.

` + cli.BatchHelp("artifacts", "the whole archive is verified like a DIR, and the rows have the names in it") + `

A line of a list is an ARTIFACT or a DIR. With a list, --capture can be given
once.
` + exitHelp("nothing differs, and everything was verifiable", "something differs, or with --strict a file is unexplained", "something is unverifiable or could not be read"),
		Example: `  p20export verify frozen/one-turn.artifact.json \
      --record frozen/one-turn.record.json --capture captures/one-turn
  p20export verify evidence --strict
  p20export verify frozen --capture captures
  p20export verify frozen --trust release-2026.pub.pem --require-signature
  p20export verify captures --captures-only
  p20export verify --from-list artifacts.txt --capture captures
  p20export verify --from-tar evidence.tar.gz
  p20export verify evidence --format json | jq 'select(.verdict != "verified")'`,
		Args: cli.One("ARTIFACT or DIR"),
	}
	cmd.Flags().StringVar(&stated, "record", "", "the `RECORD` of a single artifact (default: the one next to it)")
	cmd.Flags().StringArrayVar(&captures, "capture", nil, "the `CAPTURE` it was made from, or a directory that contains it (default: the artifact's directory); with a DIR: more captures (repeatable)")
	cmd.Flags().BoolVar(&strict, "strict", false, "with a DIR: treat unexplained files as errors")
	cmd.Flags().BoolVar(&only, "captures-only", false, "with a DIR: check only the captures in it")
	signed.add(cmd)
	f := cli.AddFormat(cmd)
	b := cli.AddBatch(cmd, "artifacts")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(captures, "") {
			return errors.New("--capture is empty")
		}
		for _, path := range captures {
			if err := checkURL(path); err != nil {
				return err
			}
			if isArchive(path) {
				return fmt.Errorf("--capture %s has the name of an archive; put the files and the captures into one archive, and verify it with --from-tar", finding.Quote(path))
			}
		}
		if err := checkFiles(append(args, stated)...); err != nil {
			return err
		}
		if err := checkNoBundles(args...); err != nil {
			return err
		}
		policy, err := signed.policy(cmd)
		switch {
		case err != nil:
			return err
		case only && policy.Trust != nil:
			return errors.New("--trust cannot be used with --captures-only, which verifies no records")
		}
		s := verify.TreeSettings{Captures: captures, CapturesOnly: only, Strict: strict, Signed: policy, Jobs: b.Jobs}
		if !b.HasArguments() || isDirectory(args[0]) {
			if cmd.Flags().Changed("record") {
				return errors.New("--record is only for a single artifact; in directories, lists and archives the records are found by name")
			}
			if slices.Contains(captures, "-") {
				return errors.New("--capture - is only for a single artifact")
			}
			if only && captures != nil {
				return errors.New("--capture cannot be used with --captures-only, which verifies no records")
			}
			if b.List != "" && len(captures) > 1 {
				return errors.New("give only one --capture with --from-list; it can be a directory that contains all captures")
			}
			return verifyAll(cmd, b, args, s, f)
		}
		_, missing := os.Lstat(args[0]) // the row says so
		switch {
		case strict && missing == nil:
			return errors.New("--strict is only for a directory")
		case only && missing == nil:
			return errors.New("--captures-only is only for a directory")
		case len(captures) > 1:
			return errors.New("give only one --capture for a single artifact")
		}
		from := strings.Join(captures, "")
		var row verify.Row
		cli.Reading(cmd, cmp.Or(from, args[0]), func(progress func(int64)) {
			row = verify.File(cmd.Context(), args[0], stated, from, policy, progress)
		})
		p := newPrinter(cmd, f)
		p.Verification(row)
		return p.Close(render.StatusOf(row.Verdict).Err())
	}
	return cmd
}

// isDirectory reports whether path is a directory.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// verifyAll verifies a directory, a list or an archive. It prints each row as soon as it
// is known.
func verifyAll(cmd *cobra.Command, b *cli.Batch, args []string, s verify.TreeSettings, f *render.Format) error {
	p := newPrinter(cmd, f)
	v := &treePrinter{Printer: p}
	from, listed := strings.Join(args, ""), func() error { return nil }
	work := func() bool { return v.entries(verify.Tree(cmd.Context(), from, s)) }
	progress := func() (done, total int64) { return 0, v.expected.Load() }
	if !b.HasArguments() {
		file, err := openBatchFile(cmd, b)
		if err != nil {
			return err
		}
		defer file.close()
		from = file.path
		if b.List != "" {
			entries, end := file.entries()
			listed = end
			progress = file.progress
			work = func() bool { return v.listed(verify.List(cmd.Context(), entries, s)) }
		} else {
			debug.SetGCPercent(50) // saves a fifth of the memory for a large archive, and no time is lost
			work = func() bool { return v.entries(verify.Archive(cmd.Context(), file, from, s)) }
		}
	}
	s.Expect = func(rows int) { v.expected.Store(int64(rows)) }
	s.Read = func(bytes int64) { v.progress.Read(bytes) }
	inputs := "artifacts"
	if s.CapturesOnly {
		inputs = "captures"
	}
	v.progress = p.NewBatchProgress(cmd.ErrOrStderr(), inputs, b.List != "", progress, v.tally.Counts)
	defer v.progress.End()
	if !work() {
		return p.Close(nil)
	}
	v.progress.End()
	if err := interrupted(cmd); err != nil {
		return p.Close(err)
	}
	switch {
	case b.List != "":
		from = "list " + from
	case b.Tar != "":
		from = "archive " + from
	}
	p.TreeSummary(from, s.CapturesOnly, &v.tally)
	err := cmp.Or(listed(), v.tally.Status.Err())
	if err == nil && s.Signed.RequireSignature && v.tally.Total() == 0 {
		err = fmt.Errorf("%w: the list is empty, and a signature is required", errInput)
	}
	return p.Close(err)
}

// treePrinter prints the rows of a directory, list or archive. Its methods return false if
// the output cannot be written.
type treePrinter struct {
	*render.Printer
	tally    render.Tally
	progress *render.BatchProgress
	expected atomic.Int64 // rows
}

// entries prints the rows of a directory or archive.
func (p *treePrinter) entries(rows iter.Seq[verify.TreeRow]) bool {
	for row := range rows {
		p.tally.AddTreeEntry(row)
		p.TreeEntry(row)
		if !p.flush() {
			return false
		}
	}
	return true
}

// listed prints the rows of a list.
func (p *treePrinter) listed(rows iter.Seq[verify.ListRow]) bool {
	for row := range rows {
		if row.Artifact != nil {
			p.tally.AddTreeEntry(verify.TreeRow{Verdict: row.Artifact.Verdict, Findings: row.Artifact.Findings})
			p.Verification(*row.Artifact)
		} else {
			p.tally.AddTreeEntry(*row.Directory)
			p.TreeEntry(*row.Directory)
		}
		if !p.flush() {
			return false
		}
	}
	return true
}

// flush ends a row.
func (p *treePrinter) flush() bool {
	p.progress.Done()
	return p.Flush()
}

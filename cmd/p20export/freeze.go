package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/scan"
)

func newFreeze() *cobra.Command {
	var (
		out, run, name, nameBy string
		o                      freeze.BatchOptions
		fl                     projectionFlags
		keys                   signFlags
	)
	cmd := &cobra.Command{
		Use:   "freeze CAPTURE... -o DIR | freeze --from-list FILE -o DIR | freeze --from-tar FILE -o DIR",
		Short: "Freeze the runs of captures into artifacts",
		Long: `Freeze each run of each CAPTURE into an artifact that anyone can check. Each run
becomes three files in DIR:

  NAME.artifact.json     the snapshot's messages, the run's ids, times and end
  NAME.envelope.ndjson   the bounded envelope behind it: three events to review
  NAME.record.json       how it was made: projection, digests, every omission

NAME is the base name of the capture: the name of a file without its extension,
or stdin for -. If the capture contains several runs, .N is added. A directory
that is not a capture means all captures in it and below it, finished or not.
Symbolic links in it are not followed. The files of a capture in a subdirectory
are written to the same subdirectory of DIR, so that captures with the same name
do not collide. Plain response files must be named, or be in a list or an
archive.

A projection decides what part of a run becomes the artifact. A run is either
frozen as a whole or refused with every reason; nothing is written for a refused
run. Existing files are never overwritten: a file with the same bytes counts as
written, and any other file is an error.

Projections:
  emitted-snapshot       takes the run's only MESSAGES_SNAPSHOT unchanged;
                         refuses a message with anything but id, role, content
                         and name as text
  emitted-snapshot-text  takes one emitted snapshot and reduces it to that text
                         subset; records each omission
  folded-stream          for runs without a snapshot: builds one from the
                         request and the streamed text, and marks it as built.
                         If the capture has no request.json, the input in
                         RUN_STARTED is used

A snapshot that lacks text that the run streamed is frozen with a warning, and
the record names each missing message. If the terminal event names another run,
emitted-snapshot refuses the run and the other projections warn.
emitted-snapshot also refuses an error text that contains a stack trace of a
known format; the others cut the text before it.

Records name a projection with its version, for example folded-stream@4. Records
of earlier versions still verify.

The times in an artifact are those of its events (timestamps in milliseconds,
from 2025 on and at most a day ahead of their arrival), otherwise the capture's
arrival times, otherwise --started-at and --finished-at. The time of freezing is
never used.

` + cli.BatchHelp("captures", "each capture directory in the archive is one capture, and every file outside such a "+
			"directory is a capture too. The files of a capture in a directory of the archive are written to the same "+
			"subdirectory of DIR") + `

The files of a capture that an argument or a list names are written to DIR
itself. If such names repeat, use --name-by digest, or an archive.

Captures are made durable in groups of up to 100, and reported then. If the
program is stopped at any time, no record exists without its artifact and
envelope, and the same command freezes the rest.

--skip-existing skips a capture whose record, artifact and envelope exist, if
the record names this capture's digest and the projection, snapshot and profile
of this command. Capture directories with one run are skipped without reading
the response; a plain file is hashed.

--sign signs each record with a private key, and --timestamp asks an authority
for a token over the signature, as p20export sign does (its help says more). The
files NAME.record.dsse.json and NAME.record.tsr belong to the run: a run whose
record cannot be signed has no files at all. An existing record that differs in
the version of p20export only is kept, and signed.

--inline writes no files. Each JSON row of a frozen run has the exact texts of
the three files as artifact_json, envelope_ndjson and record_json, and with
--sign or --signer also that of NAME.record.dsse.json as signature_json.
` + exitHelp("every run was frozen or skipped", "a run was refused", ""),
		Example: `  p20export freeze captures/one-turn -o frozen
  p20export freeze captures -o frozen --projection emitted-snapshot-text
  p20export freeze run.sse -o frozen --started-at 2026-01-31T12:00:00Z
  p20export freeze captures/two-runs -o frozen --run '#2'
  p20export freeze --from-tar captures.tar.gz -o frozen --skip-existing
  find runs -name '*.sse' -print0 | p20export freeze --from-list - -o frozen \
      --name-by digest
  p20export freeze --from-list runs.txt -o frozen --format json |
      jq 'select(.verdict != "frozen" and .verdict != "skipped")'
  p20export freeze captures --inline | jq -j '.artifact_json // empty'`,
		Args: cli.OneOrMore("CAPTURE"),
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "output", "o", "", "`DIR` to write the files to, created if missing (required without --inline)")
	flags.StringVar(&run, "run", "", "freeze only one `RUN`: its id, or '#2' for the second")
	fl.addFlags(cmd, project.EmittedSnapshot, "`PROJECTION` that turns a run into an artifact")
	flags.StringVar(&name, "name", "", "`NAME` of the files instead of the capture's name (one capture only)")
	flags.StringVar(&nameBy, "name-by", byName, "name the files by the capture's name, or by the digest of its response: `name|digest`")
	flags.BoolVar(&o.SkipExisting, "skip-existing", false, "skip captures that are already frozen in DIR")
	flags.BoolVar(&o.Inline, "inline", false, "write no files; put their texts into JSON rows")
	keys.add(cmd, "sign", "sign the records with the private key in `FILE` (PKCS#8, PEM; repeatable)")
	batch := cli.AddBatch(cmd, "captures")
	f := cli.AddFormat(cmd)
	cli.Complete(cmd, "name-by", byName, byDigest)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case out == "" && !o.Inline && !cmd.Flags().Changed("output"):
			return errors.New("-o is missing: DIR to write the files to, created if missing; or give --inline, which writes no files")
		case o.Inline && cmd.Flags().Changed("output"):
			return errors.New("give either -o or --inline, which writes no files")
		case o.Inline && o.SkipExisting:
			return errors.New("--skip-existing needs -o: --inline writes no files")
		case o.Inline && cmd.Flags().Changed("format") && *f != render.JSON:
			return errors.New("--inline needs --format json, which is its default: the texts are in the JSON rows")
		case o.SkipExisting && run != "":
			return errors.New("--skip-existing cannot be used with --run: it skips only captures whose runs are all frozen")
		case o.Inline && cmd.Flags().Changed("timestamp"):
			return errors.New("--timestamp needs -o: a time-stamp is a binary file, and rows have only texts; write these to files, then run p20export timestamp")
		case name != "" && cmd.Flags().Changed("name-by"):
			return errors.New("give either --name or --name-by, not both")
		case name != "" && !batch.HasArguments():
			return errors.New("--name is only for a single capture, which is an argument")
		case nameBy != byName && nameBy != byDigest:
			return fmt.Errorf("--name-by %s: must be %s or %s", finding.Quote(nameBy), byName, byDigest)
		}
		if o.Inline {
			*f = render.JSON
		}
		o.Jobs, o.NameByDigest = batch.Jobs, nameBy == byDigest
		return keys.check(cmd)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s := freeze.Settings{Dir: out, Run: scan.RunSelector(run), Name: name, Tool: build.Tool()}
		var err error
		if s.Settings, err = fl.settings(); err != nil {
			return err
		}
		if !o.Inline {
			if err := checkOutput("-o", out); err != nil {
				return err
			}
		}
		src, err := openInputs(cmd, batch, args)
		if err != nil {
			return err
		}
		defer src.Close()
		if batch.HasArguments() {
			err = checkFreezing(cmd.Context(), src, args, s, o, &fl)
		} else {
			err = fl.checkTimes(2)
		}
		if err != nil {
			return err
		}
		end := func() error { return nil }
		if keys.given() {
			if s.Sign, end, err = keys.open(cmd.Context(), cmd); err != nil {
				return err
			}
		}
		p := newPrinter(cmd, f)
		return p.Close(endSigners(cmd, freezeAll(cmd, p, src, batch, args, s, o), end))
	}
	return cmd
}

// The values of --name-by.
const (
	byName   = "name"
	byDigest = "digest"
)

// freezeAll freezes the captures of a source. It prints the rows of each capture as soon
// as its files are durable.
func freezeAll(cmd *cobra.Command, p *render.Printer, src *inputs.Source, batch *cli.Batch, args []string, s freeze.Settings, o freeze.BatchOptions) error {
	single := isSingle(batch, args)
	var tally render.Tally
	var shown interface{ End() }
	done := func() {}
	if single {
		progress, reading := render.NewReadingProgress(cmd.ErrOrStderr(), args[0])
		shown, s.Progress = progress, reading
		s.Publishing = func(durable, frozen int) { progress.SetWriting("writing", s.Dir, durable, frozen, "run", "runs") }
	} else {
		defer batch.Relax()()
		progress := p.NewBatchProgress(cmd.ErrOrStderr(), "captures", src.InBytes(), src.Progress, tally.Counts)
		shown, done = progress, progress.Done
	}
	defer shown.End()
	all, sourceError := inputsOf(cmd.Context(), src)
	frozen, err := freeze.Batch(cmd.Context(), withoutErrors(all), s, o)
	if err != nil {
		return err
	}
	captures := 0
	for rows := range frozen {
		if captures++; single {
			shown.End()
		}
		for _, row := range rows {
			tally.AddRun(row)
			p.Freeze(row)
		}
		if done(); !p.Flush() {
			return nil
		}
	}
	shown.End()
	missing := ""
	ended, err := interrupted(cmd), sourceError()
	switch {
	case ended != nil:
		missing = "interrupted before the end"
	case err != nil && batch.HasArguments():
		return inputError(err)
	case err != nil:
		why, _ := finding.FromError(err)
		p.Freeze(freeze.Row{Capture: cmp.Or(batch.List, batch.Tar), Verdict: project.Failed, Findings: []finding.Finding{why}})
		tally.Status, missing = render.Failed, unread(batch)
	}
	if !batch.HasArguments() || captures > 1 {
		p.FreezeSummary(captures, &tally, missing)
	}
	if ended != nil {
		return ended
	}
	return tally.Status.Err()
}

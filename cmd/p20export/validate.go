package main

import (
	"cmp"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/project/validate"
)

func newValidate() *cobra.Command {
	var profile, kind string
	cmd := &cobra.Command{
		Use:   "validate FILE... | validate --from-list FILE | validate --from-tar FILE",
		Short: "Check artifacts and bounded envelopes against the contract",
		Long: `Check each FILE strictly against the v1 contract, as an artifact or as a bounded
envelope: RUN_STARTED, one MESSAGES_SNAPSHOT and one terminal event. The file
name decides which (.artifact.json, .envelope.ndjson). With any other name the
beginning of the file decides: an object with the key type, a list or an event
stream begins an envelope, and anything else is an artifact. --kind overrides
both. - is standard input.

A directory means all *.artifact.json and *.envelope.ndjson files in it and
below it, or only those of --kind. Symbolic links in it are not followed and
pipes are not opened. It is an error if a link or pipe has such a name, if a
directory cannot be read, or if it contains no such file.

JSON that is not in canonical form is accepted and reported with canonical:
false. The digest is that of the file's bytes. A pipe longer than the limit of
its kind (file_too_large) is not read to its end and has no digest.

A well-formed file differs if the record that freeze wrote next to it has
another digest (record_of_another) or is damaged (record_malformed). If that
record says that the snapshot was built, or that the snapshot lacks messages
(snapshot_lacks_streamed_text), that is reported too.

All problems are listed in document order, up to 100 findings per file, each
with its JSON Pointer, line, column and byte offset, its rule and the next step.
Lines end with LF or CRLF; columns count code points.

` + cli.BatchHelp("files", "the artifacts and envelopes in it are checked like those in a directory, and the rows have their names in the archive") + `

--format sarif (SARIF 2.1.0) and --format junit (JUnit XML) write one document
after all files have been checked, and nothing if interrupted.
` + exitHelp("every file is well-formed", "a file is malformed, or differs from its record", ""),
		Example: `  p20export validate frozen/one-turn.artifact.json
  p20export validate --profile assay --format json frozen --kind artifact
  p20export validate --format sarif frozen > findings.sarif
  p20export validate --kind envelope - < frozen/one-turn.envelope.ndjson
  p20export validate --from-tar evidence.tar.gz
  find frozen -name '*.artifact.json' -print0 |
      p20export validate --from-list - --format json |
      jq 'select(.verdict != "accepted")'`,
		Args: cli.OneOrMore("FILE"),
	}
	b := cli.AddBatch(cmd, "files")
	cmd.Flags().StringVar(&profile, "profile", string(artifact.V1), "limits for artifacts: `v1|assay`; assay adds those of Assay's mapper 5.4.0")
	cmd.Flags().StringVar(&kind, "kind", "", "check as `artifact|envelope`, regardless of name and content")
	f := cli.AddFormat(cmd, render.SARIF, render.JUnit)
	cli.Complete(cmd, "profile", string(artifact.V1), string(artifact.Assay))
	cli.Complete(cmd, "kind", string(validate.Artifact), string(validate.Envelope))
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		prof, err := artifact.ParseProfile(profile)
		if err != nil {
			return err
		}
		k, err := validate.ParseKind(kind)
		if err != nil {
			return fmt.Errorf("unknown kind %q: %w", kind, err)
		}
		if err := checkFiles(paths...); err != nil {
			return err
		}
		if err := checkNoBundles(paths...); err != nil {
			return err
		}
		return validateAll(cmd, newPrinter(cmd, f), b, paths, validate.Settings{Profile: prof, Kind: k, Jobs: b.Jobs})
	}
	return cmd
}

// validateAll validates the files that the arguments, a list or an archive contain.
func validateAll(cmd *cobra.Command, p *render.Printer, b *cli.Batch, paths []string, s validate.Settings) error {
	listed := func() error { return nil }
	progress := func() (done, total int64) { return 0, 0 }
	rows := validate.Files(cmd.Context(), entriesOf(paths), s)
	if !b.HasArguments() {
		file, err := openBatchFile(cmd, b)
		if err != nil {
			return err
		}
		defer file.close()
		progress = file.progress
		if b.List != "" {
			var entries iter.Seq[inputs.Entry]
			entries, listed = file.entries()
			rows = validate.Files(cmd.Context(), entries, s)
		} else {
			rows = validate.Archive(cmd.Context(), file, file.path, s)
		}
	}
	if !b.HasArguments() || len(paths) > 1 {
		defer b.Relax()()
	}
	var tally render.Tally
	shown := p.NewBatchProgress(cmd.ErrOrStderr(), "files", !b.HasArguments(), progress, tally.Counts)
	defer shown.End()
	for row := range rows {
		tally.Add(row.Verdict)
		p.Validation(row)
		shown.Done()
		if !p.Flush() {
			return p.Close(nil)
		}
	}
	shown.End()
	if err := interrupted(cmd); err != nil {
		return p.Close(err)
	}
	p.ValidationSummary(&tally)
	return p.Close(cmp.Or(listed(), tally.Status.Err()))
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/project/validate"
)

func newValidate() *cobra.Command {
	var profile, kind string
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check artifacts and bounded envelopes against the contract",
		Long: `Judge each FILE strictly against the v1 contract:
as an artifact, or as a bounded envelope of RUN_STARTED, one MESSAGES_SNAPSHOT
and one terminal event. The file's name says which of the two it is
(.artifact.json, .envelope.ndjson). With any other name its beginning says
so: an object with the key type, a list or an event stream begins an envelope,
all else is an artifact. --kind overrides both. - is standard input.

A directory stands for the *.artifact.json and *.envelope.ndjson in it and below
it, or with --kind for those of that kind. Symbolic links in it are not followed
and pipes not opened; one of such a name is an error, as are a directory that
cannot be read and one without any such file.

JSON in another spelling than the canonical one is accepted and reported with
canonical: false. The digest is of the file's bytes as they are; a pipe past the
limit of its kind (file_too_large) is read no further and has none.

A well-formed file is said to differ (record_of_another) when the record that
freeze wrote beside it states another digest, or is damaged (record_malformed).
With that record its snapshot is also said to be built, where it was, and to
lack the messages that the record names as lacking
(snapshot_lacks_streamed_text).

Everything that is wrong is listed in document order, up to 100 findings a file,
each with its JSON Pointer, line, column and byte, its rule and the next step.
Lines end with LF or CRLF; columns count code points.

--format sarif (SARIF 2.1.0) and --format junit (JUnit XML) write one document
for all files once every file is judged, and nothing when interrupted.
` + exitHelp,
		Example: `  p20export validate frozen/one-turn.artifact.json
  p20export validate --profile assay --format json frozen --kind artifact
  p20export validate --format sarif frozen > findings.sarif
  p20export validate --kind envelope - < frozen/one-turn.envelope.ndjson`,
		Args: cli.OneOrMore("FILE"),
	}
	cmd.Flags().StringVar(&profile, "profile", string(artifact.V1), "limits to keep, `v1|assay`: assay is what Assay's mapper 5.4.0 takes")
	cmd.Flags().StringVar(&kind, "kind", "", "judge as `artifact|envelope`, whatever the file looks like")
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
			return fmt.Errorf("kind %q is not known: %w", kind, err)
		}
		if err := checkFiles(paths...); err != nil {
			return err
		}
		if err := checkNoBundles(paths...); err != nil {
			return err
		}
		p := newPrinter(cmd, f)
		var tally render.Tally
		for row := range validate.Files(cmd.Context(), paths, prof, k) {
			tally.Add(row.Verdict)
			p.Validation(row)
		}
		if err := interrupted(cmd); err != nil {
			return p.Close(err)
		}
		p.ValidationSummary(&tally)
		return p.Close(tally.Status.Err())
	}
	return cmd
}

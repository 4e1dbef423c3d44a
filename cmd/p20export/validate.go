package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/freeze"
)

func newValidate() *cobra.Command {
	var profile, kind string
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Judge artifacts and bounded envelopes",
		Long: `Judge each FILE strictly against the v1 contract (a pre-proof draft, P20 §14):
as an artifact, or as a bounded envelope of RUN_STARTED, one MESSAGES_SNAPSHOT
and one terminal event. Which of the two a file is says its name
(.artifact.json, .envelope.ndjson), else how it begins: an object with the key
type, a list or an event stream begins an envelope, all else is an artifact;
--kind overrides that. - is standard input.

JSON in another spelling than the canonical one is accepted and reported with
canonical: false. The digest is of the file's bytes as they are.

Everything that is wrong is listed in document order, up to 100 findings a file,
each with its JSON Pointer, line, column and byte, its rule and the next step.
Lines end with LF or CRLF; columns count code points.

--format sarif (SARIF 2.1.0) and --format junit (JUnit XML) write one document
for all files once every file is judged, and nothing when interrupted.
` + exitHelp,
		Example: `  p20export validate frozen/one-turn.artifact.json
  p20export validate --profile assay --format json frozen/*.artifact.json
  p20export validate --format sarif frozen/*.artifact.json > findings.sarif
  p20export validate --kind envelope - < frozen/one-turn.envelope.ndjson`,
		Args: oneOrMore("FILE"),
	}
	cmd.Flags().StringVar(&profile, "profile", string(artifact.V1), "limits to keep: v1, or assay for what Assay's mapping takes today")
	cmd.Flags().StringVar(&kind, "kind", "", "judge as artifact or envelope, whatever the file looks like")
	f := addFormat(cmd, formatSARIF, formatJUnit)
	complete(cmd, "profile", string(artifact.V1), string(artifact.Assay))
	complete(cmd, "kind", string(freeze.ArtifactKind), string(freeze.EnvelopeKind))
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		prof, err := artifact.ParseProfile(profile)
		if err != nil {
			return err
		}
		k, err := freeze.ParseKind(kind)
		if err != nil {
			return fmt.Errorf("kind %q is not known: %w", kind, err)
		}
		p := newPrinter(cmd.OutOrStdout())
		worst, count := status(exitDone), map[freeze.Verdict]int{}
		var rows []result // of a format that is one document
		for _, path := range paths {
			row := freeze.Validate(cmd.Context(), path, prof, k)
			worst = worst.worse(statusOf(row.Verdict))
			count[row.Verdict]++
			switch *f {
			case formatText:
				p.validated(row)
			case formatJSON:
				p.json(row)
			default:
				rows = append(rows, resultOf(row))
			}
			if cmd.Context().Err() != nil {
				return p.close(context.Cause(cmd.Context()))
			}
		}
		switch *f {
		case formatText:
			p.validatedAll(count)
		case formatSARIF:
			p.document(newSARIF(rows))
		case formatJUnit:
			p.junit("validate", rows)
		}
		return p.close(worst.err())
	}
	return cmd
}

// result is what a format that is one document says of one input, or of one run
// in it.
type result struct {
	name      string // of the input, with its run
	file      string // that findings have their offsets in
	status    status
	verdict   string
	digest    digest.Digest // of the file; empty when it was not read
	bytes     int64
	kind      string // empty where inputs are of one kind
	profile   artifact.Profile
	canonical *bool
	findings  []finding.Finding
}

// failed reports whether the input could not be judged.
func (r result) failed() bool { return r.status == exitFailed }

func resultOf(row freeze.ValidateRow) result {
	j := result{
		name: row.File, file: row.File, status: statusOf(row.Verdict), verdict: string(row.Verdict),
		bytes: row.Bytes, profile: row.Profile, canonical: row.Canonical, findings: row.Findings,
	}
	if row.Digest != nil {
		j.digest = *row.Digest
	}
	if row.Kind != nil {
		j.kind = string(*row.Kind)
	}
	return j
}

// validatedAll counts several files by their verdicts.
func (p *printer) validatedAll(count map[freeze.Verdict]int) {
	total := 0
	for _, n := range count {
		total += n
	}
	if total > 1 {
		p.line("%d files: %s", total, verdictCounts(count, freeze.Accepted, freeze.Malformed, freeze.Failed))
	}
}

func (p *printer) validated(row freeze.ValidateRow) {
	kind := ""
	if row.Kind != nil {
		kind = "  " + string(*row.Kind) + ", profile " + string(row.Profile)
	}
	p.line("%s %s%s", p.verdict(row.Verdict), row.File, kind)
	if row.Digest != nil {
		p.line("  digest    %s", string(*row.Digest))
	}
	if row.Verdict == freeze.Accepted {
		p.line("  canonical %s", yesNo(*row.Canonical))
	}
	p.findings(row.Findings)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// plural puts a number before the form of a noun that goes with it.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

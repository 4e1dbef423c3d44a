package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/internal/finding"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/importer"
)

func newAssayVerify() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "verify BUNDLE...",
		Short: "Verify the integrity of evidence bundles as Assay does",
		Long: `Verify each BUNDLE with the limits and the verdicts of Assay's own verifier
(assay-evidence 6.21.0), for those who do not have it. A bundle that verifies is
whole: its events are those its manifest states, in their order. That says
nothing of what the events hold, which stays uninterpreted. - is standard input.

A refusal has the class and the code of Assay's verifier. With --strict a bundle
is held against what writers of bundles write, too: Assay's verifier lets pass
unknown fields, another key order, line ends of two characters, a producer that
is not that of the events, other spellings of times, empty ids and the like.

Verdicts:
  verified  the bundle's integrity holds
  refused   Assay's verifier refuses it (exit status 1)
  differs   with --strict: it is none that a writer of bundles writes (1)
  error     it could not be read (exit status 3)
` + exitHelp,
		Example: `  p20export assay verify evidence.tar.gz
  p20export assay verify --strict --format json bundles/*.tar.gz`,
		Args:              oneOrMore("BUNDLE"),
		ValidArgsFunction: completeBundles,
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "what no writer of bundles writes is an error, too")
	f := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		p := newPrinter(cmd.OutOrStdout())
		worst := status(exitDone)
		for _, path := range paths {
			row := verifyBundle(cmd, path, strict, nil)
			worst = worst.worse(statusOf(row.Verdict))
			if *f == formatJSON {
				p.json(row)
			} else {
				p.bundle(row)
			}
			if cmd.Context().Err() != nil {
				return p.close(context.Cause(cmd.Context()))
			}
		}
		return p.close(worst.err())
	}
	return cmd
}

func completeBundles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"gz"}, cobra.ShellCompDirectiveFilterFileExt
}

// verifyBundle verifies a bundle and shows how far it has come.
func verifyBundle(cmd *cobra.Command, path string, strict bool, entry func(assay.Entry) error) importer.BundleRow {
	progress, show := newReading(cmd.ErrOrStderr(), path)
	defer progress.end()
	return importer.VerifyBundle(cmd.Context(), path, strict, entry, show)
}

func (p *printer) bundle(row importer.BundleRow) {
	p.line("%s %s", p.verdict(row.Verdict), row.Bundle)
	if row.Digest != nil {
		p.line("  run id    %s", *row.RunID)
		p.line("  run root  %s", *row.RunRoot)
		p.line("  producer  %s %s (%s)", row.Producer.Name, row.Producer.Version, row.Producer.Git)
		p.line("  events    %s, %s", grouped(int64(*row.Events)), bytesCount(*row.EventsBytes))
		p.line("  file      %s  %s", bytesCount(*row.Bytes), string(*row.Digest))
	}
	p.findings(row.Findings)
	if row.Verdict == freeze.Verified {
		p.line("  Its integrity holds; what its events hold is not interpreted.")
	}
}

func newAssayShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show BUNDLE",
		Short: "Show what is in an evidence bundle",
		Long: `Verify a BUNDLE, a file, as assay verify does and list its events. Of events that
p20export assay wrote it shows what they say of the run; of others the type alone.
--format json writes the row of assay verify, and then a line for each event with
its data. A bundle that does not verify is not shown.
` + exitHelp,
		Example: `  p20export assay show evidence.tar.gz
  p20export assay show evidence.tar.gz --format json | jq -r '.data.observed.run_id_ref // empty'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeBundles,
	}
	f := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if args[0] == "-" {
			return errors.New("show reads the bundle twice, and needs a file; assay verify takes -")
		}
		return show(cmd, args[0], *f)
	}
	return cmd
}

// show shows a bundle. It is read again for its events, so that none is shown of
// a bundle that does not verify and none has to be kept.
func show(cmd *cobra.Command, path string, f format) error {
	p := newPrinter(cmd.OutOrStdout())
	write := func(row importer.BundleRow) {
		if f == formatJSON {
			p.json(row)
		} else {
			p.bundle(row)
		}
	}
	row := verifyBundle(cmd, path, false, nil)
	write(row)
	if row.Verdict == freeze.Verified {
		if f == formatText {
			p.line("")
			p.line(entryLine, "seq", "form", "origin", "projection", "messages", "end", "AG-UI run", "artifact")
		}
		again := importer.VerifyBundle(cmd.Context(), path, false, func(e assay.Entry) error {
			if f == formatJSON {
				p.json(newEntryRow(e))
			} else {
				p.entry(e)
			}
			return p.err
		}, nil)
		if again.Digest == nil || *again.Digest != *row.Digest {
			row = importer.BundleRow{Bundle: path, Verdict: freeze.Failed, Findings: []finding.Finding{finding.New(finding.IOFailed, "the bundle changed while it was read")}}
			write(row)
		}
	}
	if cmd.Context().Err() != nil {
		return p.close(context.Cause(cmd.Context()))
	}
	return p.close(statusOf(row.Verdict).err())
}

// entryRow is an event of a bundle.
type entryRow struct {
	Sequence    uint64            `json:"seq"`
	ID          string            `json:"id"`
	Type        string            `json:"type"`
	Source      string            `json:"source"`
	Time        string            `json:"time"`
	Producer    importer.Producer `json:"producer"`
	ContentHash string            `json:"content_hash"`
	Data        jsontext.Value    `json:"data"`
}

func newEntryRow(e assay.Entry) entryRow {
	return entryRow{e.Seq, e.ID, e.Type, e.Source, e.Time, importer.Producer{Name: e.Producer.Name, Version: e.Producer.Version, Git: e.Producer.Git}, e.ContentHash, e.Data}
}

const entryLine = "  %6v  %-11s  %-7s  %-23s  %8v  %-12s  %-20s  %s"

// entry writes what an event of this program says of its run, and of another
// its type.
func (p *printer) entry(e assay.Entry) {
	forms := map[string]string{assay.PlaceholderType: "placeholder", assay.ReceiptType: "receipt"}
	var data struct {
		Origin   string `json:"origin"`
		Reducer  string `json:"reducer_version"`
		Artifact string `json:"source_artifact_ref"`
		Observed struct {
			RunID    string           `json:"run_id_ref"`
			Messages []jsontext.Value `json:"messages"`
			End      string           `json:"terminal_event"`
		} `json:"observed"`
	}
	form := forms[e.Type]
	if form == "" || json.Unmarshal(e.Data, &data) != nil {
		p.line("  %6v  %s", e.Seq, e.Type)
		return
	}
	p.line(entryLine, e.Seq, form, cmp.Or(data.Origin, "-"), cmp.Or(data.Reducer, "-"), len(data.Observed.Messages), data.Observed.End, data.Observed.RunID, cmp.Or(data.Artifact, "-"))
}

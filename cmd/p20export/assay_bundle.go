package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/internal/spell"
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
is held against what p20export writes, too: Assay's verifier lets pass unknown
fields, another key order, line ends of two characters, a producer that is not
that of the events, other spellings of times, empty ids and the like.

Verdicts:
  verified  the bundle's integrity holds
  refused   Assay's verifier refuses it (exit status 1)
  differs   with --strict: it has what p20export never writes (exit status 1)
  error     it could not be read (exit status 3)
` + exitHelp,
		Example: `  p20export assay verify evidence.tar.gz
  p20export assay verify --strict --format json bundles/*.tar.gz`,
		Args:              oneOrMore("BUNDLE"),
		ValidArgsFunction: completeBundles,
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "what p20export never writes is an error, too")
	f := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if i := slices.Index(paths, "-"); i >= 0 && slices.Contains(paths[i+1:], "-") {
			return errors.New("standard input can be read once")
		}
		p := newPrinter(cmd.OutOrStdout())
		worst := status(exitDone)
		for _, path := range paths {
			progress, show := newReading(cmd.ErrOrStderr(), path)
			row := importer.VerifyBundle(cmd.Context(), path, strict, show)
			progress.end()
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

func (p *printer) bundle(row importer.BundleRow) {
	p.line("%s %s", p.verdict(row.Verdict), row.Bundle)
	if row.Digest != nil {
		p.line("  run id    %s", *row.RunID)
		p.line("  run root  %s", *row.RunRoot)
		p.line("  producer  %s %s (%s)", row.Producer.Name, row.Producer.Version, row.Producer.Git)
		p.line("  events    %s, %s", spell.Grouped(int64(*row.Events)), spell.Bytes(*row.EventsBytes))
		p.line("  file      %s  %s", spell.Bytes(*row.Bytes), string(*row.Digest))
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
		Long: `Verify a BUNDLE as assay verify does and list its events; - is standard input. Of
events of the types that p20export assay writes it shows what they say of the
AG-UI run; of others the type alone. --format json writes the row of assay verify,
and then a line for each event with its data. A bundle that does not verify is not
shown.
` + exitHelp,
		Example: `  p20export assay show evidence.tar.gz
  p20export assay show evidence.tar.gz --format json | jq -r '.data.observed.run_id_ref // empty'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeBundles,
	}
	f := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return show(cmd, args[0], *f)
	}
	return cmd
}

// show shows a bundle that holds.
func show(cmd *cobra.Command, path string, f format) error {
	p := newPrinter(cmd.OutOrStdout())
	progress, reading := newReading(cmd.ErrOrStderr(), path)
	row, kept := importer.KeepBundle(cmd.Context(), path, reading)
	progress.end()
	if f == formatJSON {
		p.json(row)
	} else {
		p.bundle(row)
	}
	if kept != nil {
		defer kept.Close()
		if f == formatText {
			p.line("")
			p.line(entryLine, "seq", "form", "origin", "projection", "messages", "end", "AG-UI run", "artifact")
		}
		err := kept.Entries(cmd.Context(), func(e assay.Entry) error {
			if f == formatJSON {
				p.json(newEntryRow(e))
			} else {
				p.entry(e)
			}
			return p.err
		})
		if err != nil && cmd.Context().Err() == nil {
			return p.close(fmt.Errorf("%w: %w", errInput, err))
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

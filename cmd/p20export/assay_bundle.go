package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/project/export"
)

func newAssayVerify() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "verify BUNDLE...",
		Short: "Verify the integrity of evidence bundles as Assay does",
		Long: `Verify each BUNDLE with the limits and the verdicts of Assay's own verifier
(assay-evidence 6.21.0), for those who do not have it. A bundle that verifies is
whole: its events are those its manifest states, in their order. It is not
signed: who can write a bundle can write another. What the events hold stays
uninterpreted. - is standard input.

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
		Args:              cli.OneOrMore("BUNDLE"),
		ValidArgsFunction: completeBundles,
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "what p20export never writes is an error, too")
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if i := slices.Index(paths, "-"); i >= 0 && slices.Contains(paths[i+1:], "-") {
			return errors.New("standard input can be read once")
		}
		if err := checkFiles(paths...); err != nil {
			return err
		}
		p := newPrinter(cmd, f)
		var tally render.Tally
		for _, path := range paths {
			var row export.BundleRow
			cli.Reading(cmd, path, func(progress func(int64)) { row = export.VerifyBundle(cmd.Context(), path, strict, progress) })
			tally.Add(row.Verdict)
			p.Bundle(row)
			if err := interrupted(cmd); err != nil {
				return p.Close(err)
			}
		}
		return p.Close(tally.Status.Err())
	}
	return cmd
}

func completeBundles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"gz"}, cobra.ShellCompDirectiveFilterFileExt
}

func newAssayShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show BUNDLE",
		Short: "Show what is in an evidence bundle",
		Long: `Verify a BUNDLE as assay verify does and list its events; - is standard input.
Of events of the types that p20export assay writes it shows what they say of the
AG-UI run; of others the type alone. --format json writes the row of assay
verify, and then a line for each event with its data. A bundle that does not
verify is not shown.
` + exitHelp,
		Example: `  p20export assay show evidence.tar.gz
  p20export assay show evidence.tar.gz --format json |
      jq -r '.data.observed.run_id_ref // empty'`,
		Args:              cli.One("BUNDLE"),
		ValidArgsFunction: completeBundles,
	}
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkFiles(args[0]); err != nil {
			return err
		}
		return show(cmd, args[0], f)
	}
	return cmd
}

// show shows a bundle that holds.
func show(cmd *cobra.Command, path string, f *render.Format) error {
	p := newPrinter(cmd, f)
	var row export.BundleRow
	var kept *export.VerifiedBundle
	cli.Reading(cmd, path, func(progress func(int64)) { row, kept = export.OpenBundle(cmd.Context(), path, progress) })
	p.Bundle(row)
	if kept != nil {
		defer kept.Close()
		p.BundleEventsHeader()
		if err := kept.Entries(cmd.Context(), p.BundleEvent); err != nil && interrupted(cmd) == nil {
			return p.Close(fmt.Errorf("%w: %w", errInput, err))
		}
	}
	if err := interrupted(cmd); err != nil {
		return p.Close(err)
	}
	return p.Close(render.StatusOf(row.Verdict).Err())
}

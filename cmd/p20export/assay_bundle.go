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
(assay-evidence 6.21.0), for users who do not have it. A verified bundle is
intact: it contains the events its manifest lists, in that order. It is not
signed, so whoever can write a bundle can replace it with another. The contents
of events are not interpreted. - is standard input.

A refusal has the class and the code of Assay's verifier. With --strict a bundle
must also be in the form that p20export writes. Assay's verifier accepts unknown
fields, another key order, CRLF line ends, a producer other than that of the
events, other time formats, empty ids and the like.

Verdicts:
  verified  the bundle is intact
  refused   Assay's verifier refuses it (exit status 1)
  differs   with --strict: it contains something that p20export never writes
            (exit status 1)
  error     it could not be read (exit status 3)
` + exitHelp("every bundle is intact", "a bundle is refused, or with --strict differs", ""),
		Example: `  p20export assay verify evidence.tar.gz
  p20export assay verify --strict --format json bundles/*.tar.gz`,
		Args:              cli.OneOrMore("BUNDLE"),
		ValidArgsFunction: completeBundles,
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "also require the form that p20export writes")
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if i := slices.Index(paths, "-"); i >= 0 && slices.Contains(paths[i+1:], "-") {
			return errors.New("standard input can be read only once")
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
		Short: "List the events of an evidence bundle",
		Long: `Verify a BUNDLE as assay verify does, and list its events; - is standard input.
For events of the types that p20export assay writes, the list shows the AG-UI
run that they describe; for others, only the type. --format json writes the row
of assay verify and then a row for each event, with its data. The events of a
bundle that fails verification are not shown.
` + exitHelp("the bundle is intact", "the bundle is refused", ""),
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

// show lists the events of a bundle, if it verifies.
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

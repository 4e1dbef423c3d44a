package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/project/export"
)

func newAssay() *cobra.Command {
	var a assayFlags
	cmd := &cobra.Command{
		Use:   "assay ARTIFACT... --ndjson [-o FILE] --import-time TIME | assay ARTIFACT... --bundle FILE.tar.gz --import-time TIME",
		Short: "Export artifacts as Assay events or bundles",
		Long: `Export artifacts to Assay, which compiles evidence about agents. Each ARTIFACT
becomes one event of Assay's Evidence Contract v1. The events are written as
lines (--ndjson) or as an evidence bundle (--bundle). A directory means all
*.artifact.json files in it and below it, in the order of their paths; symbolic
links in it are not followed.

Assay checks the integrity of a bundle: that it contains the events its manifest
lists, in that order. A bundle is not signed, so whoever can write a bundle can
replace it with another. Assay does not interpret the contents of events.

Either all artifacts are imported or none. An artifact outside the profile assay
(messages of up to 400 code points; see p20export validate --profile assay) is
refused with every reason. Nothing is shortened, except that white space at both
ends of strings is removed, as Assay's mapping does; this is reported.

Two forms:
  placeholder  only the artifact, as in Assay's mapping of P20
  receipt      (--receipt) also the file name and digest of the artifact and,
               from its record, the projection that made it and whether its
               snapshot was emitted or built. Use this form if the record says
               built. It has the digest of the record and, with --trust, the
               ids of the trusted keys that signed the record, and the time of
               its time-stamp. A signature that is broken is a refusal

The record of NAME.artifact.json, or NAME.json, is NAME.record.json next to it,
unless --record names another. A record that exists must be the record of
exactly these bytes. If it names messages that the snapshot lacks, a warning
says so; the event does not.

Assay calls each import a run; this is not the AG-UI run. The id of the import
is import-ag-ui-NAME, where NAME is the artifact's file name without its last
extension. If --assay-run-id gives the id, events are numbered from 0. A bundle
has one run, so several artifacts need --assay-run-id. It can hold 100,000
events and 100 MiB of events; with --split, more events are written to
FILE-0001.tar.gz and so on, with the run ids ID-0001 and so on. Assay's command
line reads bundles; lines are for other programs.

The same artifacts, time, run id and program produce the same bytes. Existing
files are never overwritten: a file with the same bytes counts as written, and
any other file is an error. If the lines go to standard output, refusals and
errors go to standard error.
` + exitHelp("every artifact was written", "an artifact was refused, and nothing was written", ""),
		Example: `  p20export assay frozen/one-turn.artifact.json --ndjson \
      --import-time 2026-01-31T12:00:00Z
  p20export assay frozen --bundle evidence.tar.gz \
      --assay-run-id nightly-42 --import-time 2026-01-31T12:00:00Z
  p20export assay frozen/failed.artifact.json --receipt --ndjson \
      -o failed.ndjson --import-time 2026-01-31T12:00:00Z
  p20export assay verify evidence.tar.gz
  p20export assay show evidence.tar.gz`,
		Args: artifactsOrSubcommand,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	cmd.SuggestionsMinimumDistance = 2
	flags := cmd.Flags()
	flags.BoolVar(&a.ndjson, "ndjson", false, "write one event per line, to standard output or to -o")
	flags.StringVarP(&a.output, "output", "o", "", "with --ndjson: `FILE` to write the lines to; - is standard output")
	flags.StringVar(&a.bundle, "bundle", "", "write an evidence bundle to `FILE`, whose name ends in .tar.gz")
	flags.BoolVar(&a.split, "split", false, "with --bundle: write as many bundles as the events need")
	flags.StringVar(&a.time, "import-time", "", "`TIME` of the import, in RFC 3339; the current time is never used (required)")
	flags.StringVar(&a.runID, "assay-run-id", "", "run `ID` of the events (default: derived from the file name of a single artifact)")
	flags.BoolVar(&a.receipt, "receipt", false, "use the receipt form, which states where the artifact came from")
	flags.StringArrayVar(&a.records, "record", nil, "`RECORD` of the artifact (default: the one next to it); for several artifacts one each, in the same order")
	a.trust.add(cmd)
	flags.BoolVar(&a.sample, "as-sample", false, "name Assay's sample as the producer instead of this program")
	a.format = cli.AddFormat(cmd)
	cmd.AddCommand(newAssayVerify(), newAssayShow())
	cli.Require(cmd, "import-time")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.given = cmd.Flags().Changed
		if err := a.check(); err != nil {
			return err
		}
		if err := checkFiles(slices.Concat(args, a.records)...); err != nil {
			return err
		}
		paths, err := export.FindArtifacts(cmd.Context(), args)
		if _, twice := errors.AsType[*export.RepeatedError](err); twice {
			return err
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errInput, err)
		}
		s, err := a.settings(paths)
		if err != nil {
			return err
		}
		return a.do(cmd, paths, s)
	}
	return cmd
}

// artifactsOrSubcommand requires artifacts, and suggests a subcommand for a mistyped
// one.
func artifactsOrSubcommand(cmd *cobra.Command, args []string) error {
	if err := cli.OneOrMore("ARTIFACT")(cmd, args); err != nil {
		return err
	}
	if _, err := os.Lstat(args[0]); err != nil {
		for _, name := range cmd.SuggestionsFor(args[0]) {
			return fmt.Errorf("no file is named %q; did you mean %s %s?", args[0], cmd.CommandPath(), name)
		}
	}
	return nil
}

// assayFlags contains the flags of assay.
type assayFlags struct {
	ndjson, split, receipt, sample bool
	output, bundle, time, runID    string
	records                        []string
	trust                          trustFlags
	format                         *render.Format
	given                          func(flag string) bool
}

// check checks that the flags can be used together.
func (a *assayFlags) check() error {
	values := map[string]string{"bundle": a.bundle, "output": a.output, "assay-run-id": a.runID}
	for _, name := range []string{"bundle", "output", "assay-run-id"} {
		if a.given(name) && values[name] == "" {
			return fmt.Errorf("--%s is empty", name)
		}
	}
	if slices.Contains(a.records, "") {
		return errors.New("--record is empty")
	}
	file := cmp.Or(a.bundle, a.output)
	_, name := filepath.Split(file)
	switch {
	case !a.ndjson && a.bundle == "":
		return errors.New("one of --ndjson and --bundle is required")
	case a.ndjson && a.bundle != "":
		return errors.New("--ndjson and --bundle cannot be used together")
	case a.output != "" && !a.ndjson:
		return errors.New("--output can only be used with --ndjson")
	case len(a.trust.paths) > 0 && !a.receipt:
		return errors.New("--trust can only be used with --receipt: a placeholder event states nothing about signatures")
	case a.split && a.bundle == "":
		return errors.New("--split can only be used with --bundle")
	case a.bundle != "" && !strings.HasSuffix(a.bundle, export.BundleSuffix):
		return fmt.Errorf("--bundle %q does not end in %s", a.bundle, export.BundleSuffix)
	case file != "" && slices.Contains([]string{"", ".", "..", export.BundleSuffix}, name):
		return fmt.Errorf("%q is not a file name", file)
	}
	if a.output == "-" {
		a.output = ""
	}
	switch {
	case a.bundle != "":
		return checkOutputFile("--bundle", a.bundle)
	case a.output != "":
		return checkOutputFile("-o", a.output)
	}
	return nil
}

// settings returns the settings of the import that the flags describe.
func (a *assayFlags) settings(paths []string) (export.Settings, error) {
	s := export.Settings{Receipt: a.receipt, Records: a.records}
	var err error
	if s.Trust, err = a.trust.read(); err != nil {
		return s, err
	}
	if n := len(a.records); n > 0 && n != len(paths) {
		return s, fmt.Errorf("%s for %s; give one for each", render.Plural(n, "--record", "--record flags"), render.Plural(len(paths), "artifact", "artifacts"))
	}
	at, err := artifact.ParseTime(a.time)
	if err != nil {
		return s, fmt.Errorf("--import-time %q: %w", a.time, err)
	}
	s.Run = assay.Run{ID: a.runID, Time: assay.FormatTime(at), Producer: a.producer()}
	return s, a.checkRunIDs(&s, paths)
}

func (a *assayFlags) producer() assay.Producer {
	if a.sample {
		return assay.SampleProducer()
	}
	p := assay.Producer{Name: build.Tool().Name, Version: build.Version, Git: build.From().Commit}
	if p.Git == "" {
		p.Git = assay.UnknownGit
	}
	return p
}

// checkRunIDs checks that every event gets a run id and that no two events get the
// same id. It sets the run id of a bundle.
func (a *assayFlags) checkRunIDs(s *export.Settings, paths []string) error {
	switch {
	case a.runID != "":
		if err := assay.CheckRunID(a.runID); err != nil {
			return fmt.Errorf("--assay-run-id %q: %w", a.runID, err)
		}
		if err := assay.CheckRunID(a.runID + "-0001"); err != nil && a.split {
			return fmt.Errorf("--assay-run-id %q with the suffix -0001 that --split may add: %w", a.runID, err)
		}
		return nil
	case a.bundle != "" && len(paths) > 1:
		return errors.New("a bundle has one Assay run id; for several artifacts, give it with --assay-run-id")
	}
	err := export.CheckRunIDs(paths)
	if bad, ok := errors.AsType[*export.RunIDError](err); ok && len(bad.Paths) > 1 {
		return fmt.Errorf("%w; give one for all with --assay-run-id", err)
	} else if ok {
		return fmt.Errorf("%w; give one with --assay-run-id", err)
	}
	if a.bundle != "" {
		s.Run.ID = export.RunID(paths[0])
	}
	return nil
}

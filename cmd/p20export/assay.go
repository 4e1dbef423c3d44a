package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/artifact/assay"
	"github.com/p20export/p20export/internal/finding"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/importer"
)

// written is the verdict of an output file.
const written freeze.Verdict = "written"

func newAssay() *cobra.Command {
	var a assayFlags
	cmd := &cobra.Command{
		Use:   "assay ARTIFACT... (--ndjson [-o FILE] | --bundle FILE.tar.gz) --import-time TIME",
		Short: "Put artifacts into Assay's events and bundles",
		Long: `Put each ARTIFACT into one event of Assay's Evidence Contract v1, and write the
events as lines (--ndjson) or as an evidence bundle (--bundle). A directory stands
for the *.artifact.json in it, in the order of their names. Assay vouches for a
bundle's integrity: that its events are those that were put in, in order. It
leaves what they hold uninterpreted; it has no AG-UI importer.

All artifacts are imported or none. An artifact outside the profile assay
(messages of up to 400 code points, see docs/contract.md) is refused with every
reason; nothing is shortened.

Two forms:
  placeholder  the artifact alone, as Assay's mapping of P20 has it
  receipt      (--receipt) also which file it was, its digest, the projection
               that made it and whether its snapshot was emitted or built, from
               its record. An artifact whose record says built needs this form.
               The record is NAME.record.json beside NAME.artifact.json, or what
               --record gives

The run id of an event is import-ag-ui-NAME, NAME being the artifact's file name
without its last extension, or what --assay-run-id gives: then events are
numbered from 0. A bundle is of one run; several artifacts need --assay-run-id.
It holds 100,000 events and 100 MiB of them; --split writes FILE-0001.tar.gz and
so on where that is not enough, with the run ids ID-0001 and so on.

The same artifacts, time, run id and program make the same bytes. Files are never
overwritten: the same bytes count as done, others are an error. With the lines on
standard output, refusals and errors go to standard error.
` + exitHelp,
		Example: `  p20export assay frozen/one-turn.artifact.json --ndjson --import-time 2026-01-31T12:00:00Z
  p20export assay frozen --bundle evidence.tar.gz \
      --assay-run-id nightly-42 --import-time 2026-01-31T12:00:00Z
  p20export assay frozen/failed.artifact.json --receipt --ndjson -o failed.ndjson \
      --import-time 2026-01-31T12:00:00Z
  p20export assay verify evidence.tar.gz
  p20export assay show evidence.tar.gz`,
		Args: oneOrMore("ARTIFACT"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&a.ndjson, "ndjson", false, "write one event a line, to standard output or to -o")
	flags.StringVarP(&a.output, "output", "o", "", "with --ndjson: the file the lines go into")
	flags.StringVar(&a.bundle, "bundle", "", "write one evidence bundle of this name, which ends in .tar.gz")
	flags.BoolVar(&a.split, "split", false, "with --bundle: as many bundles as the events need")
	flags.StringVar(&a.time, "import-time", "", "when the import is made, RFC 3339; the clock is never asked (required)")
	flags.StringVar(&a.runID, "assay-run-id", "", "run id of the events (default: made of the file name of the one artifact)")
	flags.BoolVar(&a.receipt, "receipt", false, "the receipt form, which says where the artifact came from")
	flags.StringArrayVar(&a.records, "record", nil, "with --receipt: the record of the artifact (default: the one beside it);\nof several artifacts one each, in their order")
	flags.BoolVar(&a.sample, "as-sample", false, "name Assay's sample as the producer, instead of this program")
	a.format = addFormat(cmd)
	cmd.AddCommand(newAssayVerify(), newAssayShow())
	cmd.MarkFlagsOneRequired("ndjson", "bundle")
	cmd.MarkFlagsMutuallyExclusive("ndjson", "bundle")
	if err := cmd.MarkFlagRequired("import-time"); err != nil {
		panic(err)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		paths, err := importer.Artifacts(args)
		if err != nil {
			return err
		}
		s, err := a.settings(paths)
		if err != nil {
			return err
		}
		return a.do(cmd, paths, s)
	}
	return cmd
}

// assayFlags are the flags of assay.
type assayFlags struct {
	ndjson, split, receipt, sample bool
	output, bundle, time, runID    string
	records                        []string
	format                         *format
}

// settings checks the flags against each other and the artifacts' names.
func (a *assayFlags) settings(paths []string) (importer.Settings, error) {
	s := importer.Settings{Receipt: a.receipt, Records: a.records}
	switch {
	case a.output != "" && !a.ndjson:
		return s, errors.New("--output goes with --ndjson")
	case a.split && a.bundle == "":
		return s, errors.New("--split goes with --bundle")
	case len(a.records) > 0 && !a.receipt:
		return s, errors.New("--record goes with --receipt")
	case len(a.records) > 0 && len(a.records) != len(paths):
		return s, fmt.Errorf("%s given for %s", plural(len(a.records), "--record is", "--record are"), plural(len(paths), "artifact", "artifacts"))
	case a.bundle != "" && !strings.HasSuffix(a.bundle, ".tar.gz"):
		return s, fmt.Errorf("--bundle %q does not end in .tar.gz", a.bundle)
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
	p := assay.Producer{Name: tool().Name, Version: version, Git: commit()}
	if p.Git == "" {
		p.Git = assay.UnknownGit
	}
	return p
}

// checkRunIDs sees to it that every event has a run id, and no two the same id.
func (a *assayFlags) checkRunIDs(s *importer.Settings, paths []string) error {
	switch {
	case a.runID != "":
		id := a.runID
		if a.split {
			id += "-0000"
		}
		if err := assay.CheckRunID(id); err != nil {
			return fmt.Errorf("--assay-run-id %q: %w", a.runID, err)
		}
		return nil
	case a.bundle != "" && len(paths) > 1:
		return errors.New("a bundle of several artifacts is of one run: name it with --assay-run-id")
	}
	seen := make(map[string]string)
	for _, path := range paths {
		id := importer.RunID(path)
		if err := assay.CheckRunID(id); err != nil {
			return fmt.Errorf("%s gives the run id %q: %w; give one with --assay-run-id", path, id, err)
		}
		if first, taken := seen[id]; taken {
			return fmt.Errorf("%s and %s both give the run id %q; give one for all with --assay-run-id", first, path, id)
		}
		seen[id] = path
	}
	if a.bundle != "" {
		s.Run.ID = importer.RunID(paths[0])
	}
	return nil
}

// outputRow is what became of an output file.
type outputRow struct {
	importer.Output
	Verdict  freeze.Verdict    `json:"verdict"`
	Findings []finding.Finding `json:"findings"`
}

// do imports the artifacts and writes the events.
func (a *assayFlags) do(cmd *cobra.Command, paths []string, s importer.Settings) error {
	out := cmd.OutOrStdout()
	if a.ndjson && a.output == "" {
		out = cmd.ErrOrStderr() // standard output is the events'
	}
	p := newPrinter(out)
	progress, show := newImporting(cmd.ErrOrStderr(), len(paths))
	s.Progress = show
	worst, missing := status(exitDone), 0
	events, err := importer.Import(cmd.Context(), paths, s, func(row importer.Row) {
		progress.end()
		missing++
		worst = worst.worse(statusOf(row.Verdict))
		if *a.format == formatJSON {
			p.json(row)
		} else {
			p.notImported(row)
		}
	})
	defer progress.end()
	if events != nil {
		defer events.Close()
	}
	if interrupted := context.Cause(cmd.Context()); interrupted != nil {
		return p.close(interrupted)
	}
	var rows []outputRow
	if err == nil && events != nil {
		rows, err = a.write(cmd, events)
	}
	progress.end()
	if interrupted := context.Cause(cmd.Context()); interrupted != nil {
		return p.close(interrupted)
	}
	if errors.Is(err, errOutput) {
		return p.close(err)
	}
	if err != nil {
		rows = []outputRow{a.failed(err)}
	}
	if missing > 0 && *a.format == formatText {
		p.line("nothing was written: %d of %s could not be imported", missing, plural(len(paths), "artifact", "artifacts"))
	}
	for _, row := range rows {
		worst = worst.worse(statusOf(row.Verdict))
		if *a.format == formatJSON {
			p.json(row)
		} else {
			p.written(row)
		}
	}
	return p.close(worst.err())
}

// write writes the events where the flags say. Lines on standard output have no
// row.
func (a *assayFlags) write(cmd *cobra.Command, events *importer.Events) ([]outputRow, error) {
	var outputs []importer.Output
	var err error
	switch {
	case a.bundle != "":
		outputs, err = events.WriteBundles(cmd.Context(), a.bundle, a.split)
	case a.output != "":
		var o importer.Output
		o, err = events.WriteNDJSON(cmd.Context(), a.output)
		outputs = append(outputs, o)
	default:
		if err = events.WriteLines(cmd.Context(), cmd.OutOrStdout()); err != nil {
			err = fmt.Errorf("%w: %w", errOutput, err)
		}
	}
	if err != nil {
		return nil, err
	}
	var rows []outputRow
	for _, o := range outputs {
		rows = append(rows, outputRow{Output: o, Verdict: written, Findings: []finding.Finding{}})
	}
	return rows, nil
}

// failed is the row of an output that was not written.
func (a *assayFlags) failed(err error) outputRow {
	f, _ := freeze.Explain(err)
	row := outputRow{Output: importer.Output{File: cmp.Or(a.output, a.bundle, "-")}, Verdict: freeze.Failed, Findings: []finding.Finding{f}}
	if f.Code == finding.BundleLimit {
		row.Verdict = freeze.Refused
	}
	return row
}

func (p *printer) notImported(row importer.Row) {
	p.line("%s %s", p.verdict(row.Verdict), row.Artifact)
	if row.Record != nil {
		p.line("  record    %s", *row.Record)
	}
	p.made(row.Origin, nil)
	p.findings(row.Findings)
}

func (p *printer) written(row outputRow) {
	p.line("%s %s", p.verdict(row.Verdict), row.File)
	if row.Verdict == written {
		if row.RunID != nil {
			p.line("  run id    %s", *row.RunID)
		}
		if row.RunRoot != nil {
			p.line("  run root  %s", string(*row.RunRoot))
		}
		p.line("  events    %d", row.Events)
		p.line("  file      %s  %s", bytesCount(row.Bytes), string(row.Digest))
	}
	p.findings(row.Findings)
}

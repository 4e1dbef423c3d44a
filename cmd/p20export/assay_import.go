package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/spell"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/importer"
)

// written is the verdict of an output file.
const written freeze.Verdict = "written"

// outputRow is what became of an output file. What follows the verdict is null
// when it was not written.
type outputRow struct {
	File    string         `json:"file"`
	Verdict freeze.Verdict `json:"verdict"`
	// RunID is that of the events; null also where each has its own.
	RunID  *string `json:"run_id"`
	Events *int    `json:"events"`
	// RunRoot identifies a bundle; lines have none.
	RunRoot  *digest.Digest    `json:"run_root"`
	Digest   *digest.Digest    `json:"digest"`
	Bytes    *int64            `json:"bytes"`
	Findings []finding.Finding `json:"findings"`
}

// do imports the artifacts and writes the events. All that is said goes to
// standard output, or to standard error where the events have that.
func (a *assayFlags) do(cmd *cobra.Command, paths []string, s importer.Settings) error {
	out := cmd.OutOrStdout()
	if a.toStdout() {
		out = cmd.ErrOrStderr()
	}
	p := newPrinter(out)
	progress, show := newImporting(cmd.ErrOrStderr(), len(paths))
	defer func() { progress.end() }()
	s.Progress = func(read int) { show(read) }
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
		p.w.Flush()
		progress, show = newImporting(cmd.ErrOrStderr(), len(paths))
	})
	var rows []outputRow
	if events != nil {
		defer events.Close()
		if a.toStdout() {
			progress.end()
		}
		progress.say("writing " + finding.Escape(a.file()))
		rows, err = a.write(cmd, events)
	}
	progress.end()
	switch interrupted := context.Cause(cmd.Context()); {
	case err != nil && interrupted != nil:
		return p.close(interrupted)
	case errors.Is(err, errOutput):
		return p.close(err)
	case err != nil:
		rows = []outputRow{a.failed(err)}
	case rows == nil && events != nil && *a.format == formatText:
		p.findings(events.Findings())
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

// toStdout reports whether the events go to standard output.
func (a *assayFlags) toStdout() bool { return a.file() == "-" }

// file is where the events go.
func (a *assayFlags) file() string { return cmp.Or(a.bundle, a.output, "-") }

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
		rows = append(rows, outputRow{o.File, written, o.RunID, &o.Events, o.RunRoot, &o.Digest, &o.Bytes, events.Findings()})
	}
	return rows, nil
}

// failed is the row of an output that was not written.
func (a *assayFlags) failed(err error) outputRow {
	f, _ := freeze.Explain(err)
	row := outputRow{File: a.file(), Verdict: freeze.Failed, Findings: []finding.Finding{f}}
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
		p.line("  events    %s", spell.Grouped(int64(*row.Events)))
		p.line("  file      %s  %s", spell.Bytes(*row.Bytes), string(*row.Digest))
	}
	p.findings(row.Findings)
}

package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/project/export"
)

// do imports the artifacts and writes the events. The results are printed to standard
// output, or to standard error if the events go to standard output.
func (a *assayFlags) do(cmd *cobra.Command, paths []string, s export.Settings) error {
	out := cmd.OutOrStdout()
	if a.toStdout() {
		out = cmd.ErrOrStderr()
	}
	p := render.New(out, *a.format, build.Tool())
	progress, show := render.NewImportProgress(cmd.ErrOrStderr(), len(paths))
	defer func() { progress.End() }()
	s.Progress = func(read int) { show(read) }
	s.Writing = func(step export.Step, done int) {
		progress.SetWriting(string(step), a.file(), done, len(paths), "event", "events")
	}
	var tally render.Tally
	events, err := export.Import(cmd.Context(), paths, s, func(row export.Row) {
		progress.End()
		tally.Add(row.Verdict)
		p.ImportFailure(row)
		p.Flush()
		progress, show = render.NewImportProgress(cmd.ErrOrStderr(), len(paths))
	})
	notImported := tally.Total()
	var rows []render.OutputRow
	if events != nil {
		defer events.Close()
		if a.toStdout() {
			progress.End()
		}
		rows, err = a.write(cmd, events)
	}
	progress.End()
	switch cause := interrupted(cmd); {
	case err != nil && cause != nil:
		return p.Close(cause)
	case errors.Is(err, render.ErrOutput):
		return p.Close(err)
	case err != nil:
		rows = []render.OutputRow{render.NewFailedOutput(a.file(), err)}
	case rows == nil && events != nil:
		p.ImportFindings(events.Findings())
	}
	if notImported > 0 {
		p.Note("nothing was written: %d of %s could not be imported", notImported, render.Plural(len(paths), "artifact", "artifacts"))
	}
	for _, row := range rows {
		tally.Add(row.Verdict)
		p.Output(row)
	}
	return p.Close(tally.Status.Err())
}

// toStdout reports whether the events go to standard output.
func (a *assayFlags) toStdout() bool { return a.file() == "-" }

// file returns the file that the events go to, or "-" for standard output.
func (a *assayFlags) file() string { return cmp.Or(a.bundle, a.output, "-") }

// write writes the events to the output that the flags name. It returns no rows if
// that is standard output.
func (a *assayFlags) write(cmd *cobra.Command, events *export.Events) ([]render.OutputRow, error) {
	var outputs []export.Output
	var err error
	switch {
	case a.bundle != "":
		outputs, err = events.WriteBundles(cmd.Context(), a.bundle, a.split)
	case a.output != "":
		var o export.Output
		o, err = events.WriteNDJSON(cmd.Context(), a.output)
		outputs = append(outputs, o)
	default:
		if err = events.WriteLines(cmd.Context(), cmd.OutOrStdout()); err != nil {
			err = fmt.Errorf("%w: %w", render.ErrOutput, err)
		}
	}
	if err != nil {
		return nil, err
	}
	return render.NewOutputs(outputs, events.Findings()), nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/ordered"
	"github.com/p20export/p20export/project/lint"
)

func newLint() *cobra.Command {
	var fl lintFlags
	cmd := &cobra.Command{
		Use:   "lint CAPTURE... | lint URL [--input REQUEST] [-o DIR] | lint --from-list FILE | lint --from-tar FILE",
		Short: "Check the events of captures or of an endpoint",
		Long: `Check the events of each CAPTURE: whether AG-UI allows their order
(docs/sequence.md) and their form (docs/vocabulary.md), whether a producer most
likely meant them, and how they were sent (docs/lint.md). A client ends a run at
the first event that breaks a rule of AG-UI; lint reports all breaches, each
with its rule, event, JSON Pointer, line, column and byte offset. It lists up to
100 findings per capture, errors first, and counts all.

With a URL, lint posts a short question to the endpoint, or the REQUEST of
--input, and checks the response. The capture is deleted afterwards, unless -o
names the directory DIR to keep it in.

--protocol auto applies the version that each RUN_STARTED declares, and the
current one if it declares none. 0.x means the order of events as the client
0.0.59 checks it, and not their form, for which that client may refuse a capture
without errors.

What a client drops or converts is a warning, listed once for each kind, and so
is what docs/lint.md describes. --rule and --off change the severity of a rule,
--fail-on the severity that makes the exit status 1, and --require names
features that each capture has to exercise. The file lint.json in the working
directory, or that of --config, has the same settings; flags win.

Events before the first RUN_STARTED are checked too, because the client sees
them. A frame that cannot be read is an error. From there to the next
RUN_STARTED, lint reports only breaches that the missing event could not have
prevented. The client accepts a run without an end, so lint only notes it.

A CAPTURE is a capture directory, a plain SSE, NDJSON or JSON array file, or -
for standard input. Any other directory means all captures in it and below it,
finished or not. Symbolic links in it are not followed.

` + cli.BatchHelp("captures", "each capture directory in the archive is one capture, and every file outside such a directory is a capture too") + `

lint does not affect artifacts: freeze and compare do not apply its rules.

Lines and columns are known for the first 8 MiB of a response. --format sarif
(SARIF 2.1.0) and --format junit (JUnit XML) write one document after all
captures have been checked, and nothing if interrupted. --format github writes
annotations for GitHub Actions.
` + exitHelp("no capture has a finding as severe as --fail-on", "a capture has one: it breaks a rule, has no events, or was changed after it was closed", ""),
		Example: `  p20export lint captures/one-turn
  p20export lint http://127.0.0.1:8011/
  p20export lint http://127.0.0.1:8011/ --input request.json -o captures/mine
  p20export lint captures --fail-on warning --off W14 --require text,tool-calls
  p20export lint --format sarif captures > findings.sarif
  p20export lint --from-tar captures.tar.gz --group
  p20export lint --protocol 0.x old.ndjson`,
		Args: cli.OneOrMore("CAPTURE or a URL"),
	}
	fl.addFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return fl.run(cmd, args) }
	return cmd
}

// run checks captures or an endpoint.
func (fl *lintFlags) run(cmd *cobra.Command, args []string) error {
	options, origin, err := fl.options(cmd)
	if err != nil {
		return err
	}
	if fl.group && *fl.format != render.Text && *fl.format != render.JSON {
		return fmt.Errorf("--group can only be used with --format text and json, not %s", *fl.format)
	}
	if slices.ContainsFunc(args, isEndpoint) && (len(args) > 1 || isURL(args[0])) {
		switch {
		case len(args) > 1:
			return errors.New("give one URL, and no captures with it")
		case cmd.Flags().Changed("jobs"):
			return errors.New("--jobs is only for captures, not for a URL")
		}
		return fl.runEndpoint(cmd, args[0], options, origin)
	}
	if err := fl.checkNoEndpoint(cmd); err != nil {
		if len(args) == 1 && isURL(args[0]) {
			return endpointError(args[0])
		}
		return err
	}
	src, err := openInputs(cmd, fl.batch, args)
	if err != nil {
		return err
	}
	defer src.Close()
	p := newPrinter(cmd, fl.format)
	result := lintResult{printer: p, group: fl.group, waits: *fl.format == render.Text}
	return p.Close(result.lintAll(cmd, src, fl.batch, args, options))
}

// lintResult prints rows, or the groups of their findings.
type lintResult struct {
	printer *render.Printer
	group   bool
	groups  lint.Groups
	tally   render.Tally
	// waits says that the first row waits for the second, because its text depends on
	// whether there is one.
	waits bool
	first *lint.Row // that waits, or nil
}

// lintAll checks the captures of a source and prints the rows. A list or archive that cannot
// be read to its end has a row of its own, after those of its captures.
func (r *lintResult) lintAll(cmd *cobra.Command, src *inputs.Source, batch *cli.Batch, args []string, o lint.Options) error {
	if isSingle(batch, args) {
		var row lint.Row
		cli.Reading(cmd, args[0], func(progress func(int64)) { row = lint.Capture(cmd.Context(), inputs.File(args[0]), o, progress) })
		if err := interrupted(cmd); err != nil {
			return err
		}
		r.add(row)
		return r.end("")
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	defer batch.Relax()()
	shown := r.printer.NewBatchProgress(cmd.ErrOrStderr(), "captures", src.InBytes(), src.Progress, r.tally.Counts)
	defer shown.End()
	all, sourceError := inputsOf(ctx, src)
	for row := range ordered.Map(ctx, batch.Jobs, all, func(_ int, in *inputs.Input) lint.Row {
		defer in.Close()
		return lint.Capture(ctx, in, o, nil)
	}) {
		r.add(row)
		if shown.Done(); !r.printer.Flush() {
			stop()
			break
		}
	}
	shown.End()
	if err := interrupted(cmd); err != nil {
		r.printFirst(false)
		return err
	}
	missing := ""
	switch err := sourceError(); {
	case err != nil && batch.HasArguments():
		r.printFirst(false)
		return inputError(err)
	case err != nil:
		r.print(lint.FailedRow(cmp.Or(batch.List, batch.Tar), o, err))
		r.tally.Status, missing = render.Failed, unread(batch)
	}
	return r.end(missing)
}

// add counts a row and prints it, or keeps what is printed at the end.
func (r *lintResult) add(row lint.Row) {
	if r.tally.AddLint(row); r.waits && !r.group && r.tally.Total() == 1 {
		r.first = &row
		return
	}
	r.print(row)
}

// print is add for a row that is not counted.
func (r *lintResult) print(row lint.Row) {
	if r.group {
		r.groups.Add(row)
		return
	}
	r.printFirst(false)
	r.printer.Lint(row, false)
}

// printFirst prints the row that waits.
func (r *lintResult) printFirst(single bool) {
	if r.first != nil {
		r.printer.Lint(*r.first, single)
		r.first = nil
	}
}

// end prints the groups and the summary. If the captures are not all, missing says why. It
// returns the exit status.
func (r *lintResult) end(missing string) error {
	r.printFirst(missing == "")
	if r.group {
		r.printer.LintGroups(&r.groups)
	}
	r.printer.LintSummary(&r.tally, missing)
	return r.tally.Status.Err()
}

// loadLintConfig loads the configuration file: the one that is named, or the one in the
// working directory, if there is one.
func loadLintConfig(ctx context.Context, path string) (*lint.Config, error) {
	named := path != ""
	if !named {
		path = lint.ConfigName
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a file; give another configuration with --config", path)
		}
		if _, err := os.Lstat(path); isMissing(err) {
			return new(lint.Config), nil
		}
	}
	c, err := lint.LoadConfig(ctx, path)
	switch {
	case err == nil:
		return c, nil
	case named:
		return nil, fmt.Errorf("--config %w", err)
	}
	return nil, err
}

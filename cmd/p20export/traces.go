package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/discovery/report"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/golden"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/tracediff"
)

// traceFlags are the flags that say what counts in a trace.
type traceFlags struct {
	config golden.Config
	file   string // with settings
	html   string
}

func addTraceFlags(cmd *cobra.Command) *traceFlags {
	fl := new(traceFlags)
	cmd.Flags().StringVar(&fl.html, "html", "", "captures: also write a page with both in two columns to `FILE`")
	cmd.Flags().StringVar(&fl.file, "config", "", "captures: read settings and matchers from `FILE`, a trace.json; other flags win")
	cmd.Flags().BoolVar(&fl.config.Raw, "raw", false, "captures: RAW events count")
	for _, c := range golden.Choices() {
		cmd.Flags().StringVar(c.Value(&fl.config), c.Name, c.Usual, fmt.Sprintf("captures: %s: `%s|%s`", c.Meaning, c.Usual, c.Other))
		cli.Complete(cmd, c.Name, c.Usual, c.Other)
	}
	return fl
}

// changed returns the name of a flag that was given, or "".
func (fl *traceFlags) changed(cmd *cobra.Command) string {
	for _, name := range []string{"config", "html", "raw"} {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	for _, c := range golden.Choices() {
		if cmd.Flags().Changed(c.Name) {
			return c.Name
		}
	}
	return ""
}

// parse returns what the flags say, or else the file with settings: the one of the flag, or the
// one in the directory of a golden.
func (fl *traceFlags) parse(cmd *cobra.Command, paths ...string) (tracediff.Settings, error) {
	file := fl.file
	for _, path := range paths {
		if _, ok := golden.TraceOf(path); ok && file == "" {
			file = filepath.Join(filepath.Dir(path), golden.ConfigName)
			if _, err := os.Stat(file); err != nil {
				file = ""
			}
		}
	}
	config := new(golden.Config)
	if file != "" {
		var err error
		if config, err = golden.LoadConfig(cmd.Context(), file); err != nil {
			return tracediff.Settings{}, fmt.Errorf("%w: %w", errInput, err)
		}
	}
	config.Raw = config.Raw || fl.config.Raw
	for _, c := range golden.Choices() {
		if cmd.Flags().Changed(c.Name) {
			*c.Value(config) = *c.Value(&fl.config)
		}
	}
	s, err := config.Settings()
	if err != nil {
		err = fmt.Errorf("--%w", err)
	}
	return s, err
}

// isTraced reports whether diff takes path as a capture or several: a directory, or a file with
// the name of a stream of events.
func isTraced(path string) bool {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return true
	}
	return slices.Contains([]string{".sse", ".ndjson", ".jsonl"}, filepath.Ext(path))
}

// diffCaptures compares two captures, or two directories of captures.
func diffCaptures(cmd *cobra.Command, a, b string, fl *traceFlags, f *render.Format) error {
	s, err := fl.parse(cmd, a, b)
	if err != nil {
		return err
	}
	s.Same = fl.html != ""
	several := capture.IsSearchRoot(a)
	if several != capture.IsSearchRoot(b) {
		one, other := a, b
		if several {
			one, other = b, a
		}
		return fmt.Errorf("%s is one capture and %s a directory of captures; name two of the same kind", finding.Quote(one), finding.Quote(other))
	}
	t := &render.Traces{Printer: newPrinter(cmd, f), Command: "diff", Several: several}
	if t.Page, err = newTracePage(fl.html, a, b); err != nil {
		return err
	}
	if !several {
		return endTraces(cmd, t, compareTraces(cmd, t, b, func(p scan.Progress, each func(tracediff.Difference) error) (tracediff.Row, error) {
			x, _ := golden.TraceOf(a)
			y, _ := golden.TraceOf(b)
			y.Progress = p
			return tracediff.Compare(cmd.Context(), x, y, s, each)
		}))
	}
	inA, err := capturesByName(cmd.Context(), a)
	if err != nil {
		return err
	}
	inB, err := capturesByName(cmd.Context(), b)
	if err != nil {
		return err
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(inA)), maps.Keys(inB))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		x, hasA := inA[name]
		y, hasB := inB[name]
		if hasA && hasB {
			err = compareTraces(cmd, t, y, func(p scan.Progress, each func(tracediff.Difference) error) (tracediff.Row, error) {
				return tracediff.Compare(cmd.Context(), tracediff.Trace{Path: x}, tracediff.Trace{Path: y, Name: name, Progress: p}, s, each)
			})
			if err != nil {
				break
			}
			continue
		}
		dir := a
		if hasA {
			dir = b
		}
		lacks := finding.New(finding.TraceUnmatched, "%s has no capture %s", finding.Quote(dir), finding.Quote(name)).WithHint("capture it too")
		t.Row(tracediff.Alone(name, x, y, !hasA, lacks))
	}
	return endTraces(cmd, t, err)
}

// newTracePage returns the page for --html, or nil without one.
func newTracePage(out string, captures ...string) (*report.Traces, error) {
	if out == "" {
		return nil, nil
	}
	if err := checkOutputFile("--html", out); err != nil {
		return nil, err
	}
	return report.NewTraces(build.Tool(), out, captures)
}

// capturesByName returns the captures in a directory by their path in it.
func capturesByName(ctx context.Context, dir string) (map[string]string, error) {
	found, err := capture.Find(ctx, []string{dir})
	if err != nil {
		return nil, inputError(err)
	}
	all := map[string]string{}
	for _, c := range found {
		all[filepath.ToSlash(filepath.Join(c.RelDir, filepath.Base(c.Path)))] = c.Path
	}
	return all, nil
}

// compareTraces does one comparison and prints it. The error is that of the output, or says that
// the command was interrupted.
func compareTraces(cmd *cobra.Command, t *render.Traces, path string, compare func(scan.Progress, func(tracediff.Difference) error) (tracediff.Row, error)) error {
	shown, progress := render.NewReadingProgress(cmd.ErrOrStderr(), path)
	defer shown.End()
	row, err := compare(progress, func(d tracediff.Difference) error {
		shown.End()
		if !t.Difference(d) {
			return render.ErrOutput
		}
		return nil
	})
	if cause := interrupted(cmd); cause != nil {
		return cause
	}
	if err == nil {
		shown.End()
		t.Row(row)
	}
	return err
}

// endTraces ends the output of comparisons that ended with err.
func endTraces(cmd *cobra.Command, t *render.Traces, err error) error {
	switch {
	case errors.Is(err, render.ErrOutput):
		return t.Close(nil) // which returns the error
	case err != nil:
		return t.Close(err)
	}
	status := t.End()
	if t.Page != nil {
		if err := t.Page.Write(cmd.Context()); err != nil {
			return t.Close(fmt.Errorf("%w: %w", render.ErrOutput, err))
		}
		t.Note("page written: %s", t.Page.Path())
	}
	return t.Close(status.Err())
}

// goldenFlags are the flags of compare about goldens.
type goldenFlags struct {
	dir, write, reason, html string
	force                    bool
}

func (fl *goldenFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&fl.dir, "golden", "", "compare event by event with the goldens in `DIR`")
	cmd.Flags().StringVar(&fl.write, "write-golden", "", "write the goldens in `DIR` that differ, or that it does not have")
	cmd.Flags().StringVar(&fl.reason, "reason", "", "with --write-golden: why they change, in one line of `TEXT` for DIR/CHANGES.md")
	cmd.Flags().StringVar(&fl.html, "html", "", "with --golden: also write a page with goldens and captures in two columns to `FILE`")
	cmd.Flags().BoolVar(&fl.force, "force", false, "with --write-golden: write them even in CI")
}

// given reports whether goldens are compared or written. The error says which flags do not go
// together.
func (fl *goldenFlags) given(cmd *cobra.Command) (bool, error) {
	flags := cmd.Flags()
	reading, writing := flags.Changed("golden"), flags.Changed("write-golden")
	for _, name := range []string{"golden", "write-golden"} {
		if f := flags.Lookup(name); f.Changed && f.Value.String() == "" {
			return false, fmt.Errorf("--%s is empty", name)
		}
	}
	for _, name := range []string{"reason", "force"} {
		if flags.Changed(name) && !writing {
			return false, fmt.Errorf("--%s can only be used with --write-golden", name)
		}
	}
	if flags.Changed("html") && !reading {
		return false, errors.New("--html can only be used with --golden; p20export report makes a page of captures")
	}
	if !reading && !writing {
		return false, nil
	}
	for _, name := range []string{"baseline", "write-baseline", "contract", "details", "fail-on"} {
		if flags.Changed(name) {
			return false, fmt.Errorf("--%s is about the contract, and goldens about every event; run compare twice", name)
		}
	}
	switch {
	case reading && writing:
		return false, errors.New("give either --golden or --write-golden, not both")
	case writing && !flags.Changed("reason"):
		return false, errors.New("--write-golden needs --reason: say in one line why the goldens change")
	case writing:
		if err := golden.CheckReason(fl.reason); err != nil {
			return false, fmt.Errorf("--reason: %w", err)
		}
		if ci := os.Getenv("CI"); ci != "" && ci != "false" && ci != "0" && !fl.force {
			return false, errors.New("goldens are not written in CI (the environment has CI=" + finding.Escape(ci) + "): write them where you can read what changed and commit them; --force writes them anyway")
		}
	}
	return true, nil
}

// run compares captures with goldens, or writes goldens.
func (fl *goldenFlags) run(cmd *cobra.Command, paths []string, quiet bool, f *render.Format) error {
	if err := golden.Check(paths); err != nil {
		return err
	}
	dir, err := openGoldens(cmd, fl.dir+fl.write)
	if err != nil {
		return err
	}
	if fl.write != "" {
		return writeGoldens(cmd, dir, paths, fl.reason, quiet, f)
	}
	if err := checkGoldens(dir); err != nil {
		return err
	}
	dir.Settings.Same = fl.html != ""
	t := &render.Traces{Printer: newPrinter(cmd, f), Command: "compare", Golden: true, Several: true, Quiet: quiet, Dir: fl.dir}
	if t.Page, err = newTracePage(fl.html, paths...); err != nil {
		return err
	}
	return endTraces(cmd, t, compareGoldens(cmd, t, dir, paths, golden.Names(paths)))
}

// openGoldens opens a directory of goldens.
func openGoldens(cmd *cobra.Command, path string) (*golden.Directory, error) {
	dir, err := golden.Open(cmd.Context(), path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errInput, err)
	}
	return dir, nil
}

// checkGoldens returns an error if the directory is not there.
func checkGoldens(dir *golden.Directory) error {
	if dir.Exists() {
		return nil
	}
	return fmt.Errorf("%w: the directory %s does not exist; write goldens with: p20export compare CAPTURES --write-golden DIR --reason TEXT", errInput, finding.Quote(dir.Path))
}

// compareGoldens compares captures with their goldens. Goldens without a scenario are printed
// too.
func compareGoldens(cmd *cobra.Command, t *render.Traces, dir *golden.Directory, paths, scenarios []string) error {
	for _, path := range paths {
		if err := compareTraces(cmd, t, path, func(p scan.Progress, each func(tracediff.Difference) error) (tracediff.Row, error) {
			return dir.Compare(cmd.Context(), path, p, each)
		}); err != nil {
			return err
		}
	}
	rest, err := dir.Rest(scenarios)
	if err != nil {
		return fmt.Errorf("%w: %w", errInput, err)
	}
	for _, row := range rest {
		t.Row(row)
	}
	return nil
}

// writeGoldens writes the goldens of captures.
func writeGoldens(cmd *cobra.Command, dir *golden.Directory, paths []string, reason string, quiet bool, f *render.Format) error {
	if *f != render.Text && *f != render.JSON {
		return fmt.Errorf("--write-golden prints text or JSON, not %s", *f)
	}
	p := newPrinter(cmd, f)
	rows, err := dir.Write(cmd.Context(), paths, reason, time.Now(), func(path string, read func(scan.Progress)) {
		cli.Reading(cmd, path, func(progress func(int64)) { read(progress) })
	})
	if cause := interrupted(cmd); cause != nil && rows == nil {
		return p.Close(cause)
	}
	if err != nil {
		return p.Close(fmt.Errorf("%w: %w", render.ErrOutput, err))
	}
	status := p.Goldens(rows, quiet)
	if status != render.Done {
		p.Note("no golden was written, because not every capture can become one")
	}
	rest, err := dir.Rest(golden.Names(paths))
	if err != nil {
		return p.Close(fmt.Errorf("%w: %w", errInput, err))
	}
	for _, row := range rest {
		p.Note("%s has no capture here; delete it if its scenario is no more", row.A.Capture)
	}
	return p.Close(status.Err())
}

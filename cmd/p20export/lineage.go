package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/logs"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/ordered"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/store"
)

// maxLineage is the maximum number of runs in a graph. It bounds memory.
const maxLineage = 200_000

func newLineage() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "lineage CAPTURE... | lineage --store URL THREAD...",
		Short: "Show which run continues which",
		Long: `Show the runs of threads as trees: which run continues which, and where branches
begin. The runs are those of captures, or with --store those of threads of a log
(P20EXPORT_STORE alone does not select a log).

The parent of a run is the last run before it in its thread with the id that
parentRunId names, in RUN_STARTED or else in the request. A run without
parentRunId continues the run before it in the thread; a run whose parent is not
found is a root. A run has one parent, so branches are never merged. Captures
are put in the order in which their runs began; those without times stay after
the capture before them.

Formats:
  text     a tree: below a run comes the run that continues it. If several do,
           the one that most runs descend from is in the same column, and the
           others are indented
  json     a row for each thread
  dot      a graph for Graphviz; edges without parentRunId are dashed
  mermaid  a flowchart for Mermaid, whose default limit is 500 edges

With dot and mermaid, findings are written to standard error. A lineage is not
evidence.

` + cli.BatchHelp("captures", "the archive contains captures") + `
` + exitHelp("the graph was printed", "a capture has no run or was refused, or with --strict there is a finding", "a capture or the log could not be read"),
		Example: `  p20export lineage captures
  p20export lineage captures --format dot | dot -Tsvg -o lineage.svg
  p20export lineage --store sqlite:events.db THREAD`,
		Args: cli.OneOrMore("CAPTURE, or a THREAD with --store"),
	}
	f := addStoreFlags(cmd)
	cmd.Flags().Lookup("store").Usage = "`URL` of the log that has the threads: sqlite:FILE or postgres://USER@HOST/DATABASE"
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with status 1 if there is a finding")
	batch := cli.AddBatch(cmd, "captures")
	format := cli.AddFormat(cmd, render.Dot, render.Mermaid)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if f.url != "" {
			return completeThreads(cmd, args, prefix)
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p := newPrinter(cmd, format)
		about := p // where findings go
		if *format == render.Dot || *format == render.Mermaid {
			about = render.New(cmd.ErrOrStderr(), render.Text, build.Tool())
			defer about.Close(nil)
		}
		var runs []lineage.Run
		var status render.Status
		var err error
		switch {
		case f.url != "" && !batch.HasArguments():
			return errors.New("with --store, name threads, not captures")
		case f.url != "":
			runs, err = f.lineage(cmd.Context(), args)
		case f.tenant != "" || f.passwordFile != "":
			return errors.New("--tenant and --password-file need --store")
		default:
			runs, status, err = lineageOfCaptures(cmd, batch, args, about)
		}
		if err != nil {
			return p.Close(err)
		}
		g := lineage.New(runs)
		p.Lineage(g)
		for _, t := range g.Threads {
			found := t.Findings()
			if about != p {
				about.Findings(found)
			}
			if finding.Failed(found) || strict && len(found) > 0 {
				status = status.Worse(render.Negative)
			}
		}
		return p.Close(status.Err())
	}
	return cmd
}

// lineage returns the runs of threads of a log.
func (f *storeFlags) lineage(ctx context.Context, threads []string) (runs []lineage.Run, err error) {
	log, err := f.open(ctx, logs.Existing)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	for i, id := range threads {
		if slices.Contains(threads[:i], id) {
			continue
		}
		if _, err := f.existing(ctx, log, id); err != nil {
			return nil, err
		}
		for r, err := range log.Runs(ctx, store.RunQuery{Tenant: &f.tenant, Thread: &id}) {
			if err == nil && len(runs) == maxLineage {
				err = errLineage
			}
			if err != nil {
				return nil, f.failed(err)
			}
			runs = append(runs, lineage.Run{
				Thread: r.Thread, ID: r.ID, ParentID: r.Parent, Source: r.Stream, Position: r.Start, Events: r.Entries,
				StartedAt: r.StartedAt, LastAt: r.LastAt, End: lineage.End(r.End),
			})
		}
	}
	return runs, nil
}

// errLineage reports that a graph would need too much memory.
var errLineage = errors.New("a lineage can have 200,000 runs; name fewer threads or captures")

// captured is what lineage reads of a capture.
type captured struct {
	path     string
	runs     []lineage.Run
	request  []byte
	findings []finding.Finding // why there are no runs
	status   render.Status
}

// lineageOfCaptures returns the runs of captures in the order in which they began. It prints
// why a capture has none.
func lineageOfCaptures(cmd *cobra.Command, batch *cli.Batch, args []string, p *render.Printer) (runs []lineage.Run, worst render.Status, err error) {
	src, err := openInputs(cmd, batch, args)
	if err != nil {
		return nil, 0, err
	}
	defer src.Close()
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	defer batch.Relax()()
	shown := p.NewBatchProgress(cmd.ErrOrStderr(), "captures", src.InBytes(), src.Progress, func() string { return "" })
	defer shown.End()
	all, sourceError := inputsOf(ctx, src)
	for c := range ordered.Map(ctx, batch.Jobs, all, func(_ int, in *inputs.Input) *captured {
		defer in.Close()
		return readLineage(ctx, in)
	}) {
		shown.Done()
		if runs = append(runs, c.runs...); len(runs) > maxLineage {
			return nil, 0, fmt.Errorf("%w: %w", errInput, errLineage)
		}
		if c.runs == nil {
			p.Unread(c.path, c.findings)
			worst = worst.Worse(c.status)
		}
	}
	if err := interrupted(cmd); err != nil {
		return nil, 0, err
	}
	if err := sourceError(); err != nil {
		return nil, 0, inputError(err)
	}
	byStart(runs)
	return runs, worst, nil
}

// byStart sorts runs by the time of their start. Runs without a time follow the run before
// them.
func byStart(runs []lineage.Run) {
	type timed struct {
		lineage.Run
		at time.Time
	}
	list := make([]timed, len(runs))
	var at time.Time
	for i, run := range runs {
		if !run.StartedAt.IsZero() {
			at = run.StartedAt
		}
		list[i] = timed{run, at}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].at.Before(list[j].at) })
	for i := range list {
		runs[i] = list[i].Run
	}
}

// readLineage reads the runs of a capture.
func readLineage(ctx context.Context, in *inputs.Input) *captured {
	c := &captured{path: in.Path}
	err := c.read(ctx, in)
	switch {
	case err != nil:
		f, isVerdict := finding.FromError(err)
		if errors.Is(err, fs.ErrNotExist) && os.Getenv(storeVariable) != "" {
			f = f.WithHint("check the path; to show a thread of a log, name the log with --store")
		}
		c.runs, c.findings, c.status = nil, []finding.Finding{f}, render.Failed
		if isVerdict {
			c.status = render.Negative
		}
	case c.runs == nil:
		c.status = render.Negative
	}
	return c
}

func (c *captured) read(ctx context.Context, in *inputs.Input) error {
	opened, err := in.Open(ctx)
	if err != nil {
		return err
	}
	defer opened.Close()
	if c.request, err = opened.Request(); err != nil {
		return err
	}
	r, err := scan.Run(ctx, opened, nil, c)
	c.findings = r.Findings
	return err
}

// Begin implements scan.Consumer.
func (c *captured) Begin(*envelope.Run) scan.Observer { return c }

// Event implements scan.Observer.
func (c *captured) Event(*envelope.Event) {}

// End implements scan.Observer.
func (c *captured) End(run *envelope.Run) error {
	if len(c.runs) == scan.MaxRuns {
		return scan.TooManyRuns(run)
	}
	c.runs = append(c.runs, lineage.OfCapture(c.path, run, c.request))
	c.request = nil // it belongs to the first run
	return nil
}

// Finish implements scan.Consumer.
func (c *captured) Finish(scan.Result) error { return nil }

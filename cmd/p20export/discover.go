package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery"
	"github.com/p20export/p20export/project/freeze"
)

type discoverFlags struct {
	out, scenarios, harness string
	only                    []string
	learn                   bool
	exchange                exchange
	format                  *format
}

func newDiscover() *cobra.Command {
	var fl discoverFlags
	cmd := &cobra.Command{
		Use:   "discover URL --scenarios FILE -o DIR | discover --harness DIR --scenarios FILE -o DIR",
		Short: "Run a list of scenarios against an endpoint, a capture of each",
		Long: `Post the request of every scenario in FILE to an endpoint, one at a time and in
order, keep each answer as a capture in DIR/SCENARIO, and say what the three
projections make of it. Every answer is worth keeping: an HTTP error status is
shown and is no failure.

At the end the captures answer the discovery gate (P20 §14.3), and say what runs
would have to change. The gate is met when one run at least emits exactly one
snapshot and gives an artifact of it that is smaller than the run; p20export
compare judges run by run.

A scenario file is JSON. A path is below URL; without one it is URL itself. Each
request is an AG-UI run input:

  {"scenarios": [
    {"name": "one-turn", "about": "A question and an answer.", "path": "/agent",
     "request": {"threadId": "t", "runId": "r", "state": {}, "messages":
       [{"id": "1", "role": "user", "content": "Hello"}],
       "tools": [], "context": [], "forwardedProps": {}}}
  ]}

A harness is a directory with harness.json, which says how a server with the
integration is started there:

  {"name": "mine", "integration": {"name": "my-package", "version": "1.2.0"},
   "command": [".venv/bin/python", "serve.py"]}

The server stays in the foreground and prints "listening on URL" once it accepts
connections, within two minutes. At the end it gets SIGTERM, and ten seconds
later SIGKILL. Its captures are labelled integration, version and scenario; where
the exit status is not 0, the end of its log is shown.

When the harness's directory also has expected.json, each capture is held
against what that expects of its scenario, and a scenario for which it has a
note instead is not run. --write-expected writes that file from what is seen: a
list with "expect" for each scenario, in place of which you may put "note", why
the integration cannot express it; the notes stay when it is written again. It
takes what it sees, broken answers too, and its exit status is 0 once it is
written.

Captures are never written into again: when the place of one is taken, nothing
is run. When nothing accepts a connection the rest is not run. Ctrl-C closes the
capture under way as cancelled; those before it are whole. Headers are given as
for p20export capture.

Exit status: 0 every scenario was captured, and the captures are as expected or,
where nothing is expected and no --only given, meet the gate; 1 they are not, or
do not; 2 the command line is wrong; 3 a scenario could not be captured whole;
130 or 143 interrupted.`,
		Example: `  p20export discover http://127.0.0.1:8011/ --scenarios scenarios.json -o captures
  p20export discover --harness discovery/harness/adk --scenarios discovery/scenarios.json -o captures
  p20export discover http://127.0.0.1:8011/ --scenarios scenarios.json -o again \
      --only one-turn --only model-error --format json`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVarP(&fl.out, "output", "o", "", "directory of the captures, one directory a scenario (required)")
	flags.StringVar(&fl.scenarios, "scenarios", "", "file of the scenarios (required)")
	flags.StringVar(&fl.harness, "harness", "", "start the server that this directory describes, instead of asking a URL")
	flags.StringArrayVar(&fl.only, "only", nil, "run this scenario alone (repeatable)")
	flags.BoolVar(&fl.learn, "write-expected", false, "write what is seen as the harness's expected.json; its notes stay")
	fl.exchange.addFlags(cmd)
	fl.format = addFormat(cmd)
	for _, name := range []string{"output", "scenarios"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	if err := cmd.RegisterFlagCompletionFunc("only", fl.completeOnly); err != nil {
		panic(err)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return fl.run(cmd, args) }
	return cmd
}

// completeOnly offers the names of the scenarios, when their file can be read.
func (fl *discoverFlags) completeOnly(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if list, err := discovery.LoadList(fl.scenarios); err == nil {
		for _, s := range list.Scenarios {
			names = append(names, s.Name+"\t"+s.About)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (fl *discoverFlags) run(cmd *cobra.Command, args []string) error {
	plan, harness, err := fl.plan(cmd.Context(), args)
	if err != nil {
		return err
	}
	p := newPrinter(cmd.OutOrStdout())
	taken, err := plan.Blocked()
	if err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	if len(taken) > 0 {
		for _, row := range taken {
			fl.show(p, row)
		}
		return p.close(status(exitFailed))
	}
	done, err := fl.discover(cmd, p, plan, harness)
	if err != nil {
		return p.close(err)
	}
	return p.close(done.err())
}

// discover runs the plan, against the harness's server where there is one, and
// shows each row as it comes.
func (fl *discoverFlags) discover(cmd *cobra.Command, p *printer, plan *discovery.Plan, harness *discovery.Harness) (done status, err error) {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	if harness != nil {
		// Lest a closed standard output ends this program and not the server.
		pipe := make(chan os.Signal, 1)
		signal.Notify(pipe, syscall.SIGPIPE)
		defer signal.Stop(pipe)
		starting := newProgress(stderr, "starting the harness "+harness.Name)
		patience, stop := untilSecondSignal(ctx)
		defer stop()
		server, err := harness.Start(ctx, patience)
		starting.end()
		if err != nil {
			return exitFailed, fmt.Errorf("%w: %w", errHarness, err)
		}
		defer func() {
			server.Stop()
			if done != exitDone && ctx.Err() == nil {
				showLog(stderr, harness.Name, server.Log())
			}
		}()
		plan.Request.URL = server.URL
	}
	bar := &discovering{w: stderr, total: len(plan.Scenarios)}
	plan.Progress = bar.show
	count := make(map[freeze.Verdict]int)
	var rows []discovery.Row
	var captures []string
	for row := range plan.Run(ctx) {
		bar.next()
		fl.show(p, row)
		if p.w.Flush() != nil {
			return done, nil // close says why
		}
		count[row.Verdict]++
		done = done.worse(statusOf(row.Verdict))
		rows = append(rows, row)
		if row.Capture != nil {
			captures = append(captures, *row.Capture)
		}
	}
	if *fl.format == formatText {
		p.discovered(count, len(plan.Scenarios))
	}
	if ctx.Err() != nil {
		return done, context.Cause(ctx)
	}
	if len(captures) > 0 {
		met, err := fl.answer(ctx, p, captures)
		if err != nil {
			return done, err
		}
		if !met && plan.Suite == nil && len(fl.only) == 0 {
			done = done.worse(exitNegative)
		}
	}
	switch {
	case fl.learn && done == exitDone:
		return done, fl.write(p, plan, rows)
	case fl.learn:
		fmt.Fprintln(stderr, "p20export: nothing was written as expected, as not every scenario was captured whole")
	}
	return done, nil
}

// write writes what was seen as what is expected of the harness.
func (fl *discoverFlags) write(p *printer, plan *discovery.Plan, rows []discovery.Row) error {
	suite, err := plan.Learned(rows)
	if err != nil {
		return fmt.Errorf("%w: nothing was written as expected: %w", errInput, err)
	}
	path := filepath.Join(fl.harness, discovery.ExpectedName)
	if err := suite.Write(path); err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	if *fl.format == formatText {
		p.line("expectations written: %s", path)
	}
	return nil
}

// answer answers the discovery gate from the captures, and reports whether they
// meet it. The error is the cause of ctx's end: captures that were not read to
// their end answer nothing.
func (fl *discoverFlags) answer(ctx context.Context, p *printer, captures []string) (met bool, err error) {
	var runs []discovery.Examination
	for _, path := range captures {
		runs = append(runs, discovery.Examine(ctx, path, artifact.V1, nil)...)
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	g := discovery.Answered(runs, artifact.V1)
	if *fl.format == formatJSON {
		p.json(gateRow{g})
	} else {
		p.gate(g)
	}
	return g.Met, nil
}

func (fl *discoverFlags) show(p *printer, row discovery.Row) {
	if *fl.format == formatJSON {
		p.json(row)
		return
	}
	p.scenario(row)
}

package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/cmd/p20export/internal/signals"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/discovery/scenario"
)

type discoverFlags struct {
	out, scenarios, harness string
	only                    []string
	learn                   bool
	exchange                exchange
	format                  *render.Format
}

func newDiscover() *cobra.Command {
	var fl discoverFlags
	cmd := &cobra.Command{
		Use:   "discover URL --scenarios FILE -o DIR | discover --harness DIR --scenarios FILE -o DIR",
		Short: "Run a list of scenarios against an endpoint, a capture of each",
		Long: `Post the request of every scenario in FILE to an endpoint, one at a time and in
order, keep each answer as a capture in DIR/SCENARIO, and say what the three
projections make of it. Every answer is kept. An HTTP error status is an error,
as it is for p20export capture, unless expected.json says what is expected of
the scenario.

At the end the captures answer the discovery gate (P20 §14.3), and say what runs
would have to change. The gate is met when every run of the scenarios that the
list marks as needed (all, where it marks none) emits exactly one snapshot, no
streamed text was found lacking in it, and its artifact is smaller than the run;
p20export compare judges run by run.

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
later SIGKILL. On Unix systems SIGKILL also ends it, and what it started, when
p20export itself is killed; /bin/sh is needed for that. Its captures are
labelled integration, version and scenario; where the exit status is not 0, the
end of its log is shown.

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
do not; 2 the command line is wrong, or the Go runtime failed; 3 a scenario
could not be captured whole, or was answered with an HTTP error without an
expectation; 129, 130 or 143 ended by SIGHUP, SIGINT or SIGTERM.`,
		Example: `  p20export discover http://127.0.0.1:8011/ --scenarios scenarios.json \
      -o captures
  p20export discover --harness discovery/harness/adk \
      --scenarios discovery/scenarios.json -o captures
  p20export discover http://127.0.0.1:8011/ --scenarios scenarios.json \
      -o again --only one-turn --only model-error --format json`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVarP(&fl.out, "output", "o", "", "`DIR` of the captures, one directory a scenario (required)")
	flags.StringVar(&fl.scenarios, "scenarios", "", "`FILE` of the scenarios (required)")
	flags.StringVar(&fl.harness, "harness", "", "start the server that `DIR` describes, instead of asking a URL")
	flags.StringArrayVar(&fl.only, "only", nil, "run the scenario `NAME` alone (repeatable)")
	flags.BoolVar(&fl.learn, "write-expected", false, "write what is seen as the harness's expected.json; its notes stay")
	fl.exchange.addFlags(cmd)
	fl.format = cli.AddFormat(cmd)
	cli.Require(cmd, "output", "scenarios")
	cli.CompleteBy(cmd, "only", fl.completeOnly)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return fl.run(cmd, args) }
	return cmd
}

// completeOnly offers the names of the scenarios, when their file can be read.
func (fl *discoverFlags) completeOnly(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if list, err := scenario.LoadList(fl.scenarios); err == nil {
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
	p := newPrinter(cmd, fl.format)
	taken, err := plan.Blocked()
	if err != nil {
		return fmt.Errorf("%w: %w", render.ErrOutput, err)
	}
	if len(taken) > 0 {
		for _, row := range taken {
			p.Scenario(row)
		}
		return p.Close(render.Failed)
	}
	done, err := fl.discover(cmd, p, plan, harness)
	if err != nil {
		return p.Close(err)
	}
	return p.Close(done.Err())
}

// discover runs the plan, against the harness's server where there is one, and
// shows each row as it comes.
func (fl *discoverFlags) discover(cmd *cobra.Command, p *render.Printer, plan *scenario.Plan, harness *scenario.Harness) (done render.Status, err error) {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	if harness != nil {
		// Lest a closed standard output ends this program and not the server.
		pipe := make(chan os.Signal, 1)
		signal.Notify(pipe, syscall.SIGPIPE)
		defer signal.Stop(pipe)
		starting := render.NewProgress(stderr, "starting the harness "+harness.Name)
		kill, stop := signals.UntilSecond(ctx)
		defer stop()
		server, err := harness.Start(ctx, kill)
		starting.End()
		if err != nil {
			return render.Failed, fmt.Errorf("%w: %w", errHarness, err)
		}
		defer func() {
			server.Stop()
			if done != render.Done && ctx.Err() == nil {
				render.Log(stderr, harness.Name, server.Log())
			}
		}()
		plan.Request.URL = server.URL
	}
	bar := render.NewDiscovering(stderr, len(plan.Scenarios))
	plan.Progress = bar.Show
	var tally render.Tally
	var rows []scenario.Row
	var runs []analysis.Run
	for row := range plan.Run(ctx) {
		bar.Next()
		p.Scenario(row)
		tally.Add(row.Verdict)
		if !p.Flush() {
			return tally.Status, nil // Close says why
		}
		rows, runs = append(rows, row), append(runs, row.Runs...)
	}
	p.Discovered(&tally, len(plan.Scenarios))
	done = tally.Status
	if err := interrupted(cmd); err != nil {
		return done, err
	}
	if len(runs) > 0 {
		g := gate.Evaluate(runs, (&scenario.List{Scenarios: plan.Scenarios}).Needed(), artifact.V1)
		p.Gate(g)
		if !g.Met && plan.Suite == nil && len(fl.only) == 0 {
			done = done.Worse(render.Negative)
		}
	}
	switch {
	case fl.learn && done == render.Done:
		return done, fl.write(p, plan, rows)
	case fl.learn:
		fmt.Fprintln(stderr, "p20export: nothing was written as expected, as not every scenario was captured whole")
	}
	return done, nil
}

// write writes what was seen as what is expected of the harness.
func (fl *discoverFlags) write(p *render.Printer, plan *scenario.Plan, rows []scenario.Row) error {
	suite, err := plan.Expected(rows)
	if err != nil {
		return fmt.Errorf("%w: nothing was written as expected: %w", errInput, err)
	}
	path := filepath.Join(fl.harness, scenario.ExpectedName)
	if err := suite.Write(path); err != nil {
		return fmt.Errorf("%w: %w", render.ErrOutput, err)
	}
	p.Note("expectations written: %s", path)
	return nil
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/cmd/p20export/internal/signals"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/project/golden"
)

type discoverFlags struct {
	out, scenarios, harness   string
	golden                    string
	goldens                   *golden.Directory // nil without --golden
	repeat                    int
	temporary                 string // the directory for captures that are not kept
	only                      []string
	writeExpected, gate       bool
	printList, details, quiet bool
	failOn                    *render.FailOn
	endpoint                  requestFlags
	format                    *render.Format
}

func newDiscover() *cobra.Command {
	var fl discoverFlags
	cmd := &cobra.Command{
		Use:   "discover URL | discover --harness DIR",
		Short: "Run scenarios against an endpoint, and report whether it qualifies",
		Long: `Does my integration qualify? Give the URL that your client posts runs to:

  p20export discover http://127.0.0.1:8000/agent

discover posts AG-UI requests, called scenarios, to the URL and captures the
responses one after the other. It prints a line as each scenario ends, then a
table of verdicts, and then whether the integration qualifies or what it has to
change.

The integration qualifies if every run of the needed scenarios, which are plain
conversations, qualifies. A run qualifies if all of this is true:

  - It finishes with a reply.
  - It emits exactly one MESSAGES_SNAPSHOT, and no text that the run streamed
    was found to be missing from it.
  - The artifact made from it is smaller than the run.
  - The response is complete, has HTTP status 200, is an event stream and
    contains no other run.

Other scenarios are only shown, even if they end in an HTTP error. The verdicts
are those of p20export compare. Whether the integration qualifies is not known
in three cases:

  - No response to a needed scenario contains a run.
  - Some responses to needed scenarios were truncated, and the others qualify.
  - --only left needed scenarios out, and the ones that ran qualify.

The program has its own list of scenarios. Those that suit any agent are posted
to the URL itself; --print-scenarios prints them. --scenarios FILE runs the
scenarios in a file instead; paths in the file are relative to the URL.
Scenarios marked "anywhere": true get new UUIDs as thread and run ids, so that
each attempt is a new conversation. All other requests are sent unchanged.

The captures are deleted at the end unless -o DIR keeps them, in DIR/SCENARIO.
An existing capture is never written to again. Ctrl-C closes the current capture
and marks it as cancelled. Give headers as for p20export capture.

--harness DIR starts the server that DIR/harness.json describes, runs every
scenario against it, and stops it. If DIR contains expected.json, the captures
are compared with it; --write-expected writes that file. docs/integrations.md
and discovery/harness/README.md describe these files.

--golden DIR also compares every event with the goldens in DIR, as p20export
compare --golden does. --repeat N captures each scenario N times, and reports
what differs between the captures: values, as matchers for DIR/trace.json, and
events. The server of a harness is restarted each time.

With --fail-on V the exit status is 1 if a run of a needed scenario has the
verdict V or a worse one, whether or not the integration qualifies. With
--fail-on none it is never 1. --gate also answers the questions of the discovery
gate (P20 §14.3).
` + exitHelp("the integration qualifies; with --only, no needed scenario ran, or those that ran qualify; with expected.json, all is as expected; with --golden, all captures equal theirs; with --repeat, nothing differs",
			"it does not qualify, or something is not as expected, differs from a golden, or differs between repetitions; with --fail-on V, a run of a needed scenario is V or worse",
			"unknown although needed scenarios ran; a scenario was not captured completely; or a needed one returned an unexpected HTTP error or no event stream"),
		Example: `  p20export discover http://127.0.0.1:8000/agent
  p20export discover http://127.0.0.1:8000/agent -o captures \
      --header 'Authorization: Bearer $TOKEN'
  p20export discover http://127.0.0.1:8000/agent --quiet --fail-on incomplete
  p20export discover --print-scenarios > scenarios.json
  p20export discover http://127.0.0.1:8000/ --scenarios scenarios.json \
      --only one-turn --only unicode --details
  p20export discover http://127.0.0.1:8000/agent --repeat 3 -o captures
  p20export discover http://127.0.0.1:8000/agent --golden golden
  p20export discover --harness discovery/harness/adk -o captures`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVarP(&fl.out, "output", "o", "", "keep the captures in `DIR`, a directory for each scenario")
	flags.StringVar(&fl.scenarios, "scenarios", "", "run the scenarios in `FILE` instead of the program's own")
	flags.StringVar(&fl.harness, "harness", "", "start the server that `DIR` describes, instead of using a URL")
	flags.StringArrayVar(&fl.only, "only", nil, "run only the scenario `NAME` (repeatable)")
	flags.BoolVar(&fl.writeExpected, "write-expected", false, "write the results to the harness's expected.json, and keep its notes")
	flags.BoolVar(&fl.printList, "print-scenarios", false, "print the scenarios as a file, and run none; can be used with --scenarios and --only")
	flags.BoolVar(&fl.details, "details", false, "show everything about each scenario")
	flags.BoolVarP(&fl.quiet, "quiet", "q", false, "print only whether the integration qualifies, and how many scenarios differ from goldens")
	flags.StringVar(&fl.golden, "golden", "", "also compare the captures event by event with the goldens in `DIR`, as compare does")
	flags.IntVar(&fl.repeat, "repeat", 1, "capture each scenario `N` times, and report what differs between them")
	flags.BoolVar(&fl.gate, "gate", false, "also answer the questions of the discovery gate")
	fl.failOn = cli.AddFailOn(cmd, "a run of a needed scenario")
	fl.endpoint.addFlags(cmd)
	fl.format = cli.AddFormat(cmd)
	cli.CompleteBy(cmd, "only", fl.completeOnly)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return fl.run(cmd, args) }
	return cmd
}

// completeOnly completes --only with the names of the scenarios that are not given
// yet. It offers none if their file cannot be read.
func (fl *discoverFlags) completeOnly(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if list, err := fl.list(cmd.Context()); err == nil {
		for _, s := range list.Scenarios {
			if !slices.Contains(fl.only, s.Name) {
				names = append(names, s.Name+"\t"+s.About)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (fl *discoverFlags) run(cmd *cobra.Command, args []string) error {
	if err := fl.check(cmd, args); err != nil {
		return err
	}
	p := newPrinter(cmd, fl.format)
	if fl.printList {
		return fl.print(cmd.Context(), p)
	}
	plan, harness, err := fl.plan(cmd.Context(), args)
	if err != nil {
		return err
	}
	if fl.golden != "" {
		if fl.goldens, err = openGoldens(cmd, fl.golden); err != nil {
			return err
		}
		if !fl.goldens.Exists() && fl.repeat == 1 { // with --repeat there need not be any yet
			return checkGoldens(fl.goldens)
		}
	}
	if plan.Dir == "" || fl.repeat > 1 {
		dir, remove, err := fl.makeTempDir()
		if err != nil {
			return err
		}
		defer remove()
		fl.temporary = dir
		plan.Dir = cmp.Or(plan.Dir, dir)
	}
	taken, err := plan.Conflicts()
	if err != nil {
		return fmt.Errorf("%w: %w", render.ErrOutput, err)
	}
	if len(taken) > 0 {
		p.Conflicts(taken)
		return p.Close(render.Failed)
	}
	done, err := fl.discover(cmd, p, plan, harness)
	if err != nil {
		return p.Close(err)
	}
	return p.Close(done.Err())
}

// print prints the selected scenarios in the format of a scenario file.
func (fl *discoverFlags) print(ctx context.Context, p *render.Printer) error {
	list, err := fl.list(ctx)
	if err != nil {
		return err
	}
	if list.Scenarios, err = fl.selectScenarios(list); err != nil {
		return err
	}
	text, err := list.Encode()
	if err != nil {
		return err
	}
	p.Raw(text)
	return p.Close(nil)
}

// makeTempDir creates a directory for captures that are not kept. The function remove
// deletes it; it is also deleted if a signal ends the program.
func (fl *discoverFlags) makeTempDir() (dir string, remove func(), err error) {
	if err := checkIn("the directory for temporary files", os.TempDir(), os.TempDir()); err != nil {
		return "", nil, err
	}
	var making sync.Mutex
	clean := func() {
		making.Lock()
		defer making.Unlock()
		_ = os.RemoveAll(dir)
	}
	last := 2
	if fl.harness != "" {
		last++ // the second signal stops its server
	}
	making.Lock()
	stop := signals.CleanUp(last, clean) // before there is anything to remove
	dir, err = os.MkdirTemp("", "p20export-discover-")
	making.Unlock()
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("%w: %w", render.ErrOutput, err)
	}
	return dir, func() { clean(); stop() }, nil
}

// discover runs the plan, against the harness's server if there is a harness, and
// prints each row when its scenario has ended.
func (fl *discoverFlags) discover(cmd *cobra.Command, p *render.Printer, plan *scenario.Plan, harness *scenario.Harness) (done render.Status, err error) {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	if harness != nil || fl.out == "" {
		// A closed standard output must not end the program before it has stopped the
		// server and deleted the temporary directory.
		pipe := make(chan os.Signal, 1)
		signal.Notify(pipe, syscall.SIGPIPE)
		defer signal.Stop(pipe)
	}
	again, err := fl.captureAgain(cmd, plan, harness)
	if err != nil {
		return render.Failed, err
	}
	stop, err := startHarness(cmd, plan, harness)
	if err != nil {
		return render.Failed, err
	}
	defer func() { stop(done != render.Done && ctx.Err() == nil) }()
	d := &render.Discovery{Plan: plan, Dir: fl.out, FailOn: *fl.failOn, Details: fl.details, Quiet: fl.quiet}
	p.DiscoveryHeader(d)
	p.Flush() // Close returns the error
	bar := render.NewDiscoveryProgress(stderr, len(plan.Scenarios))
	plan.Progress = bar.Update
	for row := range plan.Run(ctx) {
		bar.Done()
		if fl.out == "" {
			row.Capture = nil // it will be deleted
		}
		p.Scenario(d, row)
		if !p.Flush() {
			return d.Captured(), nil // Close returns the error
		}
	}
	p.DiscoverySummary(d)
	if err := interrupted(cmd); err != nil {
		return d.Captured(), err
	}
	leftOut := plan.NotCaptured(d.Rows())
	q := gate.Qualify(d.Runs(), plan.Needed, leftOut...)
	p.Qualification(d, q)
	if fl.gate {
		p.Gate(gate.Evaluate(d.Captures(), plan.Needed, artifact.V1, leftOut...))
	}
	done = d.Status(q)
	traced, err := fl.traces(cmd, p, plan, d.Rows(), again)
	if err != nil {
		return done, err
	}
	done = done.Worse(traced)
	switch {
	case fl.writeExpected && d.Captured() == render.Done:
		return done, fl.write(p, plan, d.Rows())
	case fl.writeExpected:
		fmt.Fprintln(stderr, "p20export: expected.json was not written, because not every scenario was captured completely")
	}
	return done, nil
}

// write writes the observed results to the harness's expected.json.
func (fl *discoverFlags) write(p *render.Printer, plan *scenario.Plan, rows []scenario.Row) error {
	suite, err := plan.UpdatedSuite(rows)
	if err != nil {
		return fmt.Errorf("%w: expected.json was not written: %w", errInput, err)
	}
	path := filepath.Join(fl.harness, scenario.ExpectedName)
	if err := suite.Write(path); err != nil {
		return fmt.Errorf("%w: %w", render.ErrOutput, err)
	}
	p.Note("expectations written: %s", path)
	return nil
}

package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/cmd/p20export/internal/signals"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/project/golden"
	"github.com/p20export/p20export/project/tracediff"
)

// maxRepeat limits --repeat.
const maxRepeat = 100

// startHarness starts the server of a harness, if there is one. The function stop stops it, and can
// print its log.
func startHarness(cmd *cobra.Command, plan *scenario.Plan, harness *scenario.Harness) (stop func(printLog bool), err error) {
	if harness == nil {
		return func(bool) {}, nil
	}
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	starting := render.NewProgress(stderr, "starting the harness "+harness.Name)
	kill, end := signals.UntilSecond(ctx, 0)
	server, err := harness.Start(ctx, kill)
	starting.End()
	if err != nil {
		end()
		return nil, fmt.Errorf("%w: %w", errHarness, err)
	}
	plan.Request.URL = server.URL
	return func(printLog bool) {
		server.Stop()
		end()
		if printLog {
			render.WriteServerLog(stderr, harness.Name, server.Log())
		}
	}, nil
}

// captureAgain captures the scenarios as often as --repeat says, but once. Requests that get
// new ids get others each time, and a harness another server. It returns the plans.
func (fl *discoverFlags) captureAgain(cmd *cobra.Command, plan *scenario.Plan, harness *scenario.Harness) (plans []*scenario.Plan, err error) {
	for n := 2; n <= fl.repeat; n++ {
		again := *plan
		again.Dir = filepath.Join(fl.temporary, fmt.Sprintf("+%d", n))
		if harness == nil {
			if again.Scenarios, err = withNewIDs(plan.Scenarios); err != nil {
				return nil, err
			}
		}
		if err := fl.captureOnce(cmd, &again, harness); err != nil {
			return nil, err
		}
		plans = append(plans, &again)
	}
	return plans, nil
}

// captureOnce captures the scenarios of a plan without printing their results. It fails if the
// endpoint cannot be reached.
func (fl *discoverFlags) captureOnce(cmd *cobra.Command, plan *scenario.Plan, harness *scenario.Harness) error {
	stop, err := startHarness(cmd, plan, harness)
	if err != nil {
		return err
	}
	defer stop(false)
	bar := render.NewDiscoveryProgress(cmd.ErrOrStderr(), len(plan.Scenarios))
	plan.Progress = bar.Update
	for row := range plan.Run(cmd.Context()) {
		bar.Done()
		if row.LocalFailure() {
			return fmt.Errorf("%w: %s", render.ErrOutput, row.Findings[len(row.Findings)-1].Message)
		}
	}
	return interrupted(cmd)
}

// traces compares the captures with each other, as --repeat says, and with goldens, as --golden
// says.
func (fl *discoverFlags) traces(cmd *cobra.Command, p *render.Printer, plan *scenario.Plan, rows []scenario.Row, again []*scenario.Plan) (render.Status, error) {
	var captures, scenarios []string
	for _, s := range plan.Scenarios {
		scenarios = append(scenarios, s.Name)
	}
	for _, row := range rows {
		if row.Verdict == scenario.Captured || row.Verdict == scenario.Unexpected {
			captures = append(captures, filepath.Join(plan.Dir, row.Scenario))
		}
	}
	done := render.Done
	if len(again) > 0 {
		asked := slices.DeleteFunc(slices.Clone(scenarios), func(name string) bool {
			return slices.ContainsFunc(rows, func(row scenario.Row) bool { return row.Scenario == name && row.Verdict == scenario.Skipped })
		})
		status, err := fl.compareAgain(cmd, p, captures, asked, again)
		if err != nil {
			return done, err
		}
		done = status
	}
	if fl.goldens == nil {
		return done, nil
	}
	if fl.only != nil { // goldens of other scenarios are not compared
		list, err := fl.list(cmd.Context())
		if err != nil {
			return done, err
		}
		scenarios = list.Names()
	}
	t := &render.Traces{Printer: p, Command: "discover", Golden: true, Several: true, Quiet: fl.quiet, Temporary: fl.out == "", Dir: fl.golden}
	err := compareGoldens(cmd, t, fl.goldens, captures, scenarios)
	return done.Worse(t.End()), err
}

// withoutTrace returns why a capture has no trace, or "".
func withoutTrace(f tracediff.File) string {
	if f.Events != nil {
		return ""
	}
	return string(f.Findings[0].Code)
}

// compareAgain compares captures with those of other times.
func (fl *discoverFlags) compareAgain(cmd *cobra.Command, p *render.Printer, captures, scenarios []string, again []*scenario.Plan) (render.Status, error) {
	var s tracediff.Settings
	if fl.goldens != nil {
		s = fl.goldens.Settings
	}
	var found golden.Instabilities
	traced := map[string]bool{}
	for _, plan := range again {
		for _, path := range captures {
			other := filepath.Join(plan.Dir, filepath.Base(path))
			row, err := tracediff.Compare(cmd.Context(), tracediff.Trace{Path: path}, tracediff.Trace{Path: other}, s, func(d tracediff.Difference) error {
				found.Add(d)
				return nil
			})
			if cause := interrupted(cmd); cause != nil {
				return render.Failed, cause
			}
			if err != nil {
				return render.Failed, err
			}
			switch a, b := withoutTrace(row.A), withoutTrace(row.B); {
			case a != b:
				found.Note(row.Name, cmp.Or(a, b))
			case a == "":
				traced[row.Name] = true
			}
		}
	}
	var untraced []string
	for _, name := range scenarios {
		if !traced[name] {
			untraced = append(untraced, name)
		}
	}
	return p.Instabilities(fl.repeat, len(traced), untraced, found.List()), nil
}

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/docs"
	"github.com/p20export/p20export/finding"
)

// plan reads the flags and the files they name. The harness is nil if a URL was
// given.
func (fl *discoverFlags) plan(ctx context.Context, args []string) (*scenario.Plan, *scenario.Harness, error) {
	plan := &scenario.Plan{Dir: fl.out}
	var err error
	if plan.Request, err = fl.endpoint.settings(); err != nil {
		return nil, nil, err
	}
	for _, name := range fl.ownLabels() {
		if _, given := plan.Request.Labels[name]; given {
			return nil, nil, fmt.Errorf("--label %s: discover sets that label itself", name)
		}
	}
	if plan.Request.Header, err = fl.endpoint.readHeaders(ctx); err != nil {
		return nil, nil, err
	}
	list, err := fl.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	if plan.Scenarios, err = fl.selectScenarios(list); err != nil {
		return nil, nil, err
	}
	plan.Needed = list.Needed()
	if fl.harness == "" {
		plan.Request.URL = args[0]
		plan.Scenarios, err = withNewIDs(plan.Scenarios)
		return plan, nil, err
	}
	harness, err := scenario.LoadHarness(ctx, fl.harness)
	switch path := filepath.Join(fl.harness, scenario.ExpectedName); {
	case err != nil:
	case fl.writeExpected:
		plan.UpdateExpected = true
		plan.Suite, err = scenario.LoadNotes(ctx, path, list)
	default:
		plan.Suite, err = scenario.LoadSuite(ctx, path, list)
	}
	if err != nil && (harness == nil || !errors.Is(err, fs.ErrNotExist)) {
		if errors.Is(err, scenario.ErrSuiteMismatch) {
			err = fmt.Errorf("%w; to write a new file that keeps its notes, use --write-expected", err)
		}
		return nil, nil, fmt.Errorf("%w: %w", errInput, err)
	}
	plan.Request.Labels[analysis.LabelIntegration] = harness.Integration.Name
	plan.Request.Labels[analysis.LabelVersion] = harness.Integration.Version
	return plan, harness, nil
}

// withNewIDs returns scenarios in which those that suit any agent have new ids.
func withNewIDs(list []scenario.Scenario) ([]scenario.Scenario, error) {
	var namespace [16]byte
	rand.Read(namespace[:]) // never fails
	list, err := scenario.WithNewIDs(list, namespace)
	if err != nil {
		err = fmt.Errorf("%w: %w", errInput, err)
	}
	return list, err
}

// selectScenarios returns the scenarios of a list that --only selects, or all without --only.
func (fl *discoverFlags) selectScenarios(list *scenario.List) ([]scenario.Scenario, error) {
	if fl.only == nil {
		return list.Scenarios, nil
	}
	chosen, unknown := list.Select(fl.only)
	if unknown == "" {
		return chosen, nil
	}
	of := "the built-in list"
	if fl.scenarios != "" {
		of = finding.Quote(fl.scenarios)
	}
	return nil, fmt.Errorf("--only %s: %s has no such scenario; the nearest names are %s", finding.Quote(unknown), of, strings.Join(docs.NearestOf(unknown, list.Names()), ", "))
}

// list returns the list of scenarios: the one in the file, or the program's own. A
// harness gets the whole list, a URL only the scenarios that suit any agent.
func (fl *discoverFlags) list(ctx context.Context) (*scenario.List, error) {
	if fl.scenarios != "" {
		list, err := scenario.LoadList(ctx, fl.scenarios)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errInput, err)
		}
		return list, nil
	}
	list, err := scenario.BuiltinList()
	if err == nil && fl.harness == "" {
		list.Scenarios = list.ForAnyAgent()
	}
	return list, err
}

func (fl *discoverFlags) check(cmd *cobra.Command, args []string) error {
	for _, name := range []string{"output", "scenarios", "harness", "golden"} {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return fmt.Errorf("--%s is empty", name)
		}
	}
	if slices.Contains(fl.only, "") {
		return errors.New("--only is empty")
	}
	switch {
	case fl.printList && len(args) > 0:
		return errors.New("--print-scenarios only prints scenarios; it cannot be used with a URL")
	case fl.printList:
		return checkPrint(cmd)
	case fl.harness == "" && len(args) == 0:
		return errors.New("give the URL of an endpoint, or --harness DIR")
	case fl.harness != "" && len(args) > 0:
		return errors.New("give either a URL or --harness, not both")
	case fl.writeExpected && (fl.harness == "" || fl.only != nil):
		return errors.New("--write-expected needs --harness, and cannot be used with --only")
	case fl.repeat < 1 || fl.repeat > maxRepeat:
		return fmt.Errorf("--repeat %d: it is a number from 1 to %d", fl.repeat, maxRepeat)
	case fl.gate && fl.out == "":
		return errors.New("--gate refers to places in the captures; keep the captures with -o DIR")
	case fl.gate && fl.quiet:
		return errors.New("give either --gate or --quiet, not both")
	case fl.harness == "" && !isEndpoint(args[0]):
		return endpointError(args[0])
	}
	if err := cli.CheckTextFlags(cmd, *fl.format, "details", "quiet"); err != nil || fl.out == "" {
		return err
	}
	return checkOutput("-o", fl.out)
}

// checkPrint returns an error if a flag is given that cannot be used with
// --print-scenarios.
func checkPrint(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains([]string{"print-scenarios", "scenarios", "only"}, f.Name) {
			err = fmt.Errorf("--print-scenarios only prints scenarios; it cannot be used with --%s", f.Name)
		}
	})
	return err
}

// ownLabels returns the labels that discover sets, which --label cannot set.
func (fl *discoverFlags) ownLabels() []string {
	if fl.harness == "" {
		return []string{analysis.LabelScenario}
	}
	return []string{analysis.LabelScenario, analysis.LabelIntegration, analysis.LabelVersion}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/finding"
)

// plan reads the flags and the files they name. The harness is nil when there
// is a URL.
func (fl *discoverFlags) plan(ctx context.Context, args []string) (*scenario.Plan, *scenario.Harness, error) {
	if err := fl.check(args); err != nil {
		return nil, nil, err
	}
	plan := &scenario.Plan{Dir: fl.out}
	var err error
	if plan.Request, err = fl.exchange.settings(); err != nil {
		return nil, nil, err
	}
	for _, name := range fl.ownLabels() {
		if _, given := plan.Request.Labels[name]; given {
			return nil, nil, fmt.Errorf("--label %s: discover sets that label itself", name)
		}
	}
	if plan.Request.Header, err = fl.exchange.headersOf(ctx); err != nil {
		return nil, nil, err
	}
	list, err := scenario.LoadList(fl.scenarios)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errInput, err)
	}
	if plan.Scenarios = list.Scenarios; fl.only != nil {
		var unknown string
		if plan.Scenarios, unknown = list.Choose(fl.only); unknown != "" {
			return nil, nil, fmt.Errorf("--only %s: %s has no such scenario", finding.Quote(unknown), finding.Quote(fl.scenarios))
		}
	}
	if fl.harness == "" {
		plan.Request.URL = args[0]
		return plan, nil, nil
	}
	harness, err := scenario.LoadHarness(fl.harness)
	switch path := filepath.Join(fl.harness, scenario.ExpectedName); {
	case err != nil:
	case fl.learn:
		plan.UpdateExpected = true
		plan.Suite, err = scenario.LoadNotes(path, list)
	default:
		plan.Suite, err = scenario.LoadSuite(path, list)
	}
	if err != nil && (harness == nil || !errors.Is(err, fs.ErrNotExist)) {
		if errors.Is(err, scenario.ErrOtherList) {
			err = fmt.Errorf("%w; --write-expected writes the file anew and keeps its notes", err)
		}
		return nil, nil, fmt.Errorf("%w: %w", errInput, err)
	}
	plan.Request.Labels[analysis.LabelIntegration] = harness.Integration.Name
	plan.Request.Labels[analysis.LabelVersion] = harness.Integration.Version
	return plan, harness, nil
}

func (fl *discoverFlags) check(args []string) error {
	switch {
	case fl.out == "":
		return errors.New("--output is empty: name the directory of the captures")
	case fl.harness == "" && len(args) == 0:
		return errors.New("give the URL of an endpoint, or --harness DIR")
	case fl.harness != "" && len(args) > 0:
		return errors.New("give either a URL or --harness, not both")
	case fl.learn && (fl.harness == "" || fl.only != nil):
		return errors.New("--write-expected goes with --harness and the whole list")
	case fl.harness == "" && !isEndpoint(args[0]):
		return fmt.Errorf("%s is no URL of an endpoint, such as http://127.0.0.1:8011/", finding.Quote(args[0]))
	}
	return checkOutput("-o", fl.out)
}

// ownLabels are the labels that are not the operator's to give.
func (fl *discoverFlags) ownLabels() []string {
	if fl.harness == "" {
		return []string{analysis.LabelScenario}
	}
	return []string{analysis.LabelScenario, analysis.LabelIntegration, analysis.LabelVersion}
}

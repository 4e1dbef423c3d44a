// Command gate writes discovery/GATE.md, FIELD_PRESENCE.md and LINT.md and docs/comparison.md
// from the committed captures. It must be run in the root of the repository. It is not part of the released
// program.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/project/lint"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "gate:", err)
		os.Exit(1)
	}
}

func write() error {
	files, err := documents()
	if err != nil {
		return err
	}
	for path, text := range files {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// documents returns the contents of the documents, by path.
func documents() (map[string][]byte, error) {
	list, err := scenario.LoadList(context.Background(), "discovery/"+scenario.ScenariosName)
	if err != nil {
		return nil, err
	}
	harnesses, err := readHarnesses(list)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"discovery/GATE.md":           gateDocument(harnesses, list),
		"discovery/FIELD_PRESENCE.md": fieldPresence(harnesses),
		"discovery/LINT.md":           lintDocument(harnesses),
		"docs/comparison.md":          comparison(harnesses, list),
	}, nil
}

// harness is a harness with the results of its captures.
type harness struct {
	*scenario.Harness
	// pins lists the packages that the harness pins, as "name version".
	pins []string
	// skipped lists the scenarios that the integration cannot express.
	skipped []scenario.Case
	runs    []analysis.Run
	// details has the details of the runs, without captures that have no run.
	details []runDetails
	// captureCount counts the captures, including those without a run.
	captureCount int
	lint         []lint.Row
	// first and last are the first and last day of the captures.
	first, last string
}

// readHarnesses reads all harnesses and their captures, sorted by name.
func readHarnesses(list *scenario.List) ([]harness, error) {
	files, err := filepath.Glob("discovery/harness/*/" + scenario.HarnessName)
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no harnesses found (%v); run this command in the root of the repository", err)
	}
	var all []harness
	for _, file := range files {
		dir := filepath.Dir(file)
		h := harness{}
		if h.Harness, err = scenario.LoadHarness(context.Background(), dir); err != nil {
			return nil, err
		}
		suite, err := scenario.LoadSuite(context.Background(), filepath.Join(dir, scenario.ExpectedName), list)
		if err != nil {
			return nil, err
		}
		if h.pins, err = pins(dir); err != nil {
			return nil, err
		}
		var dirs []string
		for _, s := range suite.Cases {
			if s.Expect == nil {
				h.skipped = append(h.skipped, s)
				continue
			}
			dir := filepath.Join("discovery/captures", h.Name, s.Name)
			if err := h.read(dir); err != nil {
				return nil, err
			}
			dirs = append(dirs, dir)
		}
		if h.lint, err = lintOf(dirs); err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	return all, nil
}

func (h *harness) read(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, capture.ManifestName))
	if err != nil {
		return err
	}
	m, err := capture.DecodeManifest(data)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	day := m.StartedAt.Format("2006-01-02")
	if h.first == "" || day < h.first {
		h.first = day
	}
	h.last = max(h.last, day)
	runs := analysis.Analyze(context.Background(), dir, artifact.V1, nil)
	for _, run := range runs {
		if run.Verdict == analysis.Failed {
			return fmt.Errorf("%s: %v", dir, run.Findings)
		}
	}
	for _, run := range runs {
		if run.Run == nil {
			continue
		}
		s, err := readDetails(run)
		if err != nil {
			return err
		}
		h.details = append(h.details, s)
	}
	h.runs = append(h.runs, runs...)
	h.captureCount++
	return nil
}

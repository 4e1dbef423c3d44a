// Command generate writes discovery/GATE.md and discovery/FIELD_PRESENCE.md from
// the committed captures. It runs in the root of the repository and is no part
// of the released program.
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
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func write() error {
	made, err := documents()
	if err != nil {
		return err
	}
	for path, text := range made {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// documents makes both documents, by their paths.
func documents() (map[string][]byte, error) {
	list, err := scenario.LoadList(context.Background(), "discovery/"+scenario.ScenariosName)
	if err != nil {
		return nil, err
	}
	lanes, err := lanes(list)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"discovery/GATE.md":           gateDocument(lanes, list),
		"discovery/FIELD_PRESENCE.md": fieldPresence(lanes),
	}, nil
}

// lane is one harness and what its captures show.
type lane struct {
	*scenario.Harness
	// pins are the packages its author chose, "name version".
	pins []string
	// notes are the scenarios that it cannot express.
	notes []scenario.Case
	runs  []analysis.Run
	// seen are those of the runs that began.
	seen []seen
	// captures counts its captures, those without a run included.
	captures int
	// first and last are the days of its captures.
	first, last string
}

// lanes reads every harness with its captures, in the order of their names.
func lanes(list *scenario.List) ([]lane, error) {
	files, err := filepath.Glob("discovery/harness/*/" + scenario.HarnessName)
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no harness is found (%v); run in the root of the repository", err)
	}
	var all []lane
	for _, file := range files {
		dir := filepath.Dir(file)
		l := lane{}
		if l.Harness, err = scenario.LoadHarness(context.Background(), dir); err != nil {
			return nil, err
		}
		suite, err := scenario.LoadSuite(context.Background(), filepath.Join(dir, scenario.ExpectedName), list)
		if err != nil {
			return nil, err
		}
		if l.pins, err = pins(dir); err != nil {
			return nil, err
		}
		for _, s := range suite.Cases {
			if s.Expect == nil {
				l.notes = append(l.notes, s)
			} else if err := l.read(filepath.Join("discovery/captures", l.Name, s.Name)); err != nil {
				return nil, err
			}
		}
		all = append(all, l)
	}
	return all, nil
}

func (l *lane) read(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, capture.ManifestName))
	if err != nil {
		return err
	}
	m, err := capture.DecodeManifest(data)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	day := m.StartedAt.Format("2006-01-02")
	if l.first == "" || day < l.first {
		l.first = day
	}
	l.last = max(l.last, day)
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
		s, err := look(run)
		if err != nil {
			return err
		}
		l.seen = append(l.seen, s)
	}
	l.runs = append(l.runs, runs...)
	l.captures++
	return nil
}

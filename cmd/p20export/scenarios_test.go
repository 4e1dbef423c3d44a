package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/validate"
	"github.com/p20export/p20export/project/verify"
)

var update = flag.Bool("update", false, "rewrite the files that tests compare with")

const scenariosPath = "../../discovery/" + scenario.ScenariosName

// harness is a harness of this repository with its files.
type harness struct {
	*scenario.Harness
	list     *scenario.List
	suite    *scenario.Suite
	expected string // the suite's file
	captures string // the directory of its committed captures
	drift    bool   // the harness runs an older release, and only if selected by name
}

// loadHarnesses reads the scenarios and every harness. Harnesses of older releases are last.
func loadHarnesses(t *testing.T) []harness {
	t.Helper()
	list, err := scenario.LoadList(t.Context(), scenariosPath)
	if err != nil {
		t.Fatal(err)
	}
	var all []harness
	for _, place := range []struct {
		harnesses, captures string
		drift               bool
	}{
		{"../../discovery/harness", "../../discovery/captures", false},
		{"../../discovery/drift", "../../discovery/drift/captures", true},
	} {
		files, err := filepath.Glob(filepath.Join(place.harnesses, "*", scenario.HarnessName))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no harness: %v", place.harnesses, err)
		}
		for _, file := range files {
			h := loadHarness(t, filepath.Dir(file), list)
			h.captures, h.drift = filepath.Join(place.captures, h.Name), place.drift
			all = append(all, h)
		}
	}
	return all
}

func loadHarness(t *testing.T, dir string, list *scenario.List) harness {
	t.Helper()
	h := harness{list: list, expected: filepath.Join(dir, scenario.ExpectedName)}
	var err error
	if h.Harness, err = scenario.LoadHarness(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if h.suite, err = scenario.LoadSuite(t.Context(), h.expected, list); err != nil {
		t.Fatal(err)
	}
	if h.Name != filepath.Base(dir) {
		t.Errorf("%s: the name is %q", dir, h.Name)
	}
	return h
}

// TestCommittedCaptures compares every committed capture with the expectation of its harness
// for the scenario.
func TestCommittedCaptures(t *testing.T) {
	for i, h := range loadHarnesses(t) {
		if i == 0 {
			want, err := h.list.Encode()
			if err != nil {
				t.Fatal(err)
			}
			unchanged(t, scenariosPath, want)
		}
		expressed := 0
		for i := range h.suite.Cases {
			s := &h.suite.Cases[i]
			if s.Expect == nil {
				continue // its note says why
			}
			expressed++
			t.Run(h.Name+"/"+s.Name, func(t *testing.T) {
				dir := filepath.Join(h.captures, s.Name)
				if *update {
					seen, err := scenario.Observe(context.Background(), dir)
					if err != nil {
						t.Fatal(err)
					}
					s.Expect = &seen.Expectation
				}
				checkScenario(t, *s.Expect, dir)
				checkSize(t, dir)
			})
		}
		if dirs, err := os.ReadDir(h.captures); err != nil || len(dirs) != expressed {
			t.Errorf("%s: %d captures for %d scenarios (%v)", h.captures, len(dirs), expressed, err)
		}
		want, err := h.suite.Encode()
		if err != nil {
			t.Fatal(err)
		}
		unchanged(t, h.expected, want)
	}
}

// maxCommitted limits the size of a committed capture, in bytes, to keep the repository
// small.
const maxCommitted = 1_000_000

func checkSize(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > maxCommitted {
		t.Errorf("%s has %d bytes; the limit is %d: shorten its scenario", dir, total, maxCommitted)
	}
}

// checkScenario compares a capture with its expectation, and validates the frozen files.
func checkScenario(t *testing.T, want scenario.Expectation, dir string) {
	t.Helper()
	out := t.TempDir()
	seen, err := scenario.Observe(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, seen.Expectation); diff != "" {
		t.Errorf("%s is not as its scenario expects (-expected +seen):\n%s", dir, diff)
	}
	for _, name := range project.Names() {
		s := freeze.Settings{Settings: project.Settings{Projection: name}, Dir: out, Name: string(name), Tool: build.Tool()}
		if rows, err := freeze.Freeze(context.Background(), dir, s); err != nil || rows[0].Verdict != want.Freeze.Outcome(name).Verdict {
			t.Errorf("freeze %s under %s: %v %v", dir, name, rows, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(out, "*.artifact.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range files {
		base := a[:len(a)-len(".artifact.json")]
		for _, file := range []string{a, base + ".envelope.ndjson"} {
			if row := validate.File(context.Background(), file, "v1", ""); row.Verdict != project.Accepted || !*row.Canonical {
				t.Errorf("validate %s: %s, canonical %t: %v", file, row.Verdict, *row.Canonical, row.Findings)
			}
		}
		if row := verify.File(context.Background(), a, base+".record.json", dir, nil, nil); row.Verdict != project.Verified {
			t.Errorf("verify %s: %s: %v", a, row.Verdict, row.Findings)
		}
	}
}

// unchanged compares a file with its expected contents; with -update, it rewrites the file.
func unchanged(t *testing.T, path string, want []byte) {
	t.Helper()
	have, err := os.ReadFile(path)
	if err == nil && bytes.Equal(have, want) {
		return
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is out of date (%v): run 'make regenerate' and look at what changed\n%s", path, err, cmp.Diff(string(have), string(want)))
}

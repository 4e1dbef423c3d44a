package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/discovery"
	"github.com/p20export/p20export/project/freeze"
)

var update = flag.Bool("update", false, "rewrite the files that tests compare with")

const scenariosPath = "../../discovery/" + discovery.ScenariosName

// TestCommittedCaptures holds every committed capture against what its harness
// is expected to make of its scenario.
func TestCommittedCaptures(t *testing.T) {
	list, err := discovery.LoadList(scenariosPath)
	if err != nil {
		t.Fatal(err)
	}
	want, err := list.Encode()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, scenariosPath, want)
	files, err := filepath.Glob("../../discovery/harness/*/" + discovery.ExpectedName)
	if err != nil || len(files) == 0 {
		t.Fatalf("no harness: %v", err)
	}
	for _, file := range files {
		suite, err := discovery.LoadSuite(file, list)
		if err != nil {
			t.Fatal(err)
		}
		captures := filepath.Join("../../discovery/captures", suite.Harness)
		expressed := 0
		for i := range suite.Scenarios {
			s := &suite.Scenarios[i]
			if s.Expect == nil {
				continue // its note says why
			}
			expressed++
			t.Run(suite.Harness+"/"+s.Name, func(t *testing.T) {
				dir := filepath.Join(captures, s.Name)
				if *update {
					seen, err := discovery.Observe(context.Background(), dir, t.TempDir())
					if err != nil {
						t.Fatal(err)
					}
					s.Expect = &seen
				}
				checkScenario(t, *s.Expect, dir)
			})
		}
		if dirs, err := os.ReadDir(captures); err != nil || len(dirs) != expressed {
			t.Errorf("%s: %d captures for %d scenarios (%v)", captures, len(dirs), expressed, err)
		}
		want, err := suite.Encode()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, file, want)
	}
}

// checkScenario holds a capture against what is expected of it, and validates
// what was frozen.
func checkScenario(t *testing.T, want discovery.Expectation, dir string) {
	t.Helper()
	out := t.TempDir()
	seen, err := discovery.Observe(context.Background(), dir, out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("%s is not as its scenario expects (-expected +seen):\n%s", dir, diff)
	}
	files, err := filepath.Glob(filepath.Join(out, "*.artifact.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range files {
		base := a[:len(a)-len(".artifact.json")]
		for _, file := range []string{a, base + ".envelope.ndjson"} {
			if row := freeze.Validate(context.Background(), file, "v1", ""); row.Verdict != freeze.Accepted || !*row.Canonical {
				t.Errorf("validate %s: %s, canonical %t: %v", file, row.Verdict, *row.Canonical, row.Findings)
			}
		}
		if row := freeze.Verify(context.Background(), a, base+".record.json", dir, nil); row.Verdict != freeze.Verified {
			t.Errorf("verify %s: %s: %v", a, row.Verdict, row.Findings)
		}
	}
}

// golden compares a file with what it should hold; with -update it is
// rewritten.
func golden(t *testing.T, path string, want []byte) {
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

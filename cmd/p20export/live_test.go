//go:build live

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
)

var (
	recording = flag.Bool("record", false, "replace the committed captures by fresh ones")
	only      = flag.String("harness", "", "the one harness to run; all but those of older releases when empty")
)

// TestLive runs every scenario against the real integrations with the program,
// freezes and validates each capture, and compares its structure with that of
// the committed one.
func TestLive(t *testing.T) {
	ran := 0
	for _, of := range loadHarnesses(t) {
		if *only == of.Name || *only == "" && !of.drift {
			ran++
			t.Run(of.Name, func(t *testing.T) { runHarness(t, of) })
		}
	}
	if ran == 0 {
		t.Fatalf("no harness is called %q", *only)
	}
}

func runHarness(t *testing.T, of harness) {
	fresh := t.TempDir()
	var stdout, stderr bytes.Buffer
	status := run([]string{"discover", "--harness", filepath.Dir(of.expected), "--scenarios", scenariosPath, "-o", fresh}, &stdout, &stderr)
	if stdout.Len() == 0 {
		t.Fatalf("%s\nrun 'make harness-%s'", stderr.String(), of.Name)
	}
	if status != exitDone {
		t.Errorf("discover: exit status %d\n%s%s", status, stdout.String(), stderr.String())
	}
	for _, s := range of.suite.Scenarios {
		if s.Expect == nil {
			continue // its note says why
		}
		t.Run(s.Name, func(t *testing.T) {
			dir, committed := filepath.Join(fresh, s.Name), filepath.Join(of.captures, s.Name)
			got, err := readStructure(dir)
			if err != nil {
				t.Fatal(err)
			}
			if *recording {
				keep(t, dir, committed)
			}
			checkScenario(t, *s.Expect, dir)
			want, err := readStructure(committed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the structure changed since the committed capture (-committed +fresh):\n%s", diff)
			}
		})
	}
}

func keep(t *testing.T, fresh, committed string) {
	t.Helper()
	if err := os.RemoveAll(committed); err != nil {
		t.Fatal(err)
	}
	testkit.Copy(t, committed, fresh)
}

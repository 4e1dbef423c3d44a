//go:build live

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
)

var (
	recording   = flag.Bool("record", false, "replace the committed captures by fresh ones")
	onlyHarness = flag.String("harness", "", "the one harness to run; all but those of older releases when empty")
	onlyOf      = flag.String("only", "", "the scenarios to run, with commas between; all when empty")
)

// TestLive runs every scenario against the real integrations. It freezes and validates each
// capture, and compares its structure with that of the committed capture.
func TestLive(t *testing.T) {
	ran := 0
	for _, of := range loadHarnesses(t) {
		if *onlyHarness == of.Name || *onlyHarness == "" && !of.drift {
			ran++
			t.Run(of.Name, func(t *testing.T) { runHarness(t, of) })
		}
	}
	if ran == 0 {
		t.Fatalf("no harness is called %q", *onlyHarness)
	}
}

func runHarness(t *testing.T, of harness) {
	fresh := t.TempDir()
	only := strings.FieldsFunc(*onlyOf, func(r rune) bool { return r == ',' })
	var stdout, stderr bytes.Buffer
	args := []string{"discover", "--harness", filepath.Dir(of.expected), "--scenarios", scenariosPath, "-o", fresh}
	for _, name := range only {
		args = append(args, "--only", name)
	}
	status := run(args, &stdout, &stderr)
	if stdout.Len() == 0 {
		t.Fatalf("%s\nrun 'make harness-%s'", stderr.String(), of.Name)
	}
	if status != exitDone {
		t.Errorf("discover: exit status %d\n%s%s", status, stdout.String(), stderr.String())
	}
	for _, s := range of.suite.Cases {
		if s.Expect == nil {
			continue // its note says why
		}
		if len(only) > 0 && !slices.Contains(only, s.Name) {
			continue
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
	testkit.CopyDir(t, committed, fresh)
}

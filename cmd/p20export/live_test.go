//go:build live

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/golden"
	"github.com/p20export/p20export/project/tracediff"
)

var (
	recording   = flag.Bool("record", false, "replace the committed captures by fresh ones")
	onlyHarness = flag.String("harness", "", "the one harness to run; all but those of older releases when empty")
	onlyOf      = flag.String("only", "", "the scenarios to run, with commas between; all when empty")
)

// TestLive runs every scenario against the real integrations. It freezes and validates each
// capture, and compares its structure and its trace with those of the committed capture, which
// is from another process.
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
			compareTrace(t, of, committed, dir)
		})
	}
}

// compareTrace compares the traces of two captures of a harness event by event. The trace.json of
// the harness, if there is one, says what is random; everything else has to be equal.
func compareTrace(t *testing.T, of harness, committed, fresh string) {
	t.Helper()
	dir, err := golden.Open(t.Context(), filepath.Dir(of.expected))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	printed := &render.Traces{Printer: render.New(&out, render.Text, build.Tool()), Command: "diff"}
	row, err := tracediff.Compare(t.Context(), tracediff.Trace{Path: committed}, tracediff.Trace{Path: fresh}, dir.Settings, func(d tracediff.Difference) error {
		printed.Difference(d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	printed.Row(row)
	if err := printed.Close(nil); err != nil {
		t.Fatal(err)
	}
	if row.Verdict != tracediff.Equal {
		t.Errorf("the trace changed since the committed capture:\n%s", out.String())
	}
}

func keep(t *testing.T, fresh, committed string) {
	t.Helper()
	if err := os.RemoveAll(committed); err != nil {
		t.Fatal(err)
	}
	testkit.CopyDir(t, committed, fresh)
}

// TestLintLive lets lint post the request of every scenario to the real integrations. It finds
// in the response what it finds in the committed capture of the scenario.
func TestLintLive(t *testing.T) {
	ran := 0
	for _, of := range loadHarnesses(t) {
		if *onlyHarness == of.Name || *onlyHarness == "" && !of.drift {
			t.Run(of.Name, func(t *testing.T) { ran += lintHarness(t, of) })
		}
	}
	if ran == 0 {
		t.Fatalf("no response of a harness %q was checked", *onlyHarness)
	}
}

// lintHarness returns the number of responses that it checked.
func lintHarness(t *testing.T, of harness) int {
	server, err := of.Start(t.Context(), t.Context())
	if err != nil {
		t.Fatalf("%v\nrun 'make harness-%s'", err, of.Name)
	}
	defer server.Stop()
	endpoint, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, c := range of.suite.Cases {
		at := slices.IndexFunc(of.list.Scenarios, func(s scenario.Scenario) bool { return s.Name == c.Name })
		if c.Expect == nil || at < 0 {
			continue // its note says why, or it belongs to another list
		}
		t.Run(c.Name, func(t *testing.T) {
			s := of.list.Scenarios[at]
			input := filepath.Join(t.TempDir(), "request.json")
			if err := os.WriteFile(input, s.Request, 0o600); err != nil {
				t.Fatal(err)
			}
			want := lintRow(t, filepath.Join(of.captures, s.Name))
			got := lintRow(t, endpoint.JoinPath(s.Path).String(), "--input", input)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-committed capture +live:\n%s", diff)
			}
			checked++
		})
	}
	return checked
}

// linted has what is the same in every response to a request.
type linted struct {
	Verdict, Client string
	Runs            int
	Features        []string
	Rules           []map[string]any
}

// lintRow returns the row of lint, without the rules that depend on the time of the response.
func lintRow(t *testing.T, args ...string) linted {
	t.Helper()
	var stdout, stderr bytes.Buffer
	run(append([]string{"lint", "--format", "json"}, args...), &stdout, &stderr)
	var row linted
	if err := json.Unmarshal(stdout.Bytes(), &row); err != nil {
		t.Fatalf("lint %q: %v\n%s%s", args, err, stdout.String(), stderr.String())
	}
	row.Rules = slices.DeleteFunc(row.Rules, func(rule map[string]any) bool {
		return slices.Contains([]any{"N5", "N6", "N7"}, rule["rule"])
	})
	return row
}

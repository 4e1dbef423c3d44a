//go:build live

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/p20export/p20export/discovery"
)

var (
	record = flag.Bool("record", false, "replace the committed captures by fresh ones")
	only   = flag.String("harness", "", "the one harness to run; all but those of older releases when empty")
)

// TestLive runs every scenario against the real integrations: it captures
// afresh with the program, freezes and validates, and compares the structure
// with that of the committed captures.
func TestLive(t *testing.T) {
	for _, of := range loadHarnesses(t) {
		if *only == of.Name || *only == "" && !of.drift {
			t.Run(of.Name, func(t *testing.T) { runHarness(t, of) })
		}
	}
}

func runHarness(t *testing.T, of harness) {
	server, err := of.Start(t.Context())
	if err != nil {
		t.Fatalf("%v\nrun 'make harness-%s'", err, of.Name)
	}
	defer func() {
		server.Stop()
		if t.Failed() {
			t.Logf("the harness's log:\n%s", server.Log())
		}
	}()
	fresh := t.TempDir()
	for i, s := range of.list.Scenarios {
		expect := of.suite.Scenarios[i].Expect
		if expect == nil {
			continue // its note says why
		}
		t.Run(s.Name, func(t *testing.T) {
			dir := captureScenario(t, of.Integration, s, server.URL, filepath.Join(fresh, s.Name), expect)
			if *record {
				keep(t, dir, filepath.Join(of.captures, s.Name))
			}
			checkScenario(t, *expect, dir)
			want, err := discovery.ReadStructure(filepath.Join(of.captures, s.Name))
			if err != nil {
				t.Fatal(err)
			}
			got, err := discovery.ReadStructure(dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(discovery.Structure{})); diff != "" {
				t.Errorf("the structure changed since the committed capture (-committed +fresh):\n%s", diff)
			}
		})
	}
}

// captureScenario captures a scenario with the program.
func captureScenario(t *testing.T, of discovery.Integration, s discovery.Scenario, url, dir string, expect *discovery.Expectation) string {
	t.Helper()
	input := filepath.Join(t.TempDir(), "request.json")
	request := s.Request.Clone()
	if err := request.Compact(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(input, request, 0o644); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	status := run([]string{"capture", url + s.Path, "--input", input, "-o", dir,
		"--label", "integration=" + of.Name, "--label", "version=" + of.Version, "--label", "scenario=" + s.Name,
	}, &stdout, &stderr)
	want := exitDone
	if expect.HTTPStatus != 200 || expect.End != "" {
		want = exitFailed
	}
	if status != want {
		t.Fatalf("capture: exit status %s, want %s\n%s%s", strconv.Itoa(status), strconv.Itoa(want), stdout.String(), stderr.String())
	}
	return dir
}

func keep(t *testing.T, fresh, committed string) {
	t.Helper()
	if err := os.RemoveAll(committed); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(committed, os.DirFS(fresh)); err != nil {
		t.Fatal(err)
	}
}

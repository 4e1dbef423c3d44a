//go:build live

package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/p20export/p20export/discovery"
)

var record = flag.Bool("record", false, "replace the committed captures by fresh ones")

// The ports are those of recordings, whose captures name them.
func TestLiveADK(t *testing.T)        { runHarness(t, "adk", "8011") }
func TestLiveLangGraph(t *testing.T)  { runHarness(t, "langgraph", "8012") }
func TestLivePydanticAI(t *testing.T) { runHarness(t, "pydantic-ai", "8013") }

// runHarness runs every scenario against a real integration: it captures
// afresh with the program, freezes and validates, and compares the structure
// with that of the committed captures.
func runHarness(t *testing.T, name, port string) {
	harness := filepath.Join("../../discovery/harness", name)
	committed := filepath.Join("../../discovery/captures", name)
	list, err := discovery.LoadList(scenariosPath)
	if err != nil {
		t.Fatal(err)
	}
	suite, err := discovery.LoadSuite(filepath.Join(harness, discovery.ExpectedName), list)
	if err != nil {
		t.Fatal(err)
	}
	url := startHarness(t, harness, port)
	fresh := t.TempDir()
	for i, s := range list.Scenarios {
		expect := suite.Scenarios[i].Expect
		if expect == nil {
			continue // its note says why
		}
		t.Run(s.Name, func(t *testing.T) {
			dir := captureScenario(t, suite.Integration, s, url, filepath.Join(fresh, s.Name), expect.HTTPStatus)
			if *record {
				keep(t, dir, filepath.Join(committed, s.Name))
			}
			checkScenario(t, *expect, dir)
			want, err := discovery.ReadStructure(filepath.Join(committed, s.Name))
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

// startHarness starts the harness and returns its address: on a free port, or
// on the given one when recording.
func startHarness(t *testing.T, dir, port string) string {
	t.Helper()
	python := filepath.Join(dir, ".venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("the harness is not installed (%v): run 'make harness-%s'", err, filepath.Base(dir))
	}
	python, err := filepath.Abs(python)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	args := []string{"app.py"}
	if *record {
		args = append(args, "--port", port)
	}
	cmd := exec.CommandContext(context.Background(), python, args...)
	cmd.Dir, cmd.Stderr = dir, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the harness's log:\n%s", log.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		_ = cmd.Process.Kill()
		t.Fatalf("the harness did not start (%v): %q\n%s", err, line, log.String())
	}
	return url
}

// captureScenario captures a scenario with the program.
func captureScenario(t *testing.T, of discovery.Integration, s discovery.Scenario, url, dir string, answer int) string {
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
	if answer != 200 {
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

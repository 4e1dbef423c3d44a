//go:build judge

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
)

// theJudge returns the path of the program that runs Assay's verifier on bundles.
func theJudge(t *testing.T) string {
	t.Helper()
	path := os.Getenv("P20EXPORT_JUDGE")
	if path == "" {
		t.Fatal("P20EXPORT_JUDGE does not name the judge; make judge builds it and runs these tests")
	}
	return path
}

// TestJudgeCaptures imports every committed capture that a projection freezes into Assay, in
// every form. It verifies each bundle with Assay's verifier and with this program.
func TestJudgeCaptures(t *testing.T) {
	captures, err := filepath.Glob("../../discovery/captures/*/*")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var bundles []string
	refused := 0
	bundle := func(args ...string) {
		name := filepath.Join(dir, fmt.Sprintf("%04d.tar.gz", len(bundles)))
		do(t, exitDone, append([]string{"assay", "--bundle", name, "--import-time", "2026-11-21T12:00:00Z"}, args...)...)
		bundles = append(bundles, name)
	}
	for _, projection := range []project.Name{project.EmittedSnapshot, project.EmittedSnapshotText, project.FoldedStream} {
		out := filepath.Join(dir, string(projection))
		for _, capture := range captures {
			var stdout, stderr bytes.Buffer
			// Captures of different harnesses have the same names.
			of := filepath.Join(out, filepath.Base(filepath.Dir(capture)))
			run([]string{"freeze", capture, "-o", of, "--projection", string(projection)}, &stdout, &stderr)
		}
		all, err := filepath.Glob(filepath.Join(out, "*", "*.artifact.json"))
		if err != nil {
			t.Fatal(err)
		}
		taken := slices.DeleteFunc(slices.Clone(all), func(path string) bool {
			a, _ := artifact.Decode(testkit.Read(t, path), artifact.Assay)
			return a == nil
		})
		refused += len(all) - len(taken)
		for _, path := range taken {
			bundle(path, "--receipt")
			if projection != project.FoldedStream {
				bundle(path)
			}
		}
		if len(taken) < 2 {
			t.Fatalf("%s freezes only %d captures", projection, len(taken))
		}
		bundle(append(taken, "--receipt", "--assay-run-id", string(projection), "--as-sample")...)
	}
	t.Logf("%d bundles; %d artifacts are outside the Assay profile", len(bundles), refused)
	out, err := exec.Command(theJudge(t), bundles...).Output()
	if err != nil {
		t.Errorf("the judge: %v", err)
	}
	verdicts := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(verdicts) != len(bundles) {
		t.Fatalf("%d verdicts on %d bundles", len(verdicts), len(bundles))
	}
	rows := bytes.Lines(do(t, exitDone, append([]string{"assay", "verify", "--strict", "--format", "json"}, bundles...)...))
	i := 0
	for row := range rows {
		var own struct {
			Events  int    `json:"events"`
			RunRoot string `json:"run_root"`
		}
		if err := json.Unmarshal(row, &own); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("accepted %d %s", own.Events, own.RunRoot); verdicts[i] != want {
			t.Errorf("%s: the judge says %s, p20export %s", bundles[i], verdicts[i], want)
		}
		i++
	}
	if i != len(bundles) {
		t.Errorf("%d rows on %d bundles", i, len(bundles))
	}
}

// TestJudgeSample runs the verify.sh of the sample lane with the judge.
func TestJudgeSample(t *testing.T) { runVerifyScript(t, ".", theJudge(t)) }

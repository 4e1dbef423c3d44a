package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/validate"
	"github.com/p20export/p20export/project/verify"
)

// TestKilled ends the program without warning at many moments of freezing, and
// judges what is left with validate and verify: every named file is whole, a
// record is there only with its artifact and envelope, and freezing again
// completes the work.
func TestKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "p20export")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	captures, err := filepath.Glob("../../discovery/captures/adk/*")
	if err != nil || len(captures) < 10 {
		t.Fatalf("%d captures, %v", len(captures), err)
	}
	const kills = 24
	for n := range kills {
		out := filepath.Join(t.TempDir(), "out")
		args := append([]string{"freeze", "-o", out, "--projection", "emitted-snapshot-text"}, captures...)
		cmd := exec.Command(program, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		untilFiles(out, 1+2*n, ended)
		_ = cmd.Process.Kill()
		<-ended
		judge(t, out, captures)
		if status := exec.Command(program, args...).Run(); status.(*exec.ExitError).ExitCode() != exitNegative {
			t.Fatalf("freezing again: %v", status)
		}
		if named := judge(t, out, captures); named != 3*14 {
			t.Errorf("freezing again left %d named files, want 42", named)
		}
	}
}

// untilFiles waits until the directory holds n files, temporary ones included,
// or the program ended.
func untilFiles(dir string, n int, ended <-chan struct{}) {
	for {
		select {
		case <-ended:
			return
		default:
		}
		if entries, _ := os.ReadDir(dir); len(entries) >= n {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// judge checks every named file of an output directory and counts them.
func judge(t *testing.T, dir string, captures []string) (named int) {
	t.Helper()
	source := make(map[string]string)
	for _, c := range captures {
		source[filepath.Base(c)] = c
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".p20export-") {
			continue
		}
		named++
		path := filepath.Join(dir, e.Name())
		name, record := strings.CutSuffix(e.Name(), ".record.json")
		if !record {
			if row := validate.File(context.Background(), path, "v1", ""); row.Verdict != project.Accepted {
				t.Errorf("%s was left %s: %v", e.Name(), row.Verdict, row.Findings)
			}
			continue
		}
		row := verify.File(context.Background(), filepath.Join(dir, name+".artifact.json"), path, source[name], nil)
		if row.Verdict != project.Verified || finding.Has(row.Findings, finding.EnvelopeAbsent) {
			t.Errorf("%s was left %s: %v", e.Name(), row.Verdict, row.Findings)
		}
	}
	return named
}

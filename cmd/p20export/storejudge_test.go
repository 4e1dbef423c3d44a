package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// storeJudge is a Python program that shares no code with this one. It reports what is
// whole in a directory, and what only looks whole.
const storeJudge = "testdata/judge/judge.py"

// judged is a line of the judge.
type judged struct {
	Path     string   `json:"path"`
	State    string   `json:"state"`
	Problems []string `json:"problems"`
}

// judgeStore runs the judge on a directory. Each acknowledged capture is its path in the
// directory and, after a space, optionally the digest of its capture.json. The result
// good is false if something acknowledged is lost, or something looks whole but is not.
func judgeStore(t testing.TB, dir string, acknowledged ...string) (rows []judged, good bool) {
	t.Helper()
	list := filepath.Join(t.TempDir(), "acknowledged")
	testkit.Write(t, list, strings.Join(append(acknowledged, ""), "\n"))
	cmd := exec.Command("python3", storeJudge, dir, "--acknowledged", list)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	exit, exited := errors.AsType[*exec.ExitError](err)
	if err != nil && !(exited && exit.ExitCode() == 1) || stderr.Len() > 0 {
		t.Fatalf("the judge: %v\n%s", err, &stderr)
	}
	for line := range bytes.Lines(out) {
		var row judged
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("the judge wrote %q: %v", line, err)
		}
		rows = append(rows, row)
	}
	return rows, err == nil
}

//go:build client

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/cmd/internal/bench/captures"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// TestClientFreezes checks that the script in Node makes the artifact and the envelope that
// the program makes, and that it refuses what is damaged in a way that it checks.
func TestClientFreezes(t *testing.T) {
	t.Parallel()
	client := os.Getenv("P20EXPORT_CLIENT")
	if client == "" {
		t.Fatal("P20EXPORT_CLIENT does not name the directory of the reference client: run make client")
	}
	script := peer{name: "client", command: []string{"node", filepath.Join("client", "freeze.mjs"), client, "--started-at", startedAt}}
	dir, s := t.TempDir(), new(settings)
	var paths []string
	var want []row
	for _, shape := range captures.Shapes() {
		path := filepath.Join(dir, string(shape)+".sse")
		if err := captures.File(path, shape, 50_000, 3); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		runs, err := freeze.Reader(t.Context(), bytes.NewReader(text), "run", freeze.Settings{Settings: project.Settings{Operator: project.OperatorTimes{StartedAt: startedAt}}})
		if err != nil || len(runs) != 1 {
			t.Fatalf("%d runs, %v", len(runs), err)
		}
		files := runs[0].Files
		paths, want = append(paths, path), append(want, row{
			Verdict: string(project.Frozen), Capture: string(digest.Of(text)),
			Artifact: string(digest.Of(files.Artifact)), Envelope: string(digest.Of(files.Envelope)),
		})
	}
	for i, d := range damages() {
		path := filepath.Join(dir, fmt.Sprintf("%02d.sse", i))
		if err := os.WriteFile(path, []byte(d.stream), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	rows, err := s.frozenBy(script, paths...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if rows[i].Events = 0; rows[i] != want[i] {
			t.Errorf("%s: the script says %+v, want %+v", paths[i], rows[i], want[i])
		}
	}
	refused := 0
	for i, d := range damages() {
		verdict := rows[len(want)+i].Verdict
		if i == 0 && verdict != "frozen" {
			t.Errorf("%s: the verdict is %s", d.name, verdict)
		}
		if verdict == "refused" {
			refused++
		}
	}
	if refused < 8 {
		t.Errorf("%d damaged captures are refused, want at least 8", refused)
	}
}

package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/project"
)

// The output of all commands about the committed captures fits 120 columns.
func TestLinesFit(t *testing.T) {
	t.Parallel()
	captures := []string{"../../discovery/captures", "../../discovery/drift/captures"}
	check := func(t *testing.T, least int, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if got := run(args, &stdout, &stderr); got > int(render.Negative) {
			t.Fatalf("p20export %s: exit status %d\n%s", strings.Join(args, " "), got, stderr.String())
		}
		checkColumns(t, stdout.String(), least)
	}
	check(t, 1000, append([]string{"inspect"}, captures...)...)
	for _, name := range []project.Name{project.EmittedSnapshot, project.EmittedSnapshotText, project.FoldedStream} {
		t.Run(string(name), func(t *testing.T) {
			out := t.TempDir()
			check(t, 500, append([]string{"freeze", "-o", out, "--projection", string(name)}, captures...)...)
			check(t, 100, "verify", out, "--capture", captures[0], "--capture", captures[1])
			check(t, 50, "validate", "--profile", "assay", out)
		})
	}
}

// The output of discover fits 120 columns if every committed capture is the response to its
// scenario.
func TestDiscoverColumns(t *testing.T) {
	t.Parallel()
	endpoint := replaying(t)
	dirs, err := filepath.Glob("../../discovery/captures/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for i, dir := range dirs {
		url := endpoint + "/" + filepath.Base(dir)
		all := [][]string{{url, "--scenarios", scenariosPath, "--details"}, {url, "--gate", "-o", filepath.Join(t.TempDir(), "captures")}}
		if i == 0 { // their lines are among the lines above
			all = append(all, []string{url}, []string{url, "--scenarios", scenariosPath}, []string{url, "--quiet"})
		}
		for _, flags := range all {
			var stdout, stderr bytes.Buffer
			run(append([]string{"discover"}, flags...), &stdout, &stderr)
			if quiet := flags[len(flags)-1] == "--quiet"; !quiet && !strings.Contains(stdout.String(), "HTTP 200") {
				t.Errorf("%s: nothing was answered: %s%s", url, stdout.String(), stderr.String())
			}
			checkColumns(t, stdout.String(), 1)
			checkColumns(t, stderr.String(), 0)
		}
	}
}

// checkColumns reports each line of more than 120 columns, and output of fewer than at least
// lines.
func checkColumns(t *testing.T, text string, least int) {
	t.Helper()
	lines := 0
	for line := range strings.Lines(text) {
		lines++
		if n := uniseg.StringWidth(strings.TrimSuffix(line, "\n")); n > 120 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if lines < least {
		t.Errorf("only %d lines", lines)
	}
}

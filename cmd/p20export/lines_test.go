package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/project"
)

// Whatever is committed as captured, what the commands print about it fits 120
// columns.
func TestLinesFit(t *testing.T) {
	t.Parallel()
	captures := []string{"../../discovery/captures", "../../discovery/drift/captures"}
	check := func(t *testing.T, least int, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if got := run(args, &stdout, &stderr); got > int(render.Negative) {
			t.Fatalf("p20export %s: exit status %d\n%s", strings.Join(args, " "), got, stderr.String())
		}
		lines := 0
		for line := range strings.Lines(stdout.String()) {
			lines++
			if n := uniseg.StringWidth(strings.TrimSuffix(line, "\n")); n > 120 {
				t.Errorf("p20export %s: %d columns: %s", args[0], n, line)
			}
		}
		if lines < least {
			t.Errorf("p20export %s: only %d lines", args[0], lines)
		}
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

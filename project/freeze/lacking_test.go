package freeze_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
)

// Among the committed captures, only the last snapshots of ADK 0.4.0 lack text that the
// run streamed. That release never added the reply to its snapshots.
func TestLackingText(t *testing.T) {
	want := map[string]int{
		"backend-tool": 1, "keep-alive": 1, "long-reply": 1, "long-stream": 1, "one-turn": 1, "parent-run": 1, "reasoning": 1,
		"state-change": 2, "three-turns-1": 1, "three-turns-2": 1, "three-turns-3": 1, "two-agents": 2, "unicode": 1,
	}
	for dir, want := range map[string]map[string]int{
		captures + "/*": {},
		"../../discovery/drift/captures/adk-0.6.0": {},
		"../../discovery/drift/captures/adk-0.4.0": want,
	} {
		paths, err := filepath.Glob(dir + "/*")
		if err != nil {
			t.Fatal(err)
		}
		frozen, got := 0, map[string]int{}
		for _, path := range paths {
			s := freeze.Settings{Settings: project.Settings{Projection: project.EmittedSnapshotText, Snapshot: project.Last}, Tool: tool}
			runs, err := freeze.Capture(t.Context(), open(t, path), s)
			if err != nil {
				t.Fatal(err)
			}
			for _, run := range runs {
				if run.Verdict != project.Frozen {
					continue
				}
				frozen++
				stated, err := record.Decode(run.Files.Record)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range stated.Predicate.Omissions {
					if o.Reason == finding.SnapshotLacksText {
						got[filepath.Base(path)]++
					}
				}
				warned := slices.ContainsFunc(run.Findings, func(f finding.Finding) bool {
					return f.Code == finding.SnapshotLacksText && f.Severity == finding.Warning
				})
				if warned != (got[filepath.Base(path)] > 0) {
					t.Errorf("%s: %v", path, run.Findings)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || frozen < len(want)+1 {
			t.Errorf("%s: %d frozen (-want +got)\n%s", dir, frozen, diff)
		}
	}
}

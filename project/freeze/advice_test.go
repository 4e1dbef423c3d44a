package freeze_test

import (
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// FoldedStream is suggested for a run without a snapshot if and only if it freezes the
// run under the same profile.
func TestAdvice(t *testing.T) {
	captures, err := filepath.Glob("../../discovery/captures/*/*/capture.json")
	if err != nil || len(captures) < 100 {
		t.Fatalf("%d captures, %v", len(captures), err)
	}
	frozen := func(path string, s project.Settings) freeze.Row {
		c, err := capture.Open(t.Context(), path, "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		runs, err := freeze.Capture(t.Context(), c, freeze.Settings{Settings: s})
		if err != nil || len(runs) == 0 {
			t.Fatal(path, len(runs), err)
		}
		return runs[0].Row
	}
	advised, not := 0, 0
	for _, profile := range []artifact.Profile{artifact.V1, artifact.Assay} {
		for _, path := range captures {
			path = filepath.Dir(path)
			for _, f := range frozen(path, project.Settings{Projection: project.EmittedSnapshotText, Snapshot: project.Last, Profile: profile}).Findings {
				if f.Code != finding.SnapshotMissing {
					continue
				}
				freezes := frozen(path, project.Settings{Projection: project.FoldedStream, Profile: profile}).Verdict == project.Frozen
				if advises := f.Hint == hint.BuildSnapshot; advises != freezes {
					t.Errorf("%s, %s: folded-stream freezes it: %t; %q", path, profile, freezes, f.Hint)
				}
				if freezes {
					advised++
				} else {
					not++
				}
			}
		}
	}
	if advised == 0 || not == 0 {
		t.Errorf("advised for %d runs, not for %d", advised, not)
	}
	t.Logf("advised for %d runs, not for %d", advised, not)
}

package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
)

const captures = "../../discovery/captures/adk"

var testTool = record.Tool{Name: "p20export", Version: "0.0.1"}

// frozen copies a committed capture and freezes the copy.
func frozen(t *testing.T, scenario string, p project.Name) (raw, out string) {
	t.Helper()
	raw, out = filepath.Join(t.TempDir(), scenario), t.TempDir()
	testkit.CopyDir(t, raw, filepath.Join(captures, scenario))
	rows, err := freeze.Freeze(context.Background(), raw, freeze.Settings{Settings: project.Settings{Projection: p}, Dir: out, Tool: testTool})
	if err != nil || len(rows) != 1 || rows[0].Verdict != project.Frozen {
		t.Fatalf("freeze: %v %+v", err, rows)
	}
	return raw, out
}

// If any byte of the capture, the artifact, the envelope or the record is flipped, the
// verdict is no longer verified. There are two exceptions: the tool version in the
// record, which verify ignores, and the version of the projection if another version
// has the same output.
func TestVerifyEveryByte(t *testing.T) {
	const shares = 8 // of the bytes, each flipped in its own copy
	for _, c := range []struct {
		scenario   string
		projection project.Name
	}{
		{"backend-tool", project.EmittedSnapshotText},
		{"model-error", project.FoldedStream},
	} {
		for share := range shares {
			t.Run(fmt.Sprintf("%s/%d", c.scenario, share), func(t *testing.T) {
				t.Parallel()
				flipBytes(t, c.scenario, c.projection, share, shares)
			})
		}
	}
}

// flipBytes flips every byte of each file whose offset is share, modulo shares.
func flipBytes(t *testing.T, scenario string, p project.Name, share, shares int) {
	raw, out := frozen(t, scenario, p)
	artifact := filepath.Join(out, scenario+record.ArtifactSuffix)
	stated := filepath.Join(out, scenario+record.Suffix)
	verdict := func() project.Verdict { return File(context.Background(), artifact, stated, raw, nil, nil).Verdict }
	if v := verdict(); v != project.Verified {
		t.Fatalf("before any flip: %s", v)
	}
	files := []string{artifact, filepath.Join(out, scenario+record.EnvelopeSuffix), stated}
	for _, name := range []string{"capture.json", "response.sse", "request.json", "arrivals.tsv"} {
		files = append(files, filepath.Join(raw, name))
	}
	for _, file := range files {
		good, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		aside := string(good)
		another := -1                                    // offset of a flip that results in another version with the same output
		if p != project.FoldedStream && file == stated { // 3 and 2 differ in one bit
			another = strings.Index(aside, `"version": 3`) + len(`"version": `)
		}
		from := strings.Index(aside, `"tool": {`) + len(`"tool": {`)
		to := from + strings.Index(aside[from:], "}")
		flipped := 0
		for i := share; i < len(good); i += shares {
			if file == stated && i >= from && i < to {
				continue
			}
			bad := good[i] ^ 1
			if _, err := f.WriteAt([]byte{bad}, int64(i)); err != nil {
				t.Fatal(err)
			}
			if v := verdict(); (v == project.Verified) != (i == another) {
				t.Errorf("%s: byte %d flipped from %q to %q: %s", filepath.Base(file), i, good[i], bad, v)
			}
			if _, err := f.WriteAt(good[i:i+1], int64(i)); err != nil {
				t.Fatal(err)
			}
			flipped++
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if flipped < 100/shares && filepath.Base(file) != "arrivals.tsv" {
			t.Errorf("%s: only %d bytes flipped", file, flipped)
		}
	}
	if v := verdict(); v != project.Verified {
		t.Errorf("after all flips were undone: %s", v)
	}
}

// earlier contains records that releases of this program wrote with older versions of
// the projections, and the artifacts and envelopes of these records.
const earlier = "testdata/earlier"

// made has the version and the capture of a record in earlier.
var made = map[string]struct {
	of      string
	capture string
}{
	"emitted":              {"emitted-snapshot@1", "../../discovery/drift/captures/adk-0.4.0/one-turn"},
	"emitted-operator":     {"emitted-snapshot@1", "../../discovery/drift/captures/adk-0.4.0/three-turns-3/response.sse"},
	"emitted-text":         {"emitted-snapshot-text@1", "../../discovery/drift/captures/adk-0.4.0/state-change"},
	"emitted-text-tool":    {"emitted-snapshot-text@1", "../../discovery/captures/adk/backend-tool"},
	"traced":               {"emitted-snapshot@2", earlier + "/traced.ndjson"},
	"traced-folded":        {"folded-stream@3", earlier + "/traced-streamed.ndjson"},
	"traced-text":          {"emitted-snapshot-text@2", earlier + "/traced.ndjson"},
	"failed":               {"folded-stream@1", earlier + "/failed"},
	"folded":               {"folded-stream@2", "../../discovery/captures/agno/two-agents"},
	"folded-failed":        {"folded-stream@2", "../../discovery/captures/adk/model-error"},
	"folded-input":         {"folded-stream@2", earlier + "/input.ndjson"},
	"input":                {"folded-stream@1", earlier + "/input.ndjson"},
	"refused-today":        {"emitted-snapshot@1", earlier + "/refused-today.ndjson"},
	"refused-today-folded": {"folded-stream@2", earlier + "/refused-today-streamed.ndjson"},
	"refused-today-text":   {"emitted-snapshot-text@1", earlier + "/refused-today.ndjson"},
	"shortened":            {"emitted-snapshot-text@1", earlier + "/shortened.ndjson"},
}

// Records of every earlier version verify, since the output of a version does not
// change.
func TestVerifyEarlierVersions(t *testing.T) {
	records, err := filepath.Glob(filepath.Join(earlier, "*"+record.Suffix))
	if err != nil || len(records) != len(made) {
		t.Fatalf("%d records, and %d are known: %v", len(records), len(made), err)
	}
	versions := make(map[string]bool)
	for name, from := range made {
		path := filepath.Join(earlier, name+record.ArtifactSuffix)
		stated, err := record.Read(record.Path(path))
		if err != nil {
			t.Fatal(err)
		}
		p := stated.Predicate.Projection
		if of := fmt.Sprintf("%s@%d", p.Name, p.Version); of != from.of {
			t.Errorf("%s is of %s, not %s", name, of, from.of)
		}
		versions[from.of] = true
		if row := File(t.Context(), path, "", from.capture, nil, nil); row.Verdict != project.Verified {
			t.Errorf("%s: %s %v", name, row.Verdict, row.Findings)
		}
	}
	for _, name := range project.Names() {
		for v := 1; v < name.Version(); v++ {
			if of := fmt.Sprintf("%s@%d", name, v); !versions[of] {
				t.Errorf("there is no record of %s", of)
			}
		}
	}
}

// Version 1 of folded-stream does not read the input in RUN_STARTED. Later versions do.
func TestVerifyFirstVersion(t *testing.T) {
	out := t.TempDir()
	rows, err := freeze.Freeze(t.Context(), filepath.Join(earlier, "input.ndjson"), freeze.Settings{Settings: project.Settings{Projection: project.FoldedStream}, Dir: out, Tool: testTool})
	if err != nil || rows[0].Verdict != project.Frozen {
		t.Fatalf("%v %+v", err, rows)
	}
	again, err := os.ReadFile(*rows[0].Artifact)
	if err != nil || strings.Count(string(again), `"id"`) != 2 {
		t.Errorf("the newest version made %s, %v", again, err)
	}
	// A record that states another version than that of its artifact does not verify.
	stated, err := os.ReadFile(filepath.Join(earlier, "input"+record.Suffix))
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]project.Verdict{"2": project.Differs, "3": project.Differs, "4": project.Differs, "5": project.Unverifiable, "0": project.Unverifiable} {
		other := filepath.Join(t.TempDir(), "input"+record.Suffix)
		if err := os.WriteFile(other, []byte(strings.Replace(string(stated), `"version": 1`, `"version": `+version, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if row := File(t.Context(), filepath.Join(earlier, "input"+record.ArtifactSuffix), other, filepath.Join(earlier, "input.ndjson"), nil, nil); row.Verdict != want {
			t.Errorf("version %s: %s %v, want %s", version, row.Verdict, row.Findings, want)
		}
	}
}

// The search for the capture of one artifact has the same limit as a directory.
func TestLookUpLimit(t *testing.T) {
	dir := evidence(t, "one-turn", project.EmittedSnapshot) // 3 directories, 7 files
	stated, err := record.Read(filepath.Join(dir, "frozen/one-turn.record.json"))
	if err != nil {
		t.Fatal(err)
	}
	source := stated.Predicate.Capture
	paths, err := (&finder{jobs: 1, limit: 10}).lookUp(context.Background(), dir, source)
	if err != nil || len(paths) != 1 || paths[0] != filepath.Join(dir, "captures/one-turn") {
		t.Errorf("%q, %v", paths, err)
	}
	_, err = (&finder{jobs: 1, limit: 9}).lookUp(context.Background(), dir, source)
	if f, ok := errors.AsType[finding.Finding](err); !ok || f.Code != finding.CaptureAbsent || !strings.Contains(f.Message, "contains more than 9 files") || !strings.Contains(f.Hint, string(source.ManifestDigest)) {
		t.Errorf("past the limit: %v", err)
	}
}

// An intact copy of the capture is used instead of a copy with a link in place of its
// response.
func TestVerifyOtherCopy(t *testing.T) {
	dir := evidence(t, "one-turn", project.EmittedSnapshot)
	whole := filepath.Join(dir, "captures", "one-turn")
	linked := filepath.Join(dir, "captures", "a-copy")
	testkit.CopyDir(t, linked, whole)
	response := filepath.Join(linked, "response.sse")
	if err := errors.Join(os.Rename(response, filepath.Join(dir, "elsewhere")), os.Symlink("../../elsewhere", response)); err != nil {
		t.Fatal(err)
	}
	row := File(context.Background(), filepath.Join(dir, "frozen/one-turn.artifact.json"), "", filepath.Join(dir, "captures"), nil, nil)
	if row.Verdict != project.Verified || row.Capture != whole {
		t.Errorf("%s by %s: %v", row.Verdict, row.Capture, row.Findings)
	}
}

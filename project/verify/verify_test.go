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
	testkit.Copy(t, raw, filepath.Join(captures, scenario))
	rows, err := freeze.Freeze(context.Background(), raw, freeze.Settings{Settings: project.Settings{Projection: p}, Dir: out, Tool: testTool})
	if err != nil || len(rows) != 1 || rows[0].Verdict != project.Frozen {
		t.Fatalf("freeze: %v %+v", err, rows)
	}
	return raw, out
}

// Every byte of the capture, the artifact, the envelope and the record counts:
// whichever is flipped, verify no longer says verified. The one exception is the
// record's tool, which verify leaves aside.
func TestVerifyEveryByte(t *testing.T) {
	const shares = 8 // of the bytes, each flipped in a copy of its own
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
	verdict := func() project.Verdict { return File(context.Background(), artifact, stated, raw, nil).Verdict }
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
			if v := verdict(); v == project.Verified {
				t.Errorf("%s: byte %d flipped from %q to %q, and still verified", filepath.Base(file), i, good[i], bad)
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

// Records that name version 1 of folded-stream verify: what it outputs does not
// change. It does not read the input in RUN_STARTED; version 2 does.
func TestVerifyFirstVersion(t *testing.T) {
	const dir = "testdata/version-1"
	for name, raw := range map[string]string{
		"failed": filepath.Join(dir, "failed"),
		"input":  filepath.Join(dir, "input.ndjson"),
	} {
		path := filepath.Join(dir, name+record.ArtifactSuffix)
		stated, err := record.Read(record.Path(path))
		if err != nil {
			t.Fatal(err)
		}
		if p := stated.Predicate.Projection; p.Name != project.FoldedStream || p.Version != 1 {
			t.Fatalf("%s is of %s@%d", name, p.Name, p.Version)
		}
		if row := File(t.Context(), path, "", raw, nil); row.Verdict != project.Verified {
			t.Errorf("%s: %s %v", name, row.Verdict, row.Findings)
		}
	}
	out := t.TempDir()
	rows, err := freeze.Freeze(t.Context(), filepath.Join(dir, "input.ndjson"), freeze.Settings{Settings: project.Settings{Projection: project.FoldedStream}, Dir: out, Tool: testTool})
	if err != nil || rows[0].Verdict != project.Frozen {
		t.Fatalf("%v %+v", err, rows)
	}
	again, err := os.ReadFile(*rows[0].Artifact)
	if err != nil || strings.Count(string(again), `"id"`) != 2 {
		t.Errorf("version 2 made %s, %v", again, err)
	}
	// A record cannot claim another version than its artifact is of.
	stated, err := os.ReadFile(filepath.Join(dir, "input"+record.Suffix))
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]project.Verdict{"2": project.Differs, "3": project.Unverifiable, "0": project.Unverifiable} {
		other := filepath.Join(t.TempDir(), "input"+record.Suffix)
		if err := os.WriteFile(other, []byte(strings.Replace(string(stated), `"version": 1`, `"version": `+version, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if row := File(t.Context(), filepath.Join(dir, "input"+record.ArtifactSuffix), other, filepath.Join(dir, "input.ndjson"), nil); row.Verdict != want {
			t.Errorf("version %s: %s %v, want %s", version, row.Verdict, row.Findings, want)
		}
	}
}

// Where the capture of one artifact is looked for, no more is looked at than in a
// directory.
func TestLookUpLimit(t *testing.T) {
	dir := evidence(t, "one-turn", project.EmittedSnapshot) // 3 directories, 7 files
	stated, err := record.Read(filepath.Join(dir, "frozen/one-turn.record.json"))
	if err != nil {
		t.Fatal(err)
	}
	source := stated.Predicate.Capture
	paths, err := lookUp(context.Background(), dir, source, 10)
	if err != nil || len(paths) != 1 || paths[0] != filepath.Join(dir, "captures/one-turn") {
		t.Errorf("%q, %v", paths, err)
	}
	_, err = lookUp(context.Background(), dir, source, 9)
	if f, ok := errors.AsType[finding.Finding](err); !ok || f.Code != finding.CaptureAbsent || !strings.Contains(f.Message, "holds more than 9 files") || !strings.Contains(f.Hint, string(source.ManifestDigest)) {
		t.Errorf("past the limit: %v", err)
	}
}

// A copy of the capture that has a link in place of its response is passed over for
// one that is whole.
func TestVerifyOtherCopy(t *testing.T) {
	dir := evidence(t, "one-turn", project.EmittedSnapshot)
	whole := filepath.Join(dir, "captures", "one-turn")
	linked := filepath.Join(dir, "captures", "a-copy")
	testkit.Copy(t, linked, whole)
	response := filepath.Join(linked, "response.sse")
	if err := errors.Join(os.Rename(response, filepath.Join(dir, "elsewhere")), os.Symlink("../../elsewhere", response)); err != nil {
		t.Fatal(err)
	}
	row := File(context.Background(), filepath.Join(dir, "frozen/one-turn.artifact.json"), "", filepath.Join(dir, "captures"), nil)
	if row.Verdict != project.Verified || row.Capture != whole {
		t.Errorf("%s by %s: %v", row.Verdict, row.Capture, row.Findings)
	}
}

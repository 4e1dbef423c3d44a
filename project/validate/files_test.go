package validate

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
)

const lane = "../../examples/ag-ui-compacted-message-snapshot-evidence"

// rows formats rows as "verdict path message", with paths relative to dir. Only rows of
// files that could not be validated have a message.
func rows(ctx context.Context, dir string, kind Kind, paths ...string) (lines []string) {
	for row := range Files(ctx, entries(paths...), Settings{Profile: artifact.V1, Kind: kind, Jobs: 2}) {
		line := string(row.Verdict) + " " + strings.TrimPrefix(row.File, dir+"/")
		if row.Verdict == project.Failed {
			line += " " + row.Findings[0].Message
		}
		lines = append(lines, line)
	}
	return lines
}

// entries returns the entries of paths.
func entries(paths ...string) iter.Seq[inputs.Entry] {
	return func(yield func(inputs.Entry) bool) {
		for _, path := range paths {
			if !yield(inputs.Entry{Path: path}) {
				return
			}
		}
	}
}

// For a directory, only the artifacts and envelopes in it are validated.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "b"), os.DirFS(lane+"/frozen")); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("a/x.artifact.json", "{}")
	put("a.json", "{}")
	put("c/new\nline/x.envelope.ndjson", "{}")
	put("c/x.artifact.json/inside.txt", "")
	want := []string{
		"malformed a/x.artifact.json",
		"accepted b/failed.artifact.json", "accepted b/failed.envelope.ndjson",
		"accepted b/finished.artifact.json", "accepted b/finished.envelope.ndjson",
		"accepted b/multi-turn.artifact.json", "accepted b/multi-turn.envelope.ndjson",
		"accepted b/snapshot-then-error.artifact.json", "accepted b/snapshot-then-error.envelope.ndjson",
		"accepted b/with-parent.artifact.json", "accepted b/with-parent.envelope.ndjson",
		"malformed c/new\nline/x.envelope.ndjson",
	}
	ctx := context.Background()
	if diff := cmp.Diff(want, rows(ctx, dir, "", dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, kind := range []Kind{Artifact, Envelope} {
		of := slices.DeleteFunc(slices.Clone(want), func(line string) bool { return !strings.Contains(line, "."+string(kind)+".") })
		if diff := cmp.Diff(of, rows(ctx, dir, kind, dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	if got := rows(ctx, dir, "", filepath.Join(dir, "a.json"), filepath.Join(dir, "a")); len(got) != 2 || got[0] != "malformed a.json" {
		t.Errorf("a file and a directory: %q", got)
	}
}

// An entry that cannot be validated results in an error row. So does a directory that
// cannot be validated.
func TestFilesUnread(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	if err := os.Symlink("x.artifact.json", filepath.Join(dir, "x.artifact.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", filepath.Join(dir, "itself")); err != nil {
		t.Fatal(err)
	}
	link := "error x.artifact.json the entry is a symbolic link, which is not followed"
	if diff := cmp.Diff([]string{link}, rows(ctx, dir, "", dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := rows(ctx, dir, Envelope, dir); len(got) != 1 || !strings.Contains(got[0], "contains no file to validate") {
		t.Errorf("no envelope: %q", got)
	}
	testkit.MakeUnreadable(t, dir)
	if got := rows(ctx, dir, "", dir); len(got) != 2 || !strings.HasPrefix(got[0], "error ddd") || got[1] != link {
		t.Errorf("with a directory that cannot be read: %.200q", got)
	}
}

// The sequence stops when the context ends.
func TestFilesInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for range Files(ctx, entries(lane+"/frozen", lane+"/frozen"), Settings{}) {
		n++
		cancel()
	}
	if n != 1 {
		t.Errorf("%d rows", n)
	}
}

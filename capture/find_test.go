package capture

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/internal/testkit"
)

// found formats the result of Find as "path in reldir", relative to dir.
func found(t *testing.T, dir string, paths ...string) []string {
	t.Helper()
	all, err := Find(context.Background(), paths)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range all {
		lines = append(lines, strings.TrimPrefix(f.Path, dir+"/")+" in "+f.RelDir)
	}
	return lines
}

func lay(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A directory is searched for captures, closed or not. A capture is returned itself.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"captures/one/capture.json", "captures/one/response.sse", "captures/one/inner/capture.json",
		"captures/deep/er/one/capture.json", "captures/one-more/response.ndjson", "captures/open/capture.json.tmp",
		"captures/new\nline/capture.json", "captures/\xff/capture.json",
		"captures/a.sse", "captures/b.ndjson", "captures/frozen/one.artifact.json",
		"run.sse",
	} {
		lay(t, filepath.Join(dir, name))
	}
	want := []string{
		"captures/deep/er/one in deep/er",
		"captures/new\nline in .",
		"captures/one in .",
		"captures/one/inner in one",
		"captures/one-more in .",
		"captures/open in .",
		"captures/\xff in .",
	}
	if diff := cmp.Diff(want, found(t, dir, dir+"/captures/")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, path := range []string{"captures/one", "run.sse", "missing"} {
		if diff := cmp.Diff([]string{path + " in ."}, found(t, dir, filepath.Join(dir, path))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	if diff := cmp.Diff([]string{"- in .", "captures/open in .", "captures/one in ."}, found(t, dir, "-", dir+"/captures/open", dir+"/captures/one")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	t.Chdir(filepath.Join(dir, "captures/deep/er"))
	if diff := cmp.Diff([]string{"one in .", "../er/one in er"}, found(t, "", ".", "..")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An output directory keeps its given form, and outputs stay below it.
func TestFoundUnder(t *testing.T) {
	for _, c := range [][3]string{
		{".", "out", "out"}, {".", "link/..", "link/.."}, {"a/b", "out", "out/a/b"}, {"a", "out/", "out/a"},
		{"a", "link/..", "link/../a"}, {"a", "/", "/a"},
	} {
		if got := (Found{RelDir: c[0]}).Under(c[1]); got != c[2] {
			t.Errorf("%q under %q is %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// A directory without captures is an error, and so is one with too many entries.
func TestFindNothing(t *testing.T) {
	dir := t.TempDir()
	lay(t, filepath.Join(dir, "frozen", "run.sse"))
	lay(t, filepath.Join(dir, "frozen", "one.artifact.json"))
	if _, err := Find(context.Background(), []string{dir}); err == nil || !strings.Contains(err.Error(), "contains no captures: no directory in it has a capture.json") {
		t.Errorf("without a capture: %v", err)
	}
	lay(t, filepath.Join(dir, "one", "capture.json")) // 5 entries
	if _, err := find(context.Background(), []string{dir}, 5); err != nil {
		t.Error(err)
	}
	_, err := find(context.Background(), []string{dir}, 4)
	if f, ok := errors.AsType[finding.Finding](err); !ok || f.Code != finding.TreeTooLarge {
		t.Errorf("past the limit: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := find(ctx, []string{dir}, dirtree.MaxEntries); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Find does not follow links or open pipes. It returns unreadable directories, for
// Open to report them.
func TestFindOddEntries(t *testing.T) {
	dir := t.TempDir()
	lay(t, filepath.Join(dir, "captures", "one", "capture.json"))
	lay(t, filepath.Join(dir, "elsewhere", "capture.json"))
	for name, target := range map[string]string{"captures/itself": ".", "captures/link": "../elsewhere", "byname": "captures"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "captures", "piped"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pipe.sse", "piped/capture.json"} {
		if err := syscall.Mkfifo(filepath.Join(dir, "captures", name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"byname/one in .", "byname/piped in ."}, found(t, dir, filepath.Join(dir, "byname"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Open(context.Background(), filepath.Join(dir, "captures", "piped"), ""); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe as the manifest: %v", err)
	}
	testkit.MakeUnreadable(t, filepath.Join(dir, "captures"))
	all, err := Find(context.Background(), []string{filepath.Join(dir, "captures")})
	if err != nil || len(all) != 3 {
		t.Fatalf("with a directory that cannot be read: %d, %v", len(all), err)
	}
	if _, err := Open(context.Background(), all[0].Path, ""); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("opening it: %v", err)
	}
}

// The state of a directory follows from its name and the names of its regular files.
func TestDirectories(t *testing.T) {
	dir := t.TempDir()
	removed := atomicfile.TemporaryName()
	for _, name := range []string{
		"a/capture.json", "a/capture.json.tmp", "a/response.sse.unfinished", "b/capture.json.tmp", "c/arrivals.tsv", "c/response.sse.unfinished",
		"d/response.sse.unfinished", "d/e/response.ndjson", "f/notes.txt", "f/request.json", "g/notes.unfinished",
		removed + "/capture.json", removed + "/below/capture.json", "h/" + removed + "/response.sse",
		"i/.p20export-short.tmp/response.sse",
	} {
		lay(t, filepath.Join(dir, name))
	}
	for link, to := range map[string]string{"j/capture.json": "../a/capture.json", "k/response.sse": "../a/capture.json", "l": "a"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o755), os.Symlink(to, filepath.Join(dir, link))); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]State{
		"a": Closed, "b": Unfinished, "c": Unfinished, "d": SetAside, "d/e": Unfinished, removed: Removed, "h/" + removed: Removed,
		"i/.p20export-short.tmp": Unfinished, "j": Closed,
	}
	got := make(map[string]State)
	for d, err := range Directories(context.Background(), dir) {
		if err != nil || d.Err != nil || d.Path != filepath.Join(dir, d.Rel) {
			t.Fatal(d, err)
		}
		got[d.Rel] = d.State
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := found(t, dir, dir), []string{"a in .", "b in .", "c in .", "d/e in d", "i/.p20export-short.tmp in i", "j in ."}; !cmp.Equal(got, want) {
		t.Errorf("Find returns %v, want %v", got, want)
	}
}

package verify

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
)

const committed = "../../discovery"

// sameRows fails if the rows of a directory depend on the number of jobs or on the memory
// for findings. It returns the rows.
func sameRows(t testing.TB, dir string, s TreeSettings) []TreeRow {
	t.Helper()
	s.Jobs = 1
	want := treeRows(dir, s)
	for _, jobs := range []int{2, 8} {
		s.Jobs = jobs
		if diff := cmp.Diff(want, treeRows(dir, s)); diff != "" {
			t.Errorf("%s: the rows of %d jobs differ from those of one (-1 +%d):\n%s", dir, jobs, jobs, diff)
		}
	}
	s.Jobs = 8
	if diff := cmp.Diff(want, slices.Collect(verifyTree(context.Background(), dir, s, limits{entries: MaxEntries}))); diff != "" {
		t.Errorf("%s: the rows of 8 jobs without memory for findings differ (-1 +8):\n%s", dir, diff)
	}
	return want
}

// The number of jobs does not affect the rows of the sample lane and of all committed
// captures, frozen with every projection, intact and damaged.
func TestVerifyTreeJobs(t *testing.T) {
	t.Parallel()
	sameRows(t, "../../examples/ag-ui-compacted-message-snapshot-evidence", TreeSettings{})
	dir := t.TempDir()
	found, err := capture.Find(context.Background(), []string{filepath.Join(committed, "captures")})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range found {
		p := project.Names()[i%len(project.Names())]
		s := freeze.Settings{Settings: project.Settings{Projection: p}, Dir: c.Under(dir), Tool: testTool}
		if _, err := freeze.Freeze(context.Background(), c.Path, s); err != nil {
			t.Fatal(err)
		}
	}
	others := []string{filepath.Join(committed, "drift", "captures"), filepath.Join(committed, "captures")}
	rows := sameRows(t, dir, TreeSettings{Captures: others, Strict: true})
	if n := countVerdict(rows, project.Verified); n < 30 || n != len(rows) {
		t.Errorf("%d of %d rows are verified", n, len(rows))
	}
	rows = sameRows(t, filepath.Join(committed, "captures"), TreeSettings{CapturesOnly: true})
	if n := countVerdict(rows, Whole); n < len(found) {
		t.Errorf("%d of %d captures are whole", n, len(found))
	}
	damage(t, dir)
	rows = sameRows(t, dir, TreeSettings{Captures: others})
	for _, v := range []project.Verdict{project.Verified, project.Differs, project.Unverifiable, Unexplained} {
		if countVerdict(rows, v) == 0 {
			t.Errorf("no row of the damaged files is %s", v)
		}
	}
}

func countVerdict(rows []TreeRow, v project.Verdict) (n int) {
	for _, row := range rows {
		if row.Verdict == v {
			n++
		}
	}
	return n
}

// damage removes, changes, renames, links and copies some of the files in a directory.
func damage(t *testing.T, dir string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		switch n % 17 {
		case 1:
			return os.Remove(path)
		case 5:
			return os.Truncate(path, 10)
		case 8:
			return os.Rename(path, filepath.Join(filepath.Dir(path), "x"+d.Name()))
		case 11:
			return os.Symlink(path, path+".link"+record.ArtifactSuffix)
		case 14:
			data := testkit.Read(t, path)
			data[len(data)/2] ^= 1
			return os.WriteFile(path, data, 0o644)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The number of jobs does not affect the rows of plain captures of the same size. Some of
// them are copies, some cannot be read as captures, and some are listed in a capture.json.
func TestVerifyTreeJobsPlain(t *testing.T) {
	t.Parallel()
	dir := plainEvidence(t)
	rows := sameRows(t, dir, TreeSettings{})
	if n := countVerdict(rows, project.Verified); n != 30 {
		t.Errorf("%d records are verified, want 30: %v", n, outline(dir, rows))
	}
	sameRows(t, filepath.Join(dir, "frozen"), TreeSettings{Captures: []string{filepath.Join(dir, "copies"), filepath.Join(dir, "captures")}})
}

// plainEvidence creates a directory with 40 frozen plain captures of the same size. Some
// of the captures were removed or changed, some have a copy, and there is a capture
// directory.
func plainEvidence(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text := string(testkit.Read(t, filepath.Join(captures, "one-turn", "response.sse")))
	times, err := project.NewOperatorTimes("2026-01-31T12:00:00Z", "2026-01-31T12:00:05Z")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		name := fmt.Sprintf("run-%02d", i)
		path := filepath.Join(dir, "captures", name+".sse")
		testkit.Write(t, path, strings.ReplaceAll(text, "one-turn", fmt.Sprintf("one-%04d", i)))
		s := freeze.Settings{Settings: project.Settings{Projection: project.EmittedSnapshot, Operator: times}, Dir: filepath.Join(dir, "frozen"), Tool: testTool}
		if rows, err := freeze.Freeze(context.Background(), path, s); err != nil || rows[0].Verdict != project.Frozen {
			t.Fatalf("%v %+v", err, rows)
		}
		switch i % 8 {
		case 1:
			testkit.Write(t, filepath.Join(dir, "copies", name+".sse"), string(testkit.Read(t, path)))
		case 3:
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		case 5:
			testkit.Write(t, path, strings.Repeat("x", len(text)))
		case 7:
			if err := os.Rename(path, filepath.Join(dir, "captures", "moved-"+name+".bin")); err != nil {
				t.Fatal(err)
			}
		}
	}
	copyTree(t, filepath.Join(captures, "one-turn"), filepath.Join(dir, "captures", "directory"))
	return dir
}

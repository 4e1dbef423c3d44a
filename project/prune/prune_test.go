package prune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

const sample = "../../examples/ag-ui-compacted-message-snapshot-evidence"

// later is after the end of every capture of the tests.
var later = time.Now().Add(time.Hour)

// store creates a store with copies of captures of the sample. The keys are paths in the
// store, the values names of captures.
func store(t *testing.T, captures map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, name := range captures {
		testkit.CopyDir(t, filepath.Join(dir, path), filepath.Join(sample, "raw", name))
	}
	return dir
}

// outline formats the rows of a store as "verdict path code ...".
func outline(t *testing.T, dir string, s Settings) (lines []string) {
	t.Helper()
	for row, err := range Dir(context.Background(), dir, s) {
		if err != nil {
			t.Fatal(err)
		}
		line := string(row.Verdict) + " " + strings.TrimPrefix(row.Capture, dir+"/")
		for _, f := range row.Findings {
			line += " " + string(f.Code)
		}
		lines = append(lines, line)
	}
	return lines
}

// check compares the rows of a store. It prunes with DryRun first, which must give the same
// rows and change nothing.
func check(t *testing.T, dir string, s Settings, want ...string) {
	t.Helper()
	before := testkit.Contents(t, dir)
	trial := s
	trial.DryRun = true
	var tried []string
	for _, line := range outline(t, dir, trial) {
		tried = append(tried, strings.Replace(line, string(Removable)+" ", string(Removed)+" ", 1))
	}
	if diff := cmp.Diff(want, tried); diff != "" {
		t.Errorf("in a trial (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, testkit.Contents(t, dir)); diff != "" {
		t.Errorf("a trial changed the store:\n%s", diff)
	}
	if diff := cmp.Diff(want, outline(t, dir, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for path := range before {
		_, err := os.Lstat(filepath.Join(dir, path))
		gone := slices.ContainsFunc(want, func(line string) bool {
			verdict, rest, _ := strings.Cut(line, " ")
			capture, _, _ := strings.Cut(rest, " ")
			return verdict == string(Removed) && strings.HasPrefix(path+"/", capture+"/")
		})
		if errors.Is(err, os.ErrNotExist) != gone {
			t.Errorf("%s: %v, want it removed: %v", path, err, gone)
		}
	}
}

// Captures that ended before a time are removed, and no others.
func TestAge(t *testing.T) {
	dir := store(t, map[string]string{"a/old": "finished", "b": "with-parent"})
	m, err := capture.DecodeManifest(testkit.Read(t, filepath.Join(dir, "b/capture.json")))
	if err != nil {
		t.Fatal(err)
	}
	old, err := capture.DecodeManifest(testkit.Read(t, filepath.Join(dir, "a/old/capture.json")))
	if err != nil || !old.EndedAt.Before(m.EndedAt) {
		t.Fatalf("the capture a is not older than b: %v %v %v", old.EndedAt, m.EndedAt, err)
	}
	check(t, dir, Settings{Before: old.EndedAt, Unfrozen: true}, "kept a/old", "kept b")
	check(t, dir, Settings{Before: m.EndedAt, Unfrozen: true}, "removed a/old", "kept b")
	check(t, dir, Settings{Before: later, Unfrozen: true}, "removed b")
	testkit.RequireNames(t, dir, "a")
}

// With FrozenIn, a capture is removed only if it has an intact record there for every run.
func TestFrozenIn(t *testing.T) {
	frozen := filepath.Join(sample, "frozen")
	for _, tt := range []struct {
		name    string
		capture string
		damage  func(t *testing.T, out string) error
		want    string
	}{
		{"intact", "finished", func(*testing.T, string) error { return nil }, "removed c"},
		{"no record", "finished", func(t *testing.T, out string) error { return os.Remove(out + "/finished.record.json") }, "kept c nothing_frozen"},
		{"no artifact", "finished", func(t *testing.T, out string) error { return os.Remove(out + "/finished.artifact.json") }, "kept c artifact_absent nothing_frozen"},
		{"no envelope", "finished", func(t *testing.T, out string) error { return os.Remove(out + "/finished.envelope.ndjson") }, "kept c envelope_absent nothing_frozen"},
		{"another artifact", "finished", func(t *testing.T, out string) error {
			return os.Rename(out+"/failed.artifact.json", out+"/finished.artifact.json")
		}, "kept c artifact_differs nothing_frozen"},
		{"another envelope", "finished", func(t *testing.T, out string) error {
			return os.Rename(out+"/failed.envelope.ndjson", out+"/finished.envelope.ndjson")
		}, "kept c envelope_differs nothing_frozen"},
		{"linked artifact", "finished", func(t *testing.T, out string) error {
			return errors.Join(os.Rename(out+"/finished.artifact.json", out+"/elsewhere"), os.Symlink("elsewhere", out+"/finished.artifact.json"))
		}, "kept c artifact_absent nothing_frozen"},
		{"another capture", "failed", func(t *testing.T, out string) error { return os.Remove(out + "/failed.record.json") }, "kept c nothing_frozen"},
		{"record cut", "finished", func(t *testing.T, out string) error { return os.Truncate(out+"/finished.record.json", 100) }, "kept c nothing_frozen"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := store(t, map[string]string{"c": tt.capture})
			out := filepath.Join(t.TempDir(), "out")
			testkit.CopyDir(t, filepath.Join(out, "deep"), frozen)
			if err := tt.damage(t, filepath.Join(out, "deep")); err != nil {
				t.Fatal(err)
			}
			check(t, dir, Settings{Before: later, FrozenIn: out}, tt.want)
			if tt.want == "removed c" {
				return
			}
			// A capture that is not frozen is removed only if that is asked for.
			check(t, dir, Settings{Before: later, FrozenIn: out, Unfrozen: true}, strings.TrimSuffix(strings.Replace(tt.want, "kept", "removed", 1), " nothing_frozen"))
		})
	}
}

// writeRuns writes a capture of n runs, and freezes them in order. It returns the paths of
// the records.
func writeRuns(t *testing.T, dir, out string, n int) (records []string) {
	t.Helper()
	w, err := capture.Create(dir, capture.Settings{Source: capture.Source{Kind: capture.KindFile}, Framing: capture.SSE, Tool: capture.Tool{Name: "test", Version: "1"}, Arrivals: true})
	if err != nil {
		t.Fatal(err)
	}
	run := string(testkit.Read(t, filepath.Join(sample, "raw/finished/response.sse")))
	for i := range n {
		if _, err := w.Write([]byte(strings.ReplaceAll(run, `"runId":"`, `"runId":"`+strconv.Itoa(i+1)+"-"))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(capture.EndEOF); err != nil {
		t.Fatal(err)
	}
	rows, err := freeze.Freeze(t.Context(), dir, freeze.Settings{Settings: project.Settings{Projection: project.EmittedSnapshot}, Dir: out})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Record == nil {
			t.Fatalf("not frozen: %+v", row)
		}
		records = append(records, *row.Record)
	}
	return records
}

// A capture of several runs is removed only if all of them are frozen. The row lists the
// records in the order of the runs.
func TestSeveralRuns(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	records := writeRuns(t, filepath.Join(dir, "many"), out, 11)
	last := testkit.Read(t, records[10])
	if err := os.Remove(records[10]); err != nil {
		t.Fatal(err)
	}
	check(t, dir, Settings{Before: later, FrozenIn: out}, "kept many nothing_frozen")
	testkit.Write(t, records[10], last)
	for row, err := range Dir(t.Context(), dir, Settings{Before: later, FrozenIn: out, DryRun: true}) {
		if diff := cmp.Diff(records, row.Records); err != nil || diff != "" {
			t.Errorf("records: %v (-want +got):\n%s", err, diff)
		}
	}
	check(t, dir, Settings{Before: later, FrozenIn: out}, "removed many")
}

// A record that differs from that of the repeated projection is not intact, although it
// names files that exist and have the digests that it states.
func TestAlteredRecord(t *testing.T) {
	subjects := regexp.MustCompile(`(?s)"subject": \[.*?\n  \]`)
	for name, alter := range map[string]func(first, second string) string{
		"another run": func(first, _ string) string { return strings.Replace(first, `"run": 1`, `"run": 2`, 1) },
		"another artifact": func(first, second string) string {
			return subjects.ReplaceAllLiteralString(second, subjects.FindString(first))
		},
		"another response": func(_, second string) string {
			return regexp.MustCompile(`("capture": \{\s*"digest": "sha256:)[0-9a-f]{64}`).ReplaceAllString(second, "${1}"+strings.Repeat("0", 64))
		},
		"another size": func(_, second string) string {
			return regexp.MustCompile(`"bytes": \d+`).ReplaceAllString(second, `"bytes": 7`)
		},
		"another framing": func(_, second string) string {
			return strings.Replace(second, `"framing": "sse"`, `"framing": "ndjson"`, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, out := t.TempDir(), t.TempDir()
			records := writeRuns(t, filepath.Join(dir, "two"), out, 2)
			first, second := string(testkit.Read(t, records[0])), string(testkit.Read(t, records[1]))
			altered := alter(first, second)
			if altered == second {
				t.Fatal("the record was not altered")
			}
			testkit.Write(t, records[1], altered)
			for row, err := range Dir(t.Context(), dir, Settings{Before: later, FrozenIn: out}) {
				if err != nil || row.Verdict != Kept || len(row.Findings) == 0 || !finding.Has(row.Findings, finding.NothingFrozen) {
					t.Errorf("%+v: %v", row, err)
				}
			}
			testkit.RequireNames(t, dir, "two")
		})
	}
}

// Unfinished captures and what recovery set aside are removed only if that is asked for.
func TestUnfinished(t *testing.T) {
	dir := store(t, map[string]string{"open": "finished", "rest": "finished"})
	if err := os.Rename(filepath.Join(dir, "open/capture.json"), filepath.Join(dir, "open/capture.json.tmp")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"capture.json", "response.sse", "arrivals.tsv", "request.json"} {
		if err := os.Rename(filepath.Join(dir, "rest", name), filepath.Join(dir, "rest", name+capture.RemainderSuffix)); err != nil {
			t.Fatal(err)
		}
	}
	check(t, dir, Settings{Before: later, Unfrozen: true}, "kept open capture_unfinished", "kept rest capture_set_aside")
	check(t, dir, Settings{Before: later.Add(-2 * time.Hour), Unfrozen: true, Unfinished: true}, "kept open", "kept rest")
	check(t, dir, Settings{Before: later, Unfrozen: true, Unfinished: true}, "removed open", "removed rest")
}

// A directory that contains anything but files of a capture is kept.
func TestForeign(t *testing.T) {
	for name, add := range map[string]func(dir string) error{
		"file":      func(dir string) error { return os.WriteFile(dir+"/notes.txt", nil, 0o644) },
		"directory": func(dir string) error { return os.Mkdir(dir+"/frozen", 0o755) },
		"response":  func(dir string) error { return os.WriteFile(dir+"/response.ndjson", nil, 0o644) },
		"remainder": func(dir string) error { return os.WriteFile(dir+"/response.sse.unfinished", nil, 0o644) },
		"link": func(dir string) error {
			return errors.Join(os.Rename(dir+"/response.sse", dir+"/../elsewhere"), os.Symlink("../elsewhere", dir+"/response.sse"))
		},
		"temporary directory": func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/notes.txt", nil, 0o644), os.Rename(dir, filepath.Dir(dir)+"/"+atomicfile.TemporaryName()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := store(t, map[string]string{"c": "finished"})
			if err := add(filepath.Join(dir, "c")); err != nil {
				t.Fatal(err)
			}
			before := testkit.Contents(t, dir)
			lines := outline(t, dir, Settings{Before: later, Unfrozen: true, Unfinished: true})
			if len(lines) != 1 || !strings.HasPrefix(lines[0], "kept ") || !strings.HasSuffix(lines[0], " file_unexplained") {
				t.Errorf("rows: %q", lines)
			}
			if diff := cmp.Diff(before, testkit.Contents(t, dir)); diff != "" {
				t.Errorf("the store changed:\n%s", diff)
			}
		})
	}
}

// A link in place of a directory is not followed.
func TestLinks(t *testing.T) {
	dir := store(t, map[string]string{"c": "finished"})
	outside := store(t, map[string]string{"d": "finished"})
	if err := errors.Join(os.Symlink(filepath.Join(outside, "d"), filepath.Join(dir, "d")), os.Symlink(outside, filepath.Join(dir, "e"))); err != nil {
		t.Fatal(err)
	}
	before := testkit.Contents(t, outside)
	if got := outline(t, dir, Settings{Before: later, Unfrozen: true, Unfinished: true}); !cmp.Equal(got, []string{"removed c"}) {
		t.Errorf("rows: %q", got)
	}
	testkit.RequireNames(t, dir, "d", "e")
	if diff := cmp.Diff(before, testkit.Contents(t, outside)); diff != "" {
		t.Errorf("files outside of the store changed:\n%s", diff)
	}
}

// The next call removes what an interrupted one left, whatever the age of the capture.
func TestInterrupted(t *testing.T) {
	dir := store(t, map[string]string{"a/c": "finished"})
	temp := filepath.Join(dir, "a", atomicfile.TemporaryName())
	if err := errors.Join(os.Rename(filepath.Join(dir, "a/c"), temp), os.Remove(filepath.Join(temp, "capture.json"))); err != nil {
		t.Fatal(err)
	}
	check(t, dir, Settings{Unfrozen: true}, "removed a/"+filepath.Base(temp)+" temporary_file")
}

// A capture that cannot be read is kept, with an error.
func TestDamaged(t *testing.T) {
	dir := store(t, map[string]string{"c": "finished", "d": "with-parent"})
	testkit.Write(t, filepath.Join(dir, "c/capture.json"), "{}")
	testkit.Write(t, filepath.Join(dir, "d/response.sse"), "")
	check(t, dir, Settings{Before: later, FrozenIn: filepath.Join(sample, "frozen")}, "error c capture_manifest_malformed", "error d capture_digest_mismatch")
}

// A store that is a capture, or a missing directory, is an error.
func TestErrors(t *testing.T) {
	dir := store(t, map[string]string{"c": "finished"})
	for _, tt := range []struct {
		dir string
		s   Settings
		is  error
	}{
		{filepath.Join(dir, "c"), Settings{Before: later, Unfrozen: true}, ErrIsCapture},
		{filepath.Join(dir, "x"), Settings{Before: later, Unfrozen: true}, os.ErrNotExist},
		{dir, Settings{Before: later, FrozenIn: filepath.Join(dir, "x")}, os.ErrNotExist},
	} {
		var last error
		for _, err := range Dir(context.Background(), tt.dir, tt.s) {
			last = err
		}
		if !errors.Is(last, tt.is) {
			t.Errorf("%s %+v: %v, want %v", tt.dir, tt.s, last, tt.is)
		}
	}
	testkit.RequireNames(t, dir, "c")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(finding.New(finding.Interrupted, "stop"))
	for _, err := range Dir(ctx, dir, Settings{Before: later, Unfrozen: true}) {
		if f, ok := finding.FromError(err); !ok || f.Code != finding.Interrupted {
			t.Errorf("when cancelled: %v", err)
		}
	}
	testkit.RequireNames(t, dir, "c")
}

// A capture that is being written is never removed. Afterwards it is a capture like any
// other.
func TestInUse(t *testing.T) {
	dir := t.TempDir()
	w, err := capture.Create(filepath.Join(dir, "a/c"), capture.Settings{Source: capture.Source{Kind: capture.KindFile}, Framing: capture.SSE, Tool: capture.Tool{Name: "test", Version: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, dir, Settings{Before: later, Unfrozen: true, Unfinished: true}, "kept a/c capture_in_use")
	if _, err := w.Close(capture.EndEOF); err != nil {
		t.Fatal(err)
	}
	check(t, dir, Settings{Before: later, Unfrozen: true, Unfinished: true}, "removed a/c")
}

// Several programs can prune a store at the same time.
func TestConcurrent(t *testing.T) {
	names := make(map[string]string)
	for i := range 40 {
		names[strconv.Itoa(i)] = "finished"
	}
	dir := store(t, names)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for row, err := range Dir(context.Background(), dir, Settings{Before: later, Unfrozen: true}) {
				if err != nil || row.Verdict != Removed {
					t.Errorf("%+v: %v", row, err)
				}
			}
		})
	}
	wait.Wait()
	testkit.RequireNames(t, dir)
}

// A capture that its writer closes after the store was listed is kept.
func TestClosedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	w, err := capture.Create(filepath.Join(dir, "c"), capture.Settings{Source: capture.Source{Kind: capture.KindFile}, Framing: capture.SSE, Tool: capture.Tool{Name: "test", Version: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	p := &pruner{ctx: t.Context(), settings: Settings{Before: later, Unfrozen: true, Unfinished: true}}
	if p.root, err = os.OpenRoot(dir); err != nil {
		t.Fatal(err)
	}
	defer p.root.Close()
	var listed capture.Directory
	for d, err := range capture.Directories(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		listed = d
	}
	if _, err := w.Close(capture.EndEOF); err != nil || listed.State != capture.Unfinished {
		t.Fatal(listed, err)
	}
	before := testkit.Contents(t, dir)
	var row Row
	if err := p.prune(&row, listed); err != nil || row.Verdict != Kept || len(row.Findings) != 1 || row.Findings[0].Code != finding.CaptureInUse {
		t.Errorf("%+v: %v", row, err)
	}
	if diff := cmp.Diff(before, testkit.Contents(t, dir)); diff != "" {
		t.Errorf("the store changed:\n%s", diff)
	}
}

// If the first file cannot be removed, the directory gets its name again.
func TestPutBack(t *testing.T) {
	dir := store(t, map[string]string{"a/c": "finished", "a/c/occupied": "finished"})
	before := testkit.Contents(t, dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	p := &pruner{ctx: t.Context(), root: root}
	d := capture.Directory{Path: filepath.Join(dir, "a/c"), Rel: "a/c", State: capture.Closed}
	if err := p.remove(d, []string{"occupied", "capture.json"}); err == nil {
		t.Error("a directory with files was removed")
	}
	if diff := cmp.Diff(before, testkit.Contents(t, dir)); diff != "" {
		t.Errorf("the store changed:\n%s", diff)
	}
}

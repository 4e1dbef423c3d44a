package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// evidence creates a directory with a copy of a capture and its frozen files.
func evidence(t *testing.T, scenario string, p project.Name) string {
	t.Helper()
	raw, out := frozen(t, scenario, p)
	dir := t.TempDir()
	copyTree(t, raw, filepath.Join(dir, "captures", scenario))
	copyTree(t, out, filepath.Join(dir, "frozen"))
	return dir
}

func copyTree(t testing.TB, from, to string) {
	t.Helper()
	testkit.CopyDir(t, to, from)
}

// treeRows verifies a directory.
func treeRows(dir string, s TreeSettings) []TreeRow {
	return slices.Collect(Tree(context.Background(), dir, s))
}

// outline formats rows as "verdict path code ...", with paths relative to dir and the
// codes of warnings and errors.
func outline(dir string, rows []TreeRow) []string {
	var lines []string
	for _, row := range rows {
		line := string(row.Verdict)
		for _, path := range []*string{row.Artifact, row.Record, row.Capture, row.File} {
			if path != nil {
				line += " " + strings.TrimPrefix(*path, dir+"/")
			}
		}
		for _, f := range row.Findings {
			if f.Severity != finding.Info {
				line += " " + string(f.Code)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// If any file of a directory of evidence is removed, the row that needs it reports that.
func TestVerifyTreeWithoutOne(t *testing.T) {
	good := evidence(t, "one-turn", project.EmittedSnapshot)
	const (
		artifact = "frozen/one-turn.artifact.json"
		envelope = "frozen/one-turn.envelope.ndjson"
		record   = "frozen/one-turn.record.json"
		raw      = "captures/one-turn"
	)
	all := artifact + " " + record + " " + raw
	for _, tt := range []struct {
		without string
		want    []string
	}{
		{"", []string{"verified " + all}},
		{artifact, []string{"unverifiable " + record + " artifact_absent", "whole " + raw}},
		{envelope, []string{"verified " + all}},
		{record, []string{"whole " + raw, "unverifiable " + artifact + " record_absent", "unverifiable " + envelope + " record_absent"}},
		{raw, []string{"unverifiable " + artifact + " " + record + " capture_absent"}},
		{raw + "/capture.json", []string{"unverifiable " + artifact + " " + record + " capture_absent", "unexplained " + raw + " capture_unfinished"}},
		{raw + "/response.sse", []string{"differs " + all + " capture_differs"}},
		{raw + "/request.json", []string{"differs " + all + " capture_differs"}},
		{raw + "/arrivals.tsv", []string{"differs " + all + " capture_differs"}},
		{"captures", []string{"unverifiable " + artifact + " " + record + " capture_absent"}},
		{"frozen", []string{"whole " + raw, "unverifiable DIR nothing_verified"}},
	} {
		t.Run(tt.without, func(t *testing.T) {
			dir := t.TempDir()
			copyTree(t, good, dir)
			if tt.without != "" {
				if err := os.RemoveAll(filepath.Join(dir, tt.without)); err != nil {
					t.Fatal(err)
				}
			}
			for i := range tt.want {
				tt.want[i] = strings.ReplaceAll(tt.want[i], "DIR", dir)
			}
			if diff := cmp.Diff(tt.want, outline(dir, treeRows(dir, TreeSettings{}))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, err := os.Stat(filepath.Join(dir, raw, "capture.json")); err != nil && tt.without != "frozen" {
				for _, row := range treeRows(dir, TreeSettings{Captures: []string{filepath.Join(good, raw)}}) {
					if row.Artifact != nil && row.Verdict != project.Verified {
						t.Errorf("with the capture given: %v", outline(dir, []TreeRow{row}))
					}
				}
			}
		})
	}
}

// A directory with captures only, or with unfinished captures, is not verified. With
// CapturesOnly, the directory must contain an intact capture.
func TestVerifyTreeCapturesOnly(t *testing.T) {
	good := evidence(t, "one-turn", project.EmittedSnapshot)
	const raw = "captures/one-turn"
	for _, tt := range []struct {
		name         string
		change       func(dir string) error
		plain, alone []string
	}{
		{"captures", func(dir string) error { return os.RemoveAll(dir + "/frozen") },
			[]string{"whole " + raw, "unverifiable DIR nothing_verified"}, []string{"whole " + raw}},
		{"unfinished", func(dir string) error {
			return errors.Join(os.RemoveAll(dir+"/frozen"), os.Remove(dir+"/"+raw+"/capture.json"))
		}, []string{"unexplained " + raw + " capture_unfinished", "unverifiable DIR nothing_verified"},
			[]string{"unexplained " + raw + " capture_unfinished", "unverifiable DIR nothing_verified"}},
		{"altered", func(dir string) error {
			return errors.Join(os.RemoveAll(dir+"/frozen"), os.WriteFile(dir+"/"+raw+"/request.json", nil, 0o644))
		}, []string{"differs " + raw + " capture_digest_mismatch"}, []string{"differs " + raw + " capture_digest_mismatch"}},
		{"frozen alone", func(dir string) error { return os.RemoveAll(dir + "/captures") },
			[]string{"unverifiable frozen/one-turn.artifact.json frozen/one-turn.record.json capture_absent"},
			[]string{"unexplained frozen/one-turn.artifact.json file_unexplained", "unexplained frozen/one-turn.envelope.ndjson file_unexplained",
				"unexplained frozen/one-turn.record.json file_unexplained", "unverifiable DIR nothing_verified"}},
		{"both", func(string) error { return nil },
			[]string{"verified frozen/one-turn.artifact.json frozen/one-turn.record.json " + raw},
			[]string{"whole " + raw, "unexplained frozen/one-turn.artifact.json file_unexplained", "unexplained frozen/one-turn.envelope.ndjson file_unexplained",
				"unexplained frozen/one-turn.record.json file_unexplained"}},
		{"nothing", func(dir string) error { return errors.Join(os.RemoveAll(dir+"/captures"), os.RemoveAll(dir+"/frozen")) },
			[]string{"unverifiable DIR nothing_to_verify"}, []string{"unverifiable DIR nothing_verified"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			copyTree(t, good, dir)
			if err := tt.change(dir); err != nil {
				t.Fatal(err)
			}
			for only, want := range map[bool][]string{false: tt.plain, true: tt.alone} {
				for i := range want {
					want[i] = strings.ReplaceAll(want[i], "DIR", dir)
				}
				if diff := cmp.Diff(want, outline(dir, treeRows(dir, TreeSettings{CapturesOnly: only}))); diff != "" {
					t.Errorf("captures only %t (-want +got):\n%s", only, diff)
				}
			}
		})
	}
}

// A flipped byte in a directory of evidence is always reported, in the row of the file
// or of another file that depends on it.
func TestVerifyTreeFlippedBytes(t *testing.T) {
	t.Parallel()
	dir := evidence(t, "one-turn", project.EmittedSnapshot)
	good := func() bool {
		rows := treeRows(dir, TreeSettings{Strict: true})
		return len(rows) == 1 && rows[0].Verdict == project.Verified
	}
	if !good() {
		t.Fatal("it is not verified before any flip")
	}
	flipped := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(data)
		from := strings.Index(text, `"tool": {`) // which verify ignores
		to := from + strings.Index(text[max(from, 0):], "}")
		for i := 0; i < len(data); i += 3 {
			if strings.HasSuffix(path, record.Suffix) && i >= from && i < to {
				continue
			}
			bad := slices.Clone(data)
			bad[i] ^= 1
			if err := os.WriteFile(path, bad, 0o644); err != nil {
				return err
			}
			if good() {
				t.Errorf("%s: byte %d flipped from %q to %q, and still verified", filepath.Base(path), i, data[i], bad[i])
			}
			flipped++
		}
		return os.WriteFile(path, data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	if flipped < 1000 {
		t.Errorf("only %d bytes were flipped", flipped)
	}
	if !good() {
		t.Error("it is not verified after all flips were undone")
	}
}

// Every file in a directory is accounted for by its own row, by the row of the record
// that names it, or by the row of its capture. Every record has a row. A second
// verification has the same result.
func TestVerifyTreeAccountsForAll(t *testing.T) {
	t.Parallel()
	type piece struct{ from, to string }
	var pieces []piece
	for _, e := range []string{evidence(t, "one-turn", project.EmittedSnapshot), evidence(t, "model-error", project.FoldedStream)} {
		err := filepath.WalkDir(e, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			pieces = append(pieces, piece{path, d.Name()})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := filepath.Glob(filepath.Join(e, "captures/*"))
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, piece{whole[0], filepath.Base(whole[0])}, piece{filepath.Join(e, "frozen"), ""})
	}
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		for range rapid.IntRange(1, 12).Draw(rt, "pieces") {
			p := rapid.SampledFrom(pieces).Draw(rt, "piece")
			to := filepath.Join(dir, rapid.SampledFrom([]string{"", "a", "a/b", "c", "one-turn"}).Draw(rt, "where"), p.to)
			place(rt, p.from, to)
			if name := rapid.SampledFrom([]string{"", "", "renamed.artifact.json", "x.record.json", "capture.json", "notes"}).Draw(rt, "rename"); name != "" && p.to == filepath.Base(p.from) {
				if err := os.Rename(to, filepath.Join(filepath.Dir(to), name)); err != nil {
					rt.Log(err) // a directory with that name exists
				}
			}
		}
		rows := treeRows(dir, TreeSettings{})
		if diff := cmp.Diff(rows, treeRows(dir, TreeSettings{Jobs: 8})); diff != "" {
			rt.Fatalf("the second look, with 8 jobs, differs:\n%s", diff)
		}
		accounted(rt, dir, rows)
	})
}

// place copies a file or a directory and replaces existing files.
func place(t *rapid.T, from, to string) {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		data, err := os.ReadFile(path)
		return errors.Join(err, os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, data, 0o644))
	})
	if err != nil {
		t.Log(err) // a file exists where a directory is needed, or vice versa
	}
}

// accounted compares the rows with the contents of the directory.
func accounted(t *rapid.T, dir string, rows []TreeRow) {
	speaks := make(map[string]int)
	alone := make(map[string]int)
	for i, row := range rows {
		if i == len(rows)-1 && finding.Has(row.Findings, finding.NothingVerified) {
			continue // about the whole directory, which may be a capture itself
		}
		paths := []*string{row.Artifact, row.Record, row.Capture, row.File}
		for _, path := range paths {
			if path != nil {
				speaks[*path]++
			}
		}
		if row.Record == nil {
			i := slices.IndexFunc(paths, func(p *string) bool { return p != nil })
			alone[*paths[i]]++
		}
	}
	for path, n := range alone {
		if n > 1 {
			t.Errorf("%s has %d rows of its own", path, n)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		_, isRecord := strings.CutSuffix(path, record.Suffix)
		_, isEnvelope := strings.CutSuffix(path, record.EnvelopeSuffix)
		inCapture := speaks[filepath.Dir(path)] > 0 && slices.Contains(append(captureFiles(), "capture.json"), d.Name())
		switch {
		case speaks[path] > 0, inCapture:
		case isEnvelope && slices.ContainsFunc(rows, func(r TreeRow) bool { return r.Record != nil && filepath.Dir(*r.Record) == filepath.Dir(path) }):
		default:
			t.Errorf("no row speaks of %s", path)
		}
		if isRecord && alone[path] > 0 {
			t.Errorf("the record %s is not verified", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A tree with too many entries is an error, and no other row follows. A directory of
// captures with too many entries is a separate error.
func TestVerifyTreeLimit(t *testing.T) {
	dir := evidence(t, "one-turn", project.EmittedSnapshot) // 3 directories, 7 files
	for limit, want := range map[int][]string{
		10: {"verified frozen/one-turn.artifact.json frozen/one-turn.record.json captures/one-turn"},
		9:  {"error " + dir + " tree_too_large"},
	} {
		rows := slices.Collect(verifyTree(context.Background(), dir, TreeSettings{}, limits{entries: limit}))
		if diff := cmp.Diff(want, outline(dir, rows)); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
	rows := slices.Collect(verifyTree(context.Background(), filepath.Join(dir, "frozen"), TreeSettings{Captures: []string{filepath.Join(dir, "captures")}}, limits{entries: 4}))
	want := []string{
		"error captures tree_too_large",
		"unverifiable frozen/one-turn.artifact.json frozen/one-turn.record.json capture_absent",
	}
	if diff := cmp.Diff(want, outline(dir, rows)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// When the context ends, the current row is the last one. It reports the interruption
// if its verification was incomplete.
func TestVerifyTreeInterrupted(t *testing.T) {
	dir := evidence(t, "one-turn", project.EmittedSnapshot)
	copyTree(t, evidence(t, "unicode", project.EmittedSnapshot), filepath.Join(dir, "more"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var rows []TreeRow
	for row := range Tree(ctx, dir, TreeSettings{}) {
		rows = append(rows, row)
		cancel()
	}
	if len(rows) != 1 || rows[0].Verdict != project.Verified {
		t.Errorf("rows %v, want the first alone", outline(dir, rows))
	}
	rows = slices.Collect(Tree(ctx, dir, TreeSettings{}))
	if diff := cmp.Diff([]string{"error " + dir + " interrupted"}, outline(dir, rows)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The sequence ends if the directory does not exist or the caller stops.
func TestVerifyTreeEnds(t *testing.T) {
	dir := evidence(t, "one-turn", project.EmittedSnapshot)
	nowhere := filepath.Join(dir, "nowhere")
	if diff := cmp.Diff([]string{"error nowhere io_failed"}, outline(dir, treeRows(nowhere, TreeSettings{}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range Tree(context.Background(), filepath.Join(dir, "captures"), TreeSettings{Captures: []string{nowhere}}) {
		break
	}
}

// A record with false statements about its capture does not affect other records.
func TestVerifyTreeForgedRecord(t *testing.T) {
	dir := evidence(t, "one-turn", project.EmittedSnapshot)
	path := filepath.Join(dir, "frozen/one-turn.record.json")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	record, err := record.Decode(good)
	if err != nil {
		t.Fatal(err)
	}
	record.Predicate.Capture.Bytes++
	forged, err := record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "frozen/a.record.json"), forged, 0o644); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"differs frozen/one-turn.artifact.json frozen/a.record.json captures/one-turn capture_differs",
		"verified frozen/one-turn.artifact.json frozen/one-turn.record.json captures/one-turn",
	}
	if diff := cmp.Diff(want, outline(dir, treeRows(dir, TreeSettings{}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

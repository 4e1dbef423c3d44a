package verify

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// pack returns a tar archive of a directory. The names in it are relative to the directory.
func pack(t testing.TB, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// encoded returns rows as lines of JSON, with paths relative to dir.
func encoded(t testing.TB, dir string, rows []TreeRow) []string {
	t.Helper()
	var lines []string
	for _, row := range rows {
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.ReplaceAll(strings.ReplaceAll(string(line), dir+"/", ""), dir, "x.tar"))
	}
	return lines
}

// sameAsArchive fails if the rows of an archive differ from those of the directory that was
// archived.
func sameAsArchive(t testing.TB, dir string, s TreeSettings) {
	t.Helper()
	want := encoded(t, dir, treeRows(dir, s))
	for _, jobs := range []int{1, 8} {
		s.Jobs = jobs
		got := slices.Collect(Archive(context.Background(), bytes.NewReader(pack(t, dir)), "x.tar", s))
		if diff := cmp.Diff(want, encoded(t, dir, got)); diff != "" {
			t.Errorf("%d jobs (-directory +archive):\n%s", jobs, diff)
		}
	}
}

// An archive has the rows of the directory that was archived, in which each file in turn is
// missing, is damaged, is a copy, or has another name.
func TestArchive(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	good := evidence(t, "one-turn", project.EmittedSnapshot)
	copyTree(t, evidence(t, "model-error", project.FoldedStream), good)
	raw := filepath.Join(good, "captures", "one-turn")
	sameAsArchive(t, good, TreeSettings{})
	sameAsArchive(t, good, TreeSettings{Strict: true, CapturesOnly: true})
	sameAsArchive(t, filepath.Join(good, "captures"), TreeSettings{})
	sameAsArchive(t, filepath.Join(good, "frozen"), TreeSettings{Captures: []string{filepath.Join(committed, "captures", "adk")}})
	rows := slices.Collect(Archive(context.Background(), bytes.NewReader(pack(t, raw)), "x.tar", TreeSettings{CapturesOnly: true}))
	if diff := cmp.Diff([]string{"whole ."}, outline(good, rows)); diff != "" {
		t.Errorf("an archive that is a capture (-want +got):\n%s", diff)
	}
	files, err := filepath.Glob(filepath.Join(good, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	inside, err := filepath.Glob(filepath.Join(raw, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Concat(files, inside) {
		rel := strings.TrimPrefix(file, good+"/")
		for _, change := range []func(path string) error{
			os.RemoveAll,
			func(path string) error {
				if info, err := os.Stat(path); err != nil || info.IsDir() {
					return err
				}
				data := testkit.Read(t, path)
				data[len(data)/2] ^= 1
				return os.WriteFile(path, data, 0o644)
			},
			func(path string) error { return os.Rename(path, path+".x") },
			func(path string) error { return os.Rename(path, filepath.Join(filepath.Dir(path), "aa.record.json")) },
		} {
			dir := filepath.Join(t.TempDir(), "changed")
			copyTree(t, good, dir)
			if err := change(filepath.Join(dir, rel)); err != nil {
				t.Fatal(err)
			}
			sameAsArchive(t, dir, TreeSettings{})
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left in the directory for temporary files: %v %v", left, err)
	}
}

// Members that are refused have rows of their own, before all others. Of an archive that
// cannot be read to its end, nothing is verified.
func TestArchiveRefused(t *testing.T) {
	dir := evidence(t, "one-turn", project.EmittedSnapshot)
	var link bytes.Buffer
	w := tar.NewWriter(&link)
	err := errors.Join(
		w.WriteHeader(&tar.Header{Name: "frozen/link.artifact.json", Linkname: "one-turn.artifact.json", Typeflag: tar.TypeSymlink}),
		w.WriteHeader(&tar.Header{Name: "../up.artifact.json", Typeflag: tar.TypeReg}), w.Flush())
	if err != nil {
		t.Fatal(err)
	}
	whole := pack(t, dir)
	archive := append(link.Bytes(), whole...)
	rows := slices.Collect(Archive(context.Background(), bytes.NewReader(archive), "x.tar", TreeSettings{}))
	want := []string{
		"error frozen/link.artifact.json archive_member_refused",
		"error ../up.artifact.json archive_member_refused",
		"verified frozen/one-turn.artifact.json frozen/one-turn.record.json captures/one-turn",
	}
	if diff := cmp.Diff(want, outline(dir, rows)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range Archive(context.Background(), bytes.NewReader(archive), "x.tar", TreeSettings{}) {
		break
	}
	rows = slices.Collect(Archive(context.Background(), bytes.NewReader(whole[:len(whole)/2]), "x.tar", TreeSettings{}))
	if diff := cmp.Diff([]string{"error x.tar archive_malformed"}, outline(dir, rows)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// When the context ends while an archive is read or verified, the sequence ends.
func TestArchiveInterrupted(t *testing.T) {
	dir := evidence(t, "one-turn", project.EmittedSnapshot)
	copyTree(t, evidence(t, "unicode", project.EmittedSnapshot), filepath.Join(dir, "more"))
	archive := pack(t, dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for range Archive(ctx, bytes.NewReader(archive), "x.tar", TreeSettings{Jobs: 2}) {
		n++
		cancel()
	}
	if n != 1 {
		t.Errorf("%d rows, want the first alone", n)
	}
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	r := io.MultiReader(bytes.NewReader(archive[:len(archive)/2]), readerFunc(func([]byte) (int, error) { cancel(); return 0, context.Cause(ctx) }))
	rows := slices.Collect(Archive(ctx, r, "x.tar", TreeSettings{}))
	if len(rows) != 1 || !finding.Has(rows[0].Findings, finding.Interrupted) {
		t.Errorf("rows %v, want that it was interrupted", outline(dir, rows))
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A list has the rows that File and Tree return for its entries, for any number of jobs.
func TestList(t *testing.T) {
	dir := evidence(t, "one-turn", project.EmittedSnapshot)
	copyTree(t, evidence(t, "unicode", project.EmittedSnapshot), filepath.Join(dir, "more"))
	frozen, raw := filepath.Join(dir, "frozen"), filepath.Join(dir, "captures")
	one, other := filepath.Join(frozen, "one-turn"+record.ArtifactSuffix), filepath.Join(dir, "more", "frozen", "unicode"+record.ArtifactSuffix)
	plain := filepath.Join(dir, "missing")
	unusable := inputs.Entry{Path: "-", Err: finding.New(finding.IOFailed, "the entry is unusable")}
	list := []inputs.Entry{{Path: one}, {Path: dir}, unusable, {Path: plain}, {Path: other}, {Path: frozen}, {Path: one}, {Path: filepath.Join(dir, "frozen", "one-turn"+record.Suffix)}}
	for _, s := range []TreeSettings{{}, {Captures: []string{raw}}, {Captures: []string{filepath.Join(raw, "one-turn")}, Strict: true}, {CapturesOnly: true}} {
		var want []ListRow
		for _, e := range list {
			from := slices.Concat(s.Captures, []string{""})[0]
			switch info, err := os.Stat(e.Path); {
			case e.Err != nil:
				want = append(want, ListRow{Artifact: &Row{Artifact: "-", Verdict: project.Failed, Findings: []finding.Finding{e.Err.(finding.Finding)}}})
			case err == nil && info.IsDir():
				for _, row := range treeRows(e.Path, s) {
					want = append(want, ListRow{Directory: &row})
				}
			case s.CapturesOnly && err == nil:
				why := finding.New(finding.IOFailed, "%s is not a directory, and only the captures in directories are checked", e.Path)
				want = append(want, ListRow{Artifact: &Row{Artifact: e.Path, Verdict: project.Failed, Findings: []finding.Finding{why}}})
			default:
				want = append(want, ListRow{Artifact: new(File(context.Background(), e.Path, "", from, nil, nil))})
			}
		}
		for _, jobs := range []int{1, 8} {
			s.Jobs = jobs
			got := slices.Collect(List(context.Background(), slices.Values(list), s))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", s, diff)
			}
		}
	}
	for range List(context.Background(), slices.Values(list), TreeSettings{Jobs: 4}) {
		break
	}
}

// A list of artifacts whose captures are plain files of one size, some of them unreadable
// or missing, has the rows of File.
func TestListPlain(t *testing.T) {
	dir := plainEvidence(t)
	found, err := filepath.Glob(filepath.Join(dir, "frozen", "*"+record.ArtifactSuffix))
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{filepath.Join(dir, "captures"), filepath.Join(dir, "copies"), ""} {
		var want []ListRow
		var list []inputs.Entry
		for _, path := range found {
			list = append(list, inputs.Entry{Path: path})
			want = append(want, ListRow{Artifact: new(File(context.Background(), path, "", from, nil, nil))})
		}
		for _, jobs := range []int{1, 8} {
			s := TreeSettings{Jobs: jobs}
			if from != "" {
				s.Captures = []string{from}
			}
			if diff := cmp.Diff(want, slices.Collect(List(context.Background(), slices.Values(list), s))); diff != "" {
				t.Errorf("%d jobs, captures in %s (-want +got):\n%s", jobs, from, diff)
			}
		}
	}
}

package validate

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/internal/testkit"
)

// encoded returns rows as lines of JSON, with paths relative to dir.
func encoded(t testing.TB, dir string, rows []Row) (lines []string) {
	t.Helper()
	for _, row := range rows {
		row.decoded = nil
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.ReplaceAll(strings.ReplaceAll(string(line), dir+"/", ""), dir, "x.tar"))
	}
	return lines
}

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

// The number of jobs does not affect the rows, and an archive has the rows of the directory
// that was archived: for the sample lane, and for copies of it in which files are damaged,
// malformed or next to other records.
func TestJobs(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	for _, sub := range []string{"a", "a.b", "a/b"} {
		testkit.CopyDir(t, filepath.Join(dir, sub), lane)
	}
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch n++; n % 7 {
		case 2:
			return os.Truncate(path, 20)
		case 4:
			data := testkit.Read(t, path)
			data[len(data)/2] ^= 1
			return os.WriteFile(path, data, 0o644)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []Kind{"", Artifact, Envelope} {
		for _, dir := range []string{dir, lane} {
			s := Settings{Profile: "assay", Kind: kind}
			want := slices.Collect(Files(context.Background(), entries(dir), s))
			if len(want) < 5 {
				t.Fatalf("%s has %d rows", dir, len(want))
			}
			for _, jobs := range []int{1, 2, 8} {
				s.Jobs = jobs
				if diff := cmp.Diff(encoded(t, dir, want), encoded(t, dir, slices.Collect(Files(context.Background(), entries(dir), s)))); diff != "" {
					t.Errorf("%d jobs (-1 +%d):\n%s", jobs, jobs, diff)
				}
				got := slices.Collect(Archive(context.Background(), bytes.NewReader(pack(t, dir)), "x.tar", s))
				if diff := cmp.Diff(encoded(t, dir, want), encoded(t, dir, got)); diff != "" {
					t.Errorf("%d jobs (-directory +archive):\n%s", jobs, diff)
				}
			}
		}
	}
	for range Archive(context.Background(), bytes.NewReader(pack(t, dir)), "x.tar", Settings{Jobs: 4}) {
		break
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left in the directory for temporary files: %v %v", left, err)
	}
}

// Members that are refused have rows of their own, before all others. Of an archive that
// cannot be read to its end, nothing is validated.
func TestArchiveRefused(t *testing.T) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := errors.Join(
		w.WriteHeader(&tar.Header{Name: "a.artifact.json", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}),
		w.WriteHeader(&tar.Header{Name: "../b.artifact.json", Typeflag: tar.TypeReg}), w.Flush())
	if err != nil {
		t.Fatal(err)
	}
	archive := append(out.Bytes(), pack(t, lane+"/malformed")...)
	var got []string
	for row := range Archive(context.Background(), bytes.NewReader(archive), "x.tar", Settings{}) {
		if len(got) < 3 {
			got = append(got, fmt.Sprint(row.Verdict, " ", row.File, " ", row.Findings[0].Code))
		}
	}
	if len(got) < 3 || !cmp.Equal(got[:2], []string{"error a.artifact.json archive_member_refused", "error ../b.artifact.json archive_member_refused"}) || strings.HasPrefix(got[2], "error") {
		t.Errorf("rows %q", got)
	}
	rows := slices.Collect(Archive(context.Background(), bytes.NewReader(archive[:len(archive)/2]), "x.tar", Settings{}))
	if n := len(rows); n != 3 || rows[2].File != "x.tar" || !finding.Has(rows[2].Findings, finding.ArchiveMalformed) {
		t.Errorf("a truncated archive has the rows %+v", rows)
	}
	rows = slices.Collect(Archive(context.Background(), bytes.NewReader(pack(t, t.TempDir())), "x.tar", Settings{}))
	if len(rows) != 1 || rows[0].File != "x.tar" || !strings.HasPrefix(rows[0].Findings[0].Message, "the archive contains no file to validate") {
		t.Errorf("an empty archive has the rows %+v", rows)
	}
}

// The entries of a directory are validated in the order of their path elements.
func TestOrder(t *testing.T) {
	base, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		element := rapid.SampledFrom([]string{"a", "a.", "b", "a.artifact.json", "b.artifact.json", "a!", "é"})
		for _, elements := range rapid.SliceOfN(rapid.SliceOfN(element, 1, 4), 1, 30).Draw(t, "names") {
			path := filepath.Join(dir, filepath.Join(elements...))
			if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
				_ = os.WriteFile(path, []byte("{}"), 0o644) // fails for a directory
			}
		}
		tree, err := dirtree.Walk(context.Background(), dir, dirtree.MaxEntries)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{}
		for _, e := range tree.Entries {
			if strings.HasSuffix(e.Name, ".artifact.json") {
				want = append(want, e.Path())
			}
		}
		if len(want) == 0 {
			want = append(want, dir)
		}
		got := []string{}
		for row := range Files(context.Background(), entries(dir), Settings{Jobs: 3}) {
			got = append(got, row.File)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

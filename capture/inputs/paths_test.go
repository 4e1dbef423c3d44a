package inputs

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

// outline returns a line for each input: the path, the name and the directory, and the
// error of Open if it is not that of a missing file. It opens and closes all of them.
func outline(t testing.TB, s *Source) (lines []string, err error) {
	t.Helper()
	for in, err := range s.All(context.Background()) {
		if err != nil {
			return lines, err
		}
		line := in.Path + " as " + in.Name + " in " + in.RelDir
		c, err := in.Open(context.Background())
		if err == nil {
			err = c.Close()
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			line += ": " + message(err)
		}
		f, _ := errors.AsType[finding.Finding](err)
		missing := f.Code == finding.CaptureFileMissing // Identify opens only the manifest
		if _, also := in.Identify(context.Background()); (also == nil) != (err == nil) && !missing {
			t.Errorf("%s: Open returns %v, but Identify %v", in.Path, err, also)
		}
		in.Close()
		lines = append(lines, line)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return lines, nil
}

// message returns the message of a finding, or the text of another error.
func message(err error) string {
	f, _ := finding.FromError(err)
	return f.Message
}

// layOut writes three captures and a directory without one, and changes to the directory
// that contains them.
func layOut(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"tree/b.v1", "tree/a/one"} {
		testkit.CopyDir(t, filepath.Join(dir, name), "../../discovery/captures/adk/one-turn")
	}
	testkit.Write(t, filepath.Join(dir, "run.sse"), testkit.SSE(testkit.Started, testkit.Finished))
	testkit.Write(t, filepath.Join(dir, "empty", "run.sse"), "")
	t.Chdir(dir)
}

func TestPaths(t *testing.T) {
	layOut(t)
	s, err := Paths(t.Context(), []string{"run.sse", "tree", "tree/b.v1", "missing"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"run.sse as run in .",
		"tree/a/one as one in a",
		"tree/b.v1 as b.v1 in .",
		"tree/b.v1 as b.v1 in .",
		"missing as missing in .",
	}
	for range 2 {
		got, err := outline(t, s)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if done, total := s.Progress(); done != 10 || total != 0 {
		t.Errorf("progress %d of %d", done, total)
	}
	if _, err := Paths(t.Context(), []string{"tree", "empty"}); err == nil || !strings.HasPrefix(message(err), "empty contains no captures") {
		t.Errorf("a directory without captures: %v", err)
	}
	s, err = Paths(t.Context(), []string{"run.sse", "missing"})
	if err != nil {
		t.Fatal(err)
	}
	if _, total := s.Progress(); total != 2 {
		t.Errorf("%d in all", total)
	}
	if err := os.RemoveAll("tree/a"); err != nil {
		t.Fatal(err)
	}
}

// An entry of a list means what the argument means, but what is wrong with it is the
// error of its Open.
func TestList(t *testing.T) {
	layOut(t)
	long := strings.Repeat("x/", 2049)
	list := strings.Join([]string{"run.sse", "", "empty", "tree\r", "-", "./-", long, " run.sse", "missing"}, "\n")
	want := []string{
		"run.sse as run in .",
		"empty as empty in .: empty contains no captures: no directory in it has a capture.json",
		"tree/a/one as one in a",
		"tree/b.v1 as b.v1 in .",
		"- as stdin in .: entry 5 of the list is -, which means standard input only on the command line",
		"./- as - in .",
		long[:64] + "… as … in .: entry 7 of the list has more than 4096 bytes",
		" run.sse as  run in .",
		"missing as missing in .",
	}
	got, err := outline(t, List(strings.NewReader(list)))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	testkit.Write(t, "list", strings.ReplaceAll(list, "\n", "\x00"))
	s, err := OpenList(t.Context(), "list")
	if err != nil {
		t.Fatal(err)
	}
	if _, total := s.Progress(); total != 8 {
		t.Errorf("%d entries", total)
	}
	want[2] = "tree\r as tree\r in ."
	want = append(want[:3], want[4:]...)
	got, err = outline(t, s)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if done, total := s.Progress(); done != 8 || total != 8 {
		t.Errorf("progress %d of %d", done, total)
	}
	testkit.Write(t, "list", "tree\nrun.sse")
	if s, err = OpenList(t.Context(), "list"); err != nil {
		t.Fatal(err)
	}
	if _, err := outline(t, s); err != nil {
		t.Error(err)
	}
	if done, total := s.Progress(); done != 3 || total != 0 {
		t.Errorf("progress with a directory: %d of %d", done, total)
	}
	if _, err := OpenList(t.Context(), "missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a list that is missing: %v", err)
	}
	if got, err := outline(t, List(io.MultiReader(strings.NewReader("run.sse\n"), iotest.ErrReader(io.ErrUnexpectedEOF)))); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 0 {
		t.Errorf("a list that cannot be read: %v, %v", got, err)
	}
}

// entries formats the entries of a list.
func entries(r io.Reader) (lines []string) {
	for e, err := range Entries(r) {
		switch {
		case err != nil:
			lines = append(lines, "error: "+err.Error())
		case e.Err != nil:
			lines = append(lines, e.Path+": "+message(e.Err))
		default:
			lines = append(lines, e.Path)
		}
	}
	return lines
}

// The separator depends on the first 64 KiB only, and entries do not depend on the sizes
// of reads. A path at the limit is not refused.
func TestEntriesMark(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"\ufeffa\r\nb\n": "a", "\ufeffa\x00b\x00": "\ufeffa"} {
		for e := range Entries(strings.NewReader(text)) {
			if e.Path != want {
				t.Errorf("the first entry of %q is %q", text, e.Path)
			}
			break
		}
	}
}

func TestEntries(t *testing.T) {
	limit := strings.Repeat("y", maxEntryBytes)
	for text, want := range map[string][]string{
		"":                            nil,
		"\n\r\n\n":                    nil,
		"\x00\x00":                    nil,
		"a":                           {"a"},
		"a\n\nb\r\nc\r":               {"a", "b", "c\r"},
		"a\nb\r\n\x00c\x00":           {"a\nb\r\n", "c"},
		limit + "\n" + limit + "\r\n": {limit, limit},
		limit + "y":                   {limit[:64] + "…: entry 1 of the list has more than 4096 bytes"},
		strings.Repeat(limit, 40):     {limit[:64] + "…: entry 1 of the list has more than 4096 bytes"},
		strings.Repeat("z\n", detectBytes/2) + "a\x00b": append(strings.Split(strings.Repeat("z", detectBytes/2), ""), "a\x00b"),
	} {
		if diff := cmp.Diff(want, entries(strings.NewReader(text))); diff != "" {
			t.Errorf("%.20q (-want +got):\n%s", text, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab-/\n\n\r\x00")), 0, 40, -1).Draw(t, "list")
		if diff := cmp.Diff(entries(strings.NewReader(text)), entries(iotest.OneByteReader(strings.NewReader(text)))); diff != "" {
			t.Errorf("by single bytes (-want +got):\n%s", diff)
		}
		if !strings.Contains(text, "\x00") {
			nul := strings.NewReplacer("\r\n", "\x00", "\n", "\x00").Replace(text)
			if strings.Contains(nul, "\x00") && cmp.Diff(entries(strings.NewReader(text)), entries(strings.NewReader(nul))) != "" {
				t.Errorf("with NULs: %q", nul)
			}
		}
	})
}

// An unusable entry is a finding with a next step.
func TestEntryFindings(t *testing.T) {
	for e, err := range Entries(strings.NewReader("-\n" + strings.Repeat("x", 5000))) {
		f, ok := errors.AsType[finding.Finding](e.Err)
		if err != nil || !ok || f.Code != finding.IOFailed || f.Hint == "" {
			t.Errorf("%q: %v, %v", e.Path, e.Err, err)
		}
	}
}

func TestInput(t *testing.T) {
	in := File("a/run.v1.sse")
	if in.Name != "run.v1" || in.Under("out") != "out" {
		t.Errorf("%+v", in)
	}
	if _, err := File("-").Identify(t.Context()); err == nil {
		t.Error("standard input is identified")
	}
	if in := newInput(capture.LookUp("tree/a/one"), "a"); in.Under("out") != "out/a" {
		t.Errorf("under out: %s", in.Under("out"))
	}
}

package verify

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/testkit"
)

// write creates a capture with a response and a content coding.
func write(t *testing.T, dir string, framing capture.Framing, coding, response string) {
	t.Helper()
	w, err := capture.Create(dir, capture.Settings{
		Source:  capture.Source{Kind: capture.KindProxy, Headers: map[string]string{"content-encoding": coding}},
		Framing: framing, Tool: capture.Tool{Name: "test", Version: "1"}, Arrivals: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(response)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(capture.EndEOF); err != nil {
		t.Fatal(err)
	}
}

// A response that cannot be read as events can be intact.
func TestEncodedIsWhole(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(testkit.SSE(testkit.Started))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		framing          capture.Framing
		coding, response string
	}{
		"opaque":      {capture.Opaque, "", "\x00\x01"},
		"opaque-gzip": {capture.Opaque, "gzip", zipped.String()},
		"brotli":      {capture.SSE, "br", "\x00\x01"},
		"gzip":        {capture.SSE, "gzip", zipped.String()},
		"gzip-broken": {capture.SSE, "gzip", zipped.String()[:20]},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "c"), tt.framing, tt.coding, tt.response)
			for _, s := range []TreeSettings{{CapturesOnly: true, Strict: true}, {}} {
				if got := outline(dir, treeRows(dir, s)); got[0] != "whole c" {
					t.Errorf("%+v: %q", s, got)
				}
			}
			path := filepath.Join(dir, "c", tt.framing.FileName())
			testkit.Write(t, path, strings.Replace(string(testkit.Read(t, path)), "\x00", "\x02", 1))
			if got := outline(dir, treeRows(dir, TreeSettings{CapturesOnly: true})); got[0] != "differs c capture_digest_mismatch" {
				t.Errorf("after a change: %q", got)
			}
		})
	}
}

// With CapturesOnly, arrivals that do not fit the response or the manifest are a fault of
// the capture, also if the response is encoded.
func TestArrivals(t *testing.T) {
	for _, coding := range []string{"", "br"} {
		for _, lines := range []string{"3\t0\n", "1\t5\n1\t6\n2\t7\n", "1\t6\n2\t5\n", "1\t0\n2\t999999999999\n", "2\t0", ""} {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "c"), capture.SSE, coding, "\x00\x01")
			path := filepath.Join(dir, "c/capture.json")
			m, err := capture.DecodeManifest(testkit.Read(t, path))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "lines"), capture.Opaque, "", lines)
			stated, err := capture.DecodeManifest(testkit.Read(t, filepath.Join(dir, "lines/capture.json")))
			if err != nil {
				t.Fatal(err)
			}
			m.Files.Arrivals = stated.Response()
			m.FirstByteAt = m.StartedAt
			data, err := m.Encode()
			if err != nil {
				t.Fatal(err)
			}
			testkit.Write(t, path, data)
			testkit.Write(t, filepath.Join(dir, "c/arrivals.tsv"), lines)
			if got := outline(dir, treeRows(dir, TreeSettings{CapturesOnly: true})); got[0] != "differs c arrivals_malformed" {
				t.Errorf("coding %q, %q: %q", coding, lines, got)
			}
			if got := outline(dir, treeRows(dir, TreeSettings{})); got[0] != "whole c arrivals_malformed" {
				t.Errorf("coding %q, %q, with records: %q", coding, lines, got)
			}
		}
	}
}

// A capture that is being written is no fault, even with Strict. Afterwards it is whole.
func TestInUse(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), capture.SSE, "", "x")
	w, err := capture.Create(filepath.Join(dir, "b"), capture.Settings{Source: capture.Source{Kind: capture.KindFile}, Framing: capture.SSE, Tool: capture.Tool{Name: "test", Version: "1"}, Arrivals: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	check := func(want ...string) {
		t.Helper()
		var got []string
		for _, row := range treeRows(dir, TreeSettings{CapturesOnly: true, Strict: true}) {
			line := string(row.Verdict)
			for _, f := range row.Findings {
				line += " " + string(f.Code) + " " + string(f.Severity)
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	check("whole", "unexplained capture_in_use info")
	if _, err := w.Close(capture.EndEOF); err != nil {
		t.Fatal(err)
	}
	check("whole", "whole")
	if err := os.Remove(filepath.Join(dir, "b/capture.json")); err != nil {
		t.Fatal(err)
	}
	check("whole", "unexplained capture_unfinished error")
}

// What a crash, a recovery and an interrupted removal leave is reported as such.
func TestLeftInStore(t *testing.T) {
	dir := t.TempDir()
	temporary := atomicfile.TemporaryName()
	for _, name := range []string{"closed", "claimed", "published", "aside", "c/" + temporary} {
		write(t, filepath.Join(dir, name), capture.SSE, "", "x")
	}
	for _, name := range []string{"capture.json", "response.sse", "arrivals.tsv"} {
		if err := os.Rename(filepath.Join(dir, "aside", name), filepath.Join(dir, "aside", name+capture.RemainderSuffix)); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Write(t, filepath.Join(dir, "claimed/capture.json.tmp"), "")
	testkit.Write(t, filepath.Join(dir, "published", temporary), "")
	testkit.Write(t, filepath.Join(dir, "d", temporary), "")
	testkit.Write(t, filepath.Join(dir, "open", temporary), "")
	testkit.Write(t, filepath.Join(dir, "open", "capture.json.tmp"), "")
	f, err := os.Create(filepath.Join(dir, "d", atomicfile.TemporaryName()))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if locked, err := atomicfile.TryLock(f); !locked || err != nil {
		t.Fatal(locked, err)
	}
	want := map[string]string{
		"closed": "whole", "claimed": "whole", "published": "whole",
		"open":                     "unexplained capture_unfinished error",
		"aside":                    "unexplained capture_set_aside info",
		"c/" + temporary:           "unexplained temporary_file error",
		"claimed/capture.json.tmp": "unexplained temporary_file error",
		"published/" + temporary:   "unexplained temporary_file error",
		"d/" + temporary:           "unexplained temporary_file error",
	}
	locked := strings.TrimPrefix(f.Name(), dir+"/")
	want[locked] = "unexplained temporary_file info"
	got := make(map[string]string)
	for row := range Tree(context.Background(), dir, TreeSettings{CapturesOnly: true, Strict: true}) {
		path := row.File
		if path == nil {
			path = row.Capture
		}
		line := string(row.Verdict)
		for _, f := range row.Findings {
			line += " " + string(f.Code) + " " + string(f.Severity)
			if f.Code == finding.TemporaryFile && f.Severity == finding.Error && f.Hint == "" {
				t.Errorf("%s has no next step", *path)
			}
		}
		got[strings.TrimPrefix(*path, dir+"/")] = line
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A directory in place of the manifest is a fault, not a capture that was just closed.
func TestDirectoryAsManifest(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "c"), capture.SSE, "", "data: {}\n\n")
	if err := errors.Join(os.Remove(filepath.Join(dir, "c/capture.json")), os.Mkdir(filepath.Join(dir, "c/capture.json"), 0o700)); err != nil {
		t.Fatal(err)
	}
	list := treeRows(dir, TreeSettings{CapturesOnly: true})
	if got := outline(dir, list); got[0] != "unexplained c capture_file_missing" || !finding.Failed(list[0].Findings) {
		t.Errorf("%q", got)
	}
}

// Recovery cannot help without a claim, so it is not advised.
func TestUnfinishedWithoutClaim(t *testing.T) {
	dir := t.TempDir()
	testkit.Write(t, filepath.Join(dir, "c/response.sse"), "data: {}\n\n")
	list := treeRows(dir, TreeSettings{CapturesOnly: true})
	if got := outline(dir, list); got[0] != "unexplained c capture_unfinished" || !strings.Contains(list[0].Findings[0].Hint, "without times") {
		t.Errorf("%q: %+v", got, list[0].Findings)
	}
}

// A capture that another program removes after the directory was listed has no row.
func TestRemovedMeanwhile(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	names := strings.Split("abcdefghijkl", "")
	for _, name := range names {
		write(t, filepath.Join(dir, name), capture.SSE, "", "data: {}\n\n")
	}
	moved := false
	for row := range Tree(t.Context(), dir, TreeSettings{CapturesOnly: true, Strict: true, Jobs: 1}) {
		if row.Verdict != Whole {
			t.Errorf("%+v", row)
		}
		for _, name := range names[1:] {
			if !moved {
				if err := os.Rename(filepath.Join(dir, name), filepath.Join(elsewhere, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		moved = true
	}
}

package recovery

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/testkit"
)

var tool = capture.Tool{Name: "test", Version: "2"}

// crashed leaves at path what a Writer leaves if the program is killed after it wrote a
// response in reads of three bytes.
func crashed(t *testing.T, path, response string) {
	t.Helper()
	open := filepath.Join(t.TempDir(), "open")
	w, err := capture.Create(open, capture.Settings{
		Source: capture.Source{Kind: capture.KindProxy, URL: "http://agent.example/"}, Framing: capture.SSE, Arrivals: true,
		Request: []byte("{}"), Labels: map[string]string{"a": "b"}, Tool: capture.Tool{Name: "test", Version: "1"},
		StartedAt: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for len(response) > 0 {
		n := min(3, len(response))
		if _, err := w.Write([]byte(response[:n])); err != nil {
			t.Fatal(err)
		}
		response = response[n:]
	}
	testkit.CopyDir(t, path, open)
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
}

// rows recovers the captures in a directory and returns "verdict path recovered code ..."
// of each row.
func rows(t *testing.T, dir string, s Settings) (lines []string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for row := range All(context.Background(), root, s) {
		line := string(row.Verdict) + " " + row.Capture
		if row.Recovered != nil {
			line += " " + *row.Recovered
		}
		for _, f := range row.Findings {
			line += " " + string(f.Code)
		}
		lines = append(lines, strings.ReplaceAll(line, dir+"/", ""))
	}
	return lines
}

// Every unfinished capture becomes a closed one beside it. A second call has nothing to
// do.
func TestAll(t *testing.T) {
	dir := t.TempDir()
	const response = "data: {}\n\n"
	crashed(t, filepath.Join(dir, "a/one"), response)
	crashed(t, filepath.Join(dir, "a/empty"), "")
	crashed(t, filepath.Join(dir, "cut"), response)
	testkit.Write(t, filepath.Join(dir, "cut/response.sse"), response+"data: ")
	crashed(t, filepath.Join(dir, "headless"), response)
	testkit.Write(t, filepath.Join(dir, "headless/capture.json.tmp"), "")
	crashed(t, filepath.Join(dir, "nothing"), "")
	testkit.Write(t, filepath.Join(dir, "nothing/capture.json.tmp"), "")
	temporary := atomicfile.TemporaryName()
	crashed(t, filepath.Join(dir, "closed"), response)
	if err := os.Rename(filepath.Join(dir, "closed/capture.json.tmp"), filepath.Join(dir, "closed/capture.json")); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(dir, "closed/capture.json.tmp"), "")
	testkit.Write(t, filepath.Join(dir, "closed", temporary), "")
	testkit.Write(t, filepath.Join(dir, "notes/notes.txt"), "")
	before := testkit.Contents(t, dir)
	trial := []string{"recoverable a/empty", "recoverable a/one", "recoverable closed", "recoverable cut", "recoverable headless", "recoverable nothing"}
	if diff := cmp.Diff(trial, rows(t, dir, Settings{Tool: tool, DryRun: true})); diff != "" {
		t.Errorf("in a trial (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, testkit.Contents(t, dir)); diff != "" {
		t.Errorf("a trial changed the directory:\n%s", diff)
	}
	want := []string{
		"recovered a/empty a/empty-recovered", "recovered a/one a/one-recovered", "cleaned closed temporary_file temporary_file",
		"recovered cut cut-recovered capture_set_aside", "unrecoverable headless capture_unfinished", "set-aside nothing capture_set_aside",
	}
	if diff := cmp.Diff(want, rows(t, dir, Settings{Tool: tool})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"unrecoverable headless capture_unfinished"}, rows(t, dir, Settings{Tool: tool})); diff != "" {
		t.Errorf("the second time (-want +got):\n%s", diff)
	}
	for name, size := range map[string]int{"a/one": 10, "a/empty": 0, "cut": 10} {
		findings, err := capture.Check(context.Background(), filepath.Join(dir, name+"-recovered"))
		if err != nil || len(findings) != 1 {
			t.Errorf("%s: %v %v", name, findings, err)
		}
		m, err := capture.DecodeManifest(testkit.Read(t, filepath.Join(dir, name+"-recovered/capture.json")))
		if err != nil {
			t.Fatal(err)
		}
		if m.End != capture.EndError || m.Labels[capture.RecoveredFrom] != filepath.Base(name) || m.Labels["a"] != "b" || m.Tool != tool || m.Response().Bytes != int64(size) {
			t.Errorf("%s: %+v", name, m)
		}
	}
	after := testkit.Contents(t, dir)
	for path, content := range before {
		if content == "directory" || strings.HasPrefix(path, "closed/") {
			continue
		}
		if after[path] != content && after[path+capture.RemainderSuffix] != content {
			t.Errorf("%s is no longer there", path)
		}
	}
	testkit.RequireNames(t, filepath.Join(dir, "closed"), "arrivals.tsv", "capture.json", "request.json", "response.sse")
}

// The directory may itself be an unfinished capture, however its path is written. The row
// has a path of the new capture.
func TestOne(t *testing.T) {
	for _, path := range []string{"one", "one/", "./one", "link", "."} {
		t.Run(path, func(t *testing.T) {
			dir := t.TempDir()
			crashed(t, filepath.Join(dir, "one"), "data: {}\n\n")
			crashed(t, filepath.Join(dir, "two"), "data: {}\n\n")
			if err := os.Symlink("one", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			if path == "." {
				t.Chdir(filepath.Join(dir, "one"))
			} else {
				t.Chdir(dir)
			}
			root, err := os.OpenRoot(path)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			n := 0
			for row := range All(context.Background(), root, Settings{Tool: tool}) {
				if n++; row.Verdict != Recovered {
					t.Fatalf("%+v", row)
				}
				if _, err := capture.Check(context.Background(), *row.Recovered); err != nil {
					t.Errorf("%s: %v", *row.Recovered, err)
				}
			}
			if n != 1 {
				t.Errorf("%d rows", n)
			}
			testkit.RequireNames(t, dir, "link", "one", "one-recovered", "two")
			testkit.RequireNames(t, filepath.Join(dir, "two"), "arrivals.tsv", "capture.json.tmp", "request.json", "response.sse")
		})
	}
}

// A capture that is being written stays as it is.
func TestInUse(t *testing.T) {
	dir := t.TempDir()
	w, err := capture.Create(filepath.Join(dir, "c"), capture.Settings{Source: capture.Source{Kind: capture.KindFile}, Framing: capture.SSE, Tool: tool, Arrivals: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{false, true} {
		if diff := cmp.Diff([]string{"in-use c capture_in_use"}, rows(t, dir, Settings{Tool: tool, DryRun: dry})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(capture.EndEOF); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, dir, Settings{Tool: tool}); got != nil {
		t.Errorf("when it is closed: %q", got)
	}
}

// Symbolic links are not followed.
func TestLinks(t *testing.T) {
	outside := t.TempDir()
	crashed(t, filepath.Join(outside, "one"), "data: {}\n\n")
	dir := t.TempDir()
	crashed(t, filepath.Join(dir, "two"), "data: {}\n\n")
	for link, to := range map[string]string{"store": outside, "capture": filepath.Join(outside, "one")} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "two/response.sse")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "one/response.sse"), filepath.Join(dir, "two/response.sse")); err != nil {
		t.Fatal(err)
	}
	before := testkit.Contents(t, outside)
	if diff := cmp.Diff([]string{"unrecoverable two capture_file_link"}, rows(t, dir, Settings{Tool: tool})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, testkit.Contents(t, outside)); diff != "" {
		t.Errorf("a directory behind a link changed:\n%s", diff)
	}
}

// When the context ends, nothing more is recovered.
func TestCancelled(t *testing.T) {
	dir := t.TempDir()
	crashed(t, filepath.Join(dir, "one"), "data: {}\n\n")
	crashed(t, filepath.Join(dir, "two"), "data: {}\n\n")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for range All(ctx, root, Settings{Tool: tool}) {
		cancel()
		n++
	}
	if n != 1 {
		t.Errorf("%d rows", n)
	}
	testkit.RequireNames(t, dir, "one", "one-recovered", "two")
}

// Several programs can recover a store at the same time. Each capture is recovered once.
func TestConcurrent(t *testing.T) {
	const captures = 20
	dir := t.TempDir()
	for i := range captures {
		crashed(t, filepath.Join(dir, strconv.Itoa(i)), "data: {}\n\n")
	}
	var (
		wait      sync.WaitGroup
		recovered atomic.Int32
	)
	for range 4 {
		wait.Go(func() {
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer root.Close()
			for row := range All(context.Background(), root, Settings{Tool: tool}) {
				switch row.Verdict {
				case Recovered:
					recovered.Add(1)
				case InUse: // by another program
				default:
					t.Errorf("%+v", row)
				}
			}
		})
	}
	wait.Wait()
	if n := recovered.Load(); n != captures {
		t.Errorf("%d captures were recovered, want %d", n, captures)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2*captures {
		t.Errorf("%d directories, want %d: %v", len(left), 2*captures, err)
	}
}

// A directory in place of the manifest is not a capture that was just closed.
func TestDirectoryAsManifest(t *testing.T) {
	dir := t.TempDir()
	crashed(t, filepath.Join(dir, "c"), "data: {}\n\n")
	if err := os.Mkdir(filepath.Join(dir, "c/capture.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"unrecoverable c capture_file_missing"}, rows(t, dir, Settings{Tool: tool})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A directory that another program removed after it was listed is no error.
func TestRemovedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	r := &recoverer{t.Context(), root, Settings{Tool: tool}}
	crashed(t, filepath.Join(dir, "c"), "data: {}\n\n")
	for _, d := range []capture.Directory{
		{Path: filepath.Join(dir, "c"), Rel: "c", State: capture.Unfinished},
		{Path: filepath.Join(dir, "gone"), Rel: "gone", State: capture.Unfinished},
		{Path: filepath.Join(dir, "gone"), Rel: "gone", State: capture.Unfinished, Err: os.ErrNotExist},
		{Path: filepath.Join(dir, "gone/c"), Rel: "gone/c", State: capture.Unfinished},
		{Path: filepath.Join(dir, "gone"), Rel: "gone", State: capture.Closed, Temporary: []string{"x"}},
	} {
		if row, ok := r.directory(d); ok != (d.Rel == "c") {
			t.Errorf("%+v: %+v", d, row)
		}
	}
}

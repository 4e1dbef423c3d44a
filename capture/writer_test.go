package capture

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

var testTool = Tool{"p20export", "0.1.0"}

// clock is a clock that advances by a second with every call.
type clock struct{ at time.Time }

func (c *clock) now() time.Time {
	c.at = c.at.Add(time.Second)
	return c.at
}

var testStart = time.Date(2026, 11, 21, 6, 28, 50, 865123456, time.FixedZone("", 3600))

// create begins a capture with the settings that most tests need.
func create(t *testing.T, dir string, change func(*Settings)) *Writer {
	t.Helper()
	s := Settings{Source: Source{Kind: KindHTTP}, Framing: SSE, StartedAt: testStart, Tool: testTool, Arrivals: true, Request: []byte(`{"runId":"r"}`)}
	if change != nil {
		change(&s)
	}
	w, err := Create(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	w.now = (&clock{testStart}).now
	return w
}

// write writes the pieces and closes the capture.
func write(t *testing.T, w *Writer, end End, pieces ...string) *Manifest {
	t.Helper()
	for _, p := range pieces {
		if n, err := w.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	m, err := w.Close(end)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "run.capture")
	labels := map[string]string{"b": "2", "a": "1"}
	w := create(t, dir, func(s *Settings) { s.Labels = labels })
	labels["a"] = "changed later"
	m := write(t, w, EndEOF, "data: a\n", "", "\ndata: b\n\n")

	arrivals := "8\t1000000\n18\t2000000\n"
	want := &Manifest{
		Schema: ManifestSchema, Source: Source{Kind: KindHTTP}, Framing: SSE,
		StartedAt:   time.Date(2026, 11, 21, 5, 28, 50, 865123000, time.UTC),
		FirstByteAt: time.Date(2026, 11, 21, 5, 28, 51, 865123000, time.UTC),
		EndedAt:     time.Date(2026, 11, 21, 5, 28, 53, 865123000, time.UTC),
		End:         EndEOF,
		Files: Files{
			SSE:      &File{18, digest.Of([]byte("data: a\n\ndata: b\n\n"))},
			Request:  &File{13, digest.Of([]byte(`{"runId":"r"}`))},
			Arrivals: &File{int64(len(arrivals)), digest.Of([]byte(arrivals))},
		},
		Labels: map[string]string{"a": "1", "b": "2"},
		Tool:   testTool,
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	b, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{
		"response.sse": "data: a\n\ndata: b\n\n", "request.json": `{"runId":"r"}`, "arrivals.tsv": arrivals, "capture.json": string(b),
	}, testkit.Contents(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}

	if _, err := w.Write([]byte("x")); err == nil {
		t.Error("Write after Close succeeds")
	}
	if _, err := w.Close(EndEOF); err == nil {
		t.Error("a second Close succeeds")
	}
	if err := w.Abort(); err != nil || len(testkit.Contents(t, dir)) != 4 {
		t.Errorf("Abort after Close: %v, %d files left", err, len(testkit.Contents(t, dir)))
	}
}

// A capture may have no arrivals, no request and an empty response.
func TestWriterBare(t *testing.T) {
	for _, f := range []Framing{SSE, NDJSON, JSON} {
		dir := t.TempDir() // exists and is empty
		w := create(t, dir, func(s *Settings) { s.Arrivals, s.Request, s.Framing = false, nil, f })
		m := write(t, w, EndCancelled)
		if !m.FirstByteAt.IsZero() || m.Files.Request != nil || m.Files.Arrivals != nil || m.Response().Bytes != 0 || m.End != EndCancelled {
			t.Errorf("manifest %+v", m)
		}
		files := testkit.Contents(t, dir)
		if _, ok := files[f.FileName()]; !ok || len(files) != 2 {
			t.Errorf("files %v", files)
		}
	}
}

// An empty request is stored.
func TestWriterEmptyRequest(t *testing.T) {
	m := write(t, create(t, filepath.Join(t.TempDir(), "c"), func(s *Settings) { s.Request = []byte{} }), EndEOF)
	if m.Files.Request == nil || m.Files.Request.Bytes != 0 {
		t.Errorf("request %+v", m.Files.Request)
	}
}

// Arrival times never decrease, even if the clock does.
func TestWriterClockGoesBack(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "c"), nil)
	times := []time.Duration{-time.Hour, 5 * time.Second, 2 * time.Second, time.Second}
	w.now = func() time.Time {
		d := times[0]
		times = times[1:]
		return testStart.Add(d)
	}
	m := write(t, w, EndEOF, "a", "b", "c")
	if got, want := testkit.Contents(t, w.dir.path)[ArrivalsName], "1\t0\n2\t5000000\n3\t5000000\n"; got != want {
		t.Errorf("arrivals %q, want %q", got, want)
	}
	if got := m.EndedAt.Sub(m.StartedAt); got != 5*time.Second {
		t.Errorf("ended %s after the start", got)
	}
}

func TestCreateRefusesWhatIsThere(t *testing.T) {
	closed := filepath.Join(t.TempDir(), "closed")
	write(t, create(t, closed, nil), EndEOF, "x")
	unfinished := filepath.Join(t.TempDir(), "unfinished")
	w := create(t, unfinished, nil)
	defer w.Abort()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if err := os.Mkdir(filepath.Join(other, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{closed, unfinished, file, other} {
		var before map[string]string
		if dir != file {
			before = testkit.Contents(t, dir)
		}
		if _, err := Create(dir, Settings{Source: Source{Kind: KindFile}, Framing: NDJSON, Tool: testTool}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: error %v, want fs.ErrExist", filepath.Base(dir), err)
		}
		if dir != file {
			if diff := cmp.Diff(before, testkit.Contents(t, dir)); diff != "" {
				t.Errorf("%s was changed:\n%s", filepath.Base(dir), diff)
			}
		}
		if err := CheckEmpty(dir); !errors.Is(err, fs.ErrExist) || strings.Contains(err.Error(), fs.ErrExist.Error()) {
			t.Errorf("CheckEmpty(%s) = %v", filepath.Base(dir), err)
		}
	}
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "a", "b")} {
		if err := CheckEmpty(dir); err != nil {
			t.Errorf("CheckEmpty = %v", err)
		}
	}
	if _, err := Create("", Settings{Source: Source{Kind: KindFile}, Framing: SSE, Tool: testTool}); err == nil {
		t.Error("a directory without a name is accepted")
	}
	if _, err := Create(filepath.Join(file, "below"), Settings{Source: Source{Kind: KindFile}, Framing: SSE, Tool: testTool}); err == nil {
		t.Error("a directory below a file is accepted")
	}
}

// Settings that cannot be encoded in a manifest are rejected before anything is
// created.
func TestCreateChecksSettings(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"label":   func(s *Settings) { s.Labels = map[string]string{"a": "\xff"} },
		"labels":  func(s *Settings) { s.Labels = map[string]string{"a": strings.Repeat("x", MaxManifestBytes)} },
		"url":     func(s *Settings) { s.Source.URL = "http://h/?secret" },
		"kind":    func(s *Settings) { s.Source.Kind = "" },
		"framing": func(s *Settings) { s.Framing = "text" },
		"tool":    func(s *Settings) { s.Tool.Version = "" },
	} {
		parent := t.TempDir()
		s := Settings{Source: Source{Kind: KindHTTP}, Framing: SSE, Tool: testTool}
		change(&s)
		if w, err := Create(filepath.Join(parent, "c"), s); err == nil {
			w.Abort()
			t.Errorf("bad %s: no error", name)
		}
		if left := testkit.Contents(t, parent); len(left) != 0 {
			t.Errorf("bad %s: %v left", name, left)
		}
	}
}

func TestAbort(t *testing.T) {
	parent := t.TempDir()
	w := create(t, filepath.Join(parent, "a", "b", "c"), nil)
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if left := testkit.Contents(t, parent); len(left) != 0 {
		t.Errorf("%v left", left)
	}
	if _, err := w.Close(EndEOF); err == nil {
		t.Error("Close after Abort succeeds")
	}

	// Abort keeps files of others and directories that existed before.
	kept := filepath.Join(parent, "kept")
	if err := os.Mkdir(kept, 0o777); err != nil {
		t.Fatal(err)
	}
	w = create(t, filepath.Join(kept, "a", "b"), nil)
	if err := os.WriteFile(filepath.Join(kept, "a", "other"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"kept": "directory", "kept/a": "directory", "kept/a/other": ""}, testkit.Contents(t, parent)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Only one of two writers with different framings gets an empty directory.
func TestCreateClaims(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, nil)
	if _, err := w.dir.create(ClaimName); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the claim is created twice: %v", err)
	}
	write(t, w, EndEOF, "x")
}

// After a failed write the capture is unfinished and keeps its claim.
func TestWriterFailure(t *testing.T) {
	for name, sabotage := range map[string]func(*Writer){
		"response": func(w *Writer) { w.response.file.Close() },
		"arrivals": func(w *Writer) { w.arrivals.file.Close() },
	} {
		w := create(t, filepath.Join(t.TempDir(), "c"), nil)
		if _, err := w.Write([]byte("data: a\n\n")); err != nil {
			t.Fatal(err)
		}
		sabotage(w)
		if _, err := w.Write([]byte("data: b\n\n")); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: Write after the fault: %v", name, err)
		}
		if _, err := w.Write([]byte("data: c\n\n")); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: the fault is forgotten: %v", name, err)
		}
		_, err := w.Close(EndEOF)
		if err == nil || !strings.Contains(err.Error(), "unfinished") {
			t.Errorf("%s: Close: %v", name, err)
		}
		if f, _ := finding.FromError(err); f.Code != finding.IOFailed || !strings.Contains(f.Hint, "another -o") {
			t.Errorf("%s: Close: %+v", name, f)
		}
		files := testkit.Contents(t, w.dir.path)
		if _, ok := files[ManifestName]; ok || files[ClaimName] == "" || len(files) != 4 {
			t.Errorf("%s: files %v", name, files)
		}
		if !strings.HasPrefix(files["response.sse"], "data: a\n\n") {
			t.Errorf("%s: what was acknowledged is lost: %q", name, files["response.sse"])
		}
		if _, err := Open(t.Context(), w.dir.path, ""); err == nil {
			t.Errorf("%s: the unfinished capture can be opened", name)
		}
	}
	// The manifest cannot be written.
	w := create(t, filepath.Join(t.TempDir(), "c"), nil)
	w.dir.root.Close()
	if m, err := w.Close(EndEOF); err == nil {
		t.Errorf("Close without a manifest file: %+v", m)
	}
	if files := testkit.Contents(t, w.dir.path); len(files) != 4 || files[ClaimName] == "" {
		t.Errorf("files %v", files)
	}
	// The end is unknown.
	w = create(t, filepath.Join(t.TempDir(), "c"), nil)
	if m, err := w.Close("done"); err == nil {
		t.Errorf("Close with another end: %+v", m)
	}
}

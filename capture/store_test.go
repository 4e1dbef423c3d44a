package capture

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

// openRoot opens a directory for the duration of a test.
func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// createIn begins a capture in a new directory of root.
func createIn(t *testing.T, root *os.Root, name string) *Writer {
	t.Helper()
	w, err := CreateIn(root, name, Settings{Source: Source{Kind: KindProxy, URL: "http://h/"}, Framing: SSE, StartedAt: testStart, Tool: testTool, Arrivals: true, Labels: map[string]string{"a": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Only the owner has access to a capture that CreateIn created.
func TestCreateIn(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	w := createIn(t, root, "one")
	if err := w.SetRequest([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := w.SetRequest(nil); err == nil {
		t.Error("a second request is accepted")
	}
	m := write(t, w, EndEOF, "data: a\n\n")
	if m.Files.Request == nil || m.Files.Request.Bytes != 2 {
		t.Errorf("request %+v", m.Files.Request)
	}
	for name, want := range map[string]fs.FileMode{".": fs.ModeDir | 0o700, ManifestName: 0o600, RequestName: 0o600, ArrivalsName: 0o600, "response.sse": 0o600} {
		if info, err := os.Lstat(filepath.Join(dir, "one", name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	testkit.RequireNames(t, filepath.Join(dir, "one"), ArrivalsName, ManifestName, RequestName, "response.sse")

	if err := os.Symlink("one", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("none", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	before := testkit.Contents(t, dir)
	for _, name := range []string{"one", "link", "dangling", "", ".", "..", "a/b", "../x", "/x"} {
		if w, err := CreateIn(root, name, Settings{Source: Source{Kind: KindProxy}, Framing: SSE, Tool: testTool}); err == nil {
			w.Abort()
			t.Errorf("a capture is created in %q", name)
		}
	}
	if _, err := CreateIn(root, "two", Settings{Source: Source{Kind: KindProxy}, Framing: "x", Tool: testTool}); err == nil {
		t.Error("a bad framing is accepted")
	}
	if diff := cmp.Diff(before, testkit.Contents(t, dir)); diff != "" {
		t.Errorf("the directory was changed:\n%s", diff)
	}
}

func TestAbortIn(t *testing.T) {
	dir := t.TempDir()
	w := createIn(t, openRoot(t, dir), "one")
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil || len(testkit.Contents(t, dir)) != 0 {
		t.Errorf("%v, %v", err, testkit.Contents(t, dir))
	}
}

// The claim has the manifest of a capture that broke off before its first byte.
func TestClaimHasHead(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	w := createIn(t, root, "one")
	b := testkit.Read(t, filepath.Join(dir, "one", ClaimName))
	m, err := DecodeManifest(b)
	if err != nil {
		t.Fatal(err)
	}
	if m.End != EndError || !m.EndedAt.Equal(m.StartedAt) || m.Source.URL != "http://h/" || m.Labels["a"] != "1" || m.Response().Bytes != 0 || m.Files.Arrivals.Bytes != 0 {
		t.Errorf("head %+v", m)
	}
	checkInUse := func(want bool) {
		t.Helper()
		if used, err := InUse(root, "one"); used != want || err != nil {
			t.Errorf("InUse = %v, %v", used, err)
		}
	}
	checkInUse(true)
	write(t, w, EndEOF, "x")
	checkInUse(false)
	if _, err := InUse(root, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
	if err := os.Symlink("one", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := InUse(root, "link"); err == nil {
		t.Error("a link is followed")
	}
	w = createIn(t, root, "two")
	w.dir.root.Close()
	if _, err := w.Close(EndEOF); err == nil {
		t.Error("Close succeeds")
	}
	if used, err := InUse(root, "two"); used || err != nil {
		t.Errorf("after a failed Close: %v, %v", used, err)
	}
}

func TestWriteArrived(t *testing.T) {
	dir := t.TempDir()
	w := createIn(t, openRoot(t, dir), "one")
	at := func(ms int) time.Time { return testStart.Add(time.Duration(ms) * time.Millisecond) }
	if n, err := w.WriteArrived([]byte("abcdef"), []Arrival{{1, at(5)}, {2, at(4)}, {3, at(7)}}); n != 6 || err != nil {
		t.Fatal(n, err)
	}
	for _, bad := range [][]Arrival{nil, {{1, at(8)}}, {{2, at(8)}}, {{1, at(8)}, {0, at(8)}}, {{2, at(8)}, {-1, at(8)}}} {
		p := []byte("x")
		if len(bad) == 1 && bad[0].Bytes == 1 {
			p = []byte("xy")
		}
		if n, err := w.WriteArrived(p, bad); n != 0 || err == nil {
			t.Errorf("%v: %d, %v", bad, n, err)
		}
	}
	if n, err := w.WriteArrived([]byte("g"), []Arrival{{1, at(9)}}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	m := write(t, w, EndStorage)
	files := testkit.Contents(t, filepath.Join(dir, "one"))
	if files["response.sse"] != "abcdefg" || files[ArrivalsName] != "1\t5000\n3\t5000\n6\t7000\n7\t9000\n" {
		t.Errorf("files %v", files)
	}
	if m.End != EndStorage || m.FirstByteAt.Sub(m.StartedAt) != 5*time.Millisecond {
		t.Errorf("manifest %+v", m)
	}
}

// After a failed write, Close(EndStorage) keeps exactly the complete writes.
func TestCloseStorage(t *testing.T) {
	for name, sabotage := range map[string]func(w *Writer) (restore func()){
		"response": func(w *Writer) func() {
			f := w.response.file
			w.response.file = readOnly(t, w, "response.sse")
			return func() { w.response.file.Close(); w.response.file = f }
		},
		"arrivals": func(w *Writer) func() {
			f := w.arrivals.file
			if _, err := f.WriteString("12\t"); err != nil { // an incomplete write
				t.Fatal(err)
			}
			w.arrivals.file = readOnly(t, w, ArrivalsName)
			return func() { w.arrivals.file.Close(); w.arrivals.file = f }
		},
	} {
		dir := t.TempDir()
		w := createIn(t, openRoot(t, dir), "one")
		if _, err := w.Write([]byte("data: a\n\n")); err != nil {
			t.Fatal(err)
		}
		restore := sabotage(w)
		for range 2 {
			if n, err := w.Write([]byte("data: b\n\n")); n != 0 || !errors.Is(err, syscall.EBADF) {
				t.Errorf("%s: Write = %d, %v", name, n, err)
			}
		}
		if err := w.Sync(); !errors.Is(err, syscall.EBADF) {
			t.Errorf("%s: Sync: %v", name, err)
		}
		if err := w.SetRequest(nil); !errors.Is(err, syscall.EBADF) {
			t.Errorf("%s: SetRequest: %v", name, err)
		}
		restore()
		if m, err := w.Close(EndStorage); err != nil || m.End != EndStorage || m.Response().Bytes != 9 {
			t.Fatalf("%s: Close = %+v, %v", name, m, err)
		}
		c, err := Open(t.Context(), filepath.Join(dir, "one"), "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for err == nil {
			_, err = c.Next()
		}
		if err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
		for _, f := range c.Findings() {
			if f.Code != "capture_cut_short" {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// readOnly opens a file of a capture so that writing to it fails.
func readOnly(t *testing.T, w *Writer, name string) *os.File {
	t.Helper()
	f, err := w.dir.root.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// After a failed sync nothing can be trusted, so the capture stays unfinished.
func TestCloseAfterFailedSync(t *testing.T) {
	dir := t.TempDir()
	w := createIn(t, openRoot(t, dir), "one")
	r, p, err := os.Pipe() // it cannot be synced
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f := w.response.file
	w.response.file = p
	if err := w.Sync(); err == nil {
		t.Fatal("Sync succeeds")
	}
	p.Close()
	w.response.file = f
	if m, err := w.Close(EndStorage); m != nil || err == nil || !strings.Contains(err.Error(), "unfinished") {
		t.Errorf("Close = %+v, %v", m, err)
	}
	testkit.RequireNames(t, filepath.Join(dir, "one"), ArrivalsName, ClaimName, "response.sse")
}

// A body in an unknown framing is stored, but its events cannot be read.
func TestOpaque(t *testing.T) {
	dir := t.TempDir()
	status := 404
	w, err := CreateIn(openRoot(t, dir), "one", Settings{Source: Source{Kind: KindProxy, Status: &status}, Framing: Opaque, Tool: testTool, Arrivals: true})
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, EndEOF, "\x00\x01")
	testkit.RequireNames(t, filepath.Join(dir, "one"), ArrivalsName, ManifestName, "response.opaque")
	for _, framing := range []Framing{"", SSE} {
		_, err := Open(t.Context(), filepath.Join(dir, "one"), framing)
		if mustFind(t, err, finding.FramingOpaque); !strings.HasSuffix(err.Error(), "; its HTTP status is 404") { // often the reason
			t.Error(err)
		}
	}
	if _, err := ParseFraming("opaque"); err == nil {
		t.Error("the framing can be chosen")
	}
}

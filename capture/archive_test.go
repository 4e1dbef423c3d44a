package capture_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

// stored returns a directory with one finished capture, named name.
func stored(t *testing.T, name string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	w := begun(t, root, name)
	if _, err := w.Close(capture.EndEOF); err != nil {
		t.Fatal(err)
	}
	return root
}

// begun begins a capture.
func begun(t *testing.T, root *os.Root, name string) *capture.Writer {
	t.Helper()
	w, err := capture.CreateIn(root, name, capture.Settings{
		Source: capture.Source{Kind: capture.KindProxy}, Framing: capture.SSE, Request: []byte("{}"), Arrivals: true,
		Labels: map[string]string{"stream": "s"}, Tool: capture.Tool{Name: "test", Version: "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("data: {}\n\n")); err != nil {
		t.Fatal(err)
	}
	return w
}

// Describe returns the manifest of a capture, whether it is finished or not.
func TestDescribe(t *testing.T) {
	root := stored(t, "one")
	m, finished, err := capture.Describe(root, "one")
	if err != nil || !finished || m.Labels["stream"] != "s" || m.End != capture.EndEOF {
		t.Errorf("%+v, %t, %v", m, finished, err)
	}
	w := begun(t, root, "two")
	m, finished, err = capture.Describe(root, "two")
	if err != nil || finished || m.Labels["stream"] != "s" {
		t.Errorf("unfinished: %+v, %t, %v", m, finished, err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"empty", "torn"} {
		if err := root.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Write(t, filepath.Join(root.Name(), "torn", capture.ClaimName), []byte("{"))
	if err := os.Symlink("one", filepath.Join(root.Name(), "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"two": fs.ErrNotExist, "empty": fs.ErrNotExist, "none": fs.ErrNotExist, "link": nil, "torn": nil, "..": nil, "one/capture.json": nil} {
		if m, finished, err := capture.Describe(root, name); err == nil || m != nil || finished || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %+v, %t, %v", name, m, finished, err)
		}
	}
}

// An archive has the files of the capture, in the order of the manifest, and is always the same.
func TestWriteTar(t *testing.T) {
	root := stored(t, "one.two")
	var archive, again bytes.Buffer
	for _, b := range []*bytes.Buffer{&archive, &again} {
		if err := capture.WriteTar(t.Context(), root, "one.two", b); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archive.Bytes(), again.Bytes()) {
		t.Error("the archives differ")
	}
	m, _, err := capture.Describe(root, "one.two")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(&archive); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || string(text) != string(testkit.Read(t, filepath.Join(root.Name(), h.Name))) || !h.ModTime.Equal(m.EndedAt.Truncate(time.Second)) || h.Mode != 0o644 {
			t.Errorf("%+v: %s, %v", h, text, err)
		}
		names = append(names, h.Name)
	}
	if diff := cmp.Diff([]string{"one.two/capture.json", "one.two/response.sse", "one.two/request.json", "one.two/arrivals.tsv"}, names); diff != "" {
		t.Error(diff)
	}
}

// Nothing is written if a file is missing, is a link, or has another size than the manifest says,
// and a cancelled call does not go on.
func TestWriteTarFails(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(t *testing.T, dir string) error
		code   finding.Code
	}{
		"missing":    {func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "arrivals.tsv")) }, finding.CaptureFileMissing},
		"unfinished": {func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "capture.json")) }, finding.CaptureUnfinished},
		"longer": {func(t *testing.T, dir string) error {
			testkit.Write(t, filepath.Join(dir, "response.sse"), []byte("data: {}\n\n\n"))
			return nil
		}, finding.DigestMismatch},
		"link": {func(_ *testing.T, dir string) error {
			at := filepath.Join(dir, "response.sse")
			if err := os.Rename(at, dir+".sse"); err != nil {
				return err
			}
			return os.Symlink(dir+".sse", at)
		}, finding.CaptureFileLink},
	} {
		root := stored(t, "one")
		if err := test.damage(t, filepath.Join(root.Name(), "one")); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		err := capture.WriteTar(t.Context(), root, "one", &b)
		if f, _ := finding.FromError(err); err == nil || f.Code != test.code || b.Len() > 0 {
			t.Errorf("%s: %v, %d bytes", name, err, b.Len())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := capture.WriteTar(ctx, stored(t, "one"), "one", io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

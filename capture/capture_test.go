package capture

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

// readAll reads the frames of a capture and returns the final error.
func readAll(t *testing.T, c *Capture) (frames []Frame, err error) {
	t.Helper()
	for {
		f, err := c.Next()
		if err != nil {
			if _, again := c.Next(); !errors.Is(again, err) && again.Error() != err.Error() {
				t.Errorf("Next after %v: %v", err, again)
			}
			return frames, err
		}
		f.Data = bytes.Clone(f.Data)
		frames = append(frames, *f)
	}
}

func open(t *testing.T, path string, f Framing) *Capture {
	t.Helper()
	c, err := Open(t.Context(), path, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

func codes(list []finding.Finding) []string {
	var codes []string
	for _, f := range list {
		codes = append(codes, string(f.Code)+" "+string(f.Severity))
	}
	return codes
}

// mustFind checks that err is a finding with the code and returns it.
func mustFind(t *testing.T, err error, code finding.Code) finding.Finding {
	t.Helper()
	var f finding.Finding
	if !errors.As(err, &f) || f.Code != code {
		t.Errorf("error %v, want a finding %s", err, code)
	}
	return f
}

const twoEvents = "data: a\n\ndata: b\n\n"

func TestCaptureDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "one-turn.v2")
	m := write(t, create(t, dir, nil), EndEOF, "data: a\n", "\ndata", ": b\n\n")
	c := open(t, dir+"/", "")
	if c.Name() != "one-turn.v2" || c.Path() != dir+"/" || c.Framing() != SSE {
		t.Errorf("name %q, path %q, framing %q", c.Name(), c.Path(), c.Framing())
	}
	frames, err := readAll(t, c)
	if err != io.EOF {
		t.Fatal(err)
	}
	want := []Frame{
		{Index: 0, Offset: 6, Bytes: 1, Line: 1, End: 9, Data: []byte("a"), Arrived: m.StartedAt.Add(2 * time.Second)},
		{Index: 1, Offset: 15, Bytes: 1, Line: 3, End: 18, Data: []byte("b"), Arrived: m.StartedAt.Add(3 * time.Second)},
	}
	if diff := cmp.Diff(want, frames); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.Digest() != digest.Of([]byte(twoEvents)) || c.Bytes() != 18 || c.Findings() != nil {
		t.Errorf("digest %s, %d bytes, findings %v", c.Digest(), c.Bytes(), c.Findings())
	}
	if diff := cmp.Diff(m, c.Manifest()); diff != "" {
		t.Errorf("manifest (-written +read):\n%s", diff)
	}
	if b, err := os.ReadFile(filepath.Join(dir, ManifestName)); err != nil || c.ManifestDigest() != digest.Of(b) {
		t.Errorf("manifest digest %s", c.ManifestDigest())
	}
	for range 2 {
		if b, err := c.Request(); string(b) != `{"runId":"r"}` || err != nil {
			t.Errorf("request %q, %v", b, err)
		}
	}
}

func TestCapturePlainFile(t *testing.T) {
	dir := t.TempDir()
	for _, x := range []struct {
		file, in, name string
		framing        Framing
		frames         int
	}{
		{"a.b.sse", twoEvents, "a.b", SSE, 2},
		{"run", "{}\n{}\n{}\n", "run", NDJSON, 3},
		{".sse", "\n [1]", ".sse", JSON, 1},
		{"empty.json", "", "empty", SSE, 0},
		{"space.json", strings.Repeat(" ", 5000) + "[1,2]", "space", JSON, 2},
	} {
		path := filepath.Join(dir, x.file)
		if err := os.WriteFile(path, []byte(x.in), 0o666); err != nil {
			t.Fatal(err)
		}
		c := open(t, path, "")
		frames, err := readAll(t, c)
		if err != io.EOF || len(frames) != x.frames || c.Name() != x.name || c.Framing() != x.framing || c.Path() != path {
			t.Errorf("%s: %d frames, error %v, name %q, framing %q", x.file, len(frames), err, c.Name(), c.Framing())
		}
		if c.Digest() != digest.Of([]byte(x.in)) || c.Bytes() != int64(len(x.in)) {
			t.Errorf("%s: digest %s of %d bytes", x.file, c.Digest(), c.Bytes())
		}
		if b, err := c.Request(); b != nil || err != nil || c.Manifest() != nil || c.ManifestDigest() != "" {
			t.Errorf("%s: request %q, %v, manifest %v %q", x.file, b, err, c.Manifest(), c.ManifestDigest())
		}
		for _, f := range frames {
			if !f.Arrived.IsZero() {
				t.Errorf("%s: an event arrived at %s", x.file, f.Arrived)
			}
		}
	}
	// The response file of a capture can be opened as a plain file.
	write(t, create(t, filepath.Join(dir, "c"), nil), EndError, twoEvents)
	c := open(t, filepath.Join(dir, "c", "response.sse"), "")
	if frames, err := readAll(t, c); err != io.EOF || len(frames) != 2 || !frames[0].Arrived.IsZero() || c.Findings() != nil {
		t.Errorf("response.sse: %d frames, %v", len(frames), err)
	}
	// A given framing is used without detection.
	c = open(t, filepath.Join(dir, "run"), SSE)
	if frames, err := readAll(t, c); err != io.EOF || len(frames) != 0 {
		t.Errorf("as sse: %d frames, %v", len(frames), err)
	}
}

func TestCaptureReader(t *testing.T) {
	for _, in := range []string{"\uFEFF [1,2]", "\uFEFF\n{}\n", "data: x\n\n", ""} {
		whole, err := OpenReader(strings.NewReader(in), "stdin", "")
		if err != nil {
			t.Fatal(err)
		}
		want, _ := readAll(t, whole)
		slow, err := OpenReader(iotest.OneByteReader(strings.NewReader(in)), "stdin", "")
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(t, slow)
		if err != io.EOF || slow.Framing() != DetectFraming([]byte(in)) || slow.Digest() != digest.Of([]byte(in)) || slow.Name() != "stdin" {
			t.Errorf("%q: error %v, framing %s, name %s", in, err, slow.Framing(), slow.Name())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-whole +slow):\n%s", in, diff)
		}
	}
	broken := errors.New("broken")
	if _, err := OpenReader(iotest.ErrReader(broken), "stdin", ""); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if _, err := OpenReader(&pieces{in: []byte("x"), sizes: make([]int, 1000)}, "stdin", ""); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error %v", err)
	}
	c, err := OpenReader(io.MultiReader(strings.NewReader(twoEvents), iotest.ErrReader(broken)), "stdin", "")
	if err != nil {
		t.Fatal(err)
	}
	if frames, err := readAll(t, c); !errors.Is(err, broken) || len(frames) != 2 {
		t.Errorf("%d frames, error %v", len(frames), err)
	}
}

func TestNames(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("up.d/in", 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir("up.d/in")
	for path, want := range map[string]string{"a.sse": "a", "x/y.tar.gz": "y.tar", "dir.v1//": "dir", ".": "in", "..": "up.d", "/": "capture", ".hidden": ".hidden", "a.": "a"} {
		if got := BaseName(path); got != want {
			t.Errorf("BaseName(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestCaptureUnfinished(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	w := create(t, dir, nil)
	defer w.Abort()
	if _, err := w.Write([]byte(twoEvents)); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), dir, "")
	mustFind(t, err, finding.CaptureUnfinished)
	if _, err := Open(t.Context(), filepath.Join(dir, "nowhere"), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// A change of any byte of any file is detected.
func TestCaptureChangedFiles(t *testing.T) {
	make := func(t *testing.T) string {
		dir := filepath.Join(t.TempDir(), "c")
		write(t, create(t, dir, nil), EndEOF, "data: a\n", "\ndata: b\n\n")
		return dir
	}
	changes := map[string]func(b []byte, i int) []byte{
		"flipped": func(b []byte, i int) []byte { b[i] ^= 1; return b },
		"removed": func(b []byte, i int) []byte { return append(b[:i], b[i+1:]...) },
		"added":   func(b []byte, i int) []byte { return append(b, b[i]) },
	}
	for _, name := range []string{"response.sse", RequestName, ArrivalsName} {
		for how, change := range changes {
			t.Run(name+" "+how, func(t *testing.T) {
				dir := make(t)
				path := filepath.Join(dir, name)
				good, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for i := range good {
					if err := os.WriteFile(path, change(bytes.Clone(good), i), 0o666); err != nil {
						t.Fatal(err)
					}
					c := open(t, dir, "")
					_, err := readAll(t, c)
					if f := mustFind(t, err, finding.DigestMismatch); !strings.Contains(f.Message, name) {
						t.Errorf("the message %q does not name %s", f.Message, name)
					}
					if name == RequestName {
						b, err := open(t, dir, "").Request()
						if mustFind(t, err, finding.DigestMismatch); b != nil {
							t.Errorf("a changed request is returned: %q", b)
						}
					}
				}
			})
		}
		t.Run(name+" missing", func(t *testing.T) {
			dir := make(t)
			path := filepath.Join(dir, name)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), dir, "")
			mustFind(t, err, finding.CaptureFileMissing)
			if err := os.Mkdir(path, 0o777); err != nil {
				t.Fatal(err)
			}
			_, err = Open(t.Context(), dir, "")
			mustFind(t, err, finding.CaptureFileMissing)
		})
	}
	t.Run("manifest", func(t *testing.T) {
		dir := make(t)
		path := filepath.Join(dir, ManifestName)
		for _, in := range []string{"", "{}", strings.Repeat(" ", MaxManifestBytes+1)} {
			if err := os.WriteFile(path, []byte(in), 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), dir, "")
			mustFind(t, err, finding.ManifestMalformed)
		}
	})
}

func TestCaptureCutShort(t *testing.T) {
	for _, end := range []End{EndCancelled, EndError, EndLimit} {
		dir := filepath.Join(t.TempDir(), "c")
		write(t, create(t, dir, nil), end, "data: a\n\ndata: b")
		c := open(t, dir, "")
		if frames, err := readAll(t, c); err != io.EOF || len(frames) != 1 {
			t.Errorf("%s: %d frames, %v", end, len(frames), err)
		}
		if diff := cmp.Diff([]string{"capture_cut_short warning", "event_incomplete warning"}, codes(c.Findings())); diff != "" {
			t.Errorf("%s: findings (-want +got):\n%s", end, diff)
		}
	}
}

func TestCaptureClose(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	write(t, create(t, dir, nil), EndEOF, twoEvents)
	c, err := Open(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Next(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Next after Close: %v", err)
	}
}

func TestRequestLimit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	write(t, create(t, dir, nil), EndEOF)
	c := open(t, dir, "")
	if c.requestLimit != maxRequestBytes {
		t.Errorf("limit %d", c.requestLimit)
	}
	c.requestLimit = int64(len(`{"runId":"r"}`))
	if b, err := c.Request(); err != nil || len(b) != 13 {
		t.Errorf("at the limit: %q, %v", b, err)
	}
	c.requestLimit--
	_, err := c.Request()
	mustFind(t, err, finding.TooLarge)
	if _, err := readAll(t, c); err != io.EOF {
		t.Errorf("Next: %v", err)
	}
}

package capture

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
)

// opened is what a capture contains, and its final error.
type opened struct {
	Name, Digest, Request string
	Frames                []Frame
	Findings              []finding.Finding
	Err                   string
}

func contents(t *testing.T, c *Capture, err error) (o opened) {
	t.Helper()
	if err != nil {
		return opened{Err: err.Error()}
	}
	defer c.Close()
	request, err := c.Request()
	if err != nil {
		return opened{Err: err.Error()}
	}
	frames, err := readAll(t, c)
	return opened{c.Name(), string(c.Digest()), string(request), frames, c.Findings(), err.Error()}
}

// OpenFS reads the same as Open, for all committed captures, plain files and damaged
// captures.
func TestOpenFS(t *testing.T) {
	dirs, err := filepath.Glob("../discovery/captures/*/*/" + ManifestName)
	if err != nil || len(dirs) < 100 {
		t.Fatalf("%d captures, %v", len(dirs), err)
	}
	compare := func(root, path string) opened {
		on, err := Open(t.Context(), filepath.Join(root, path), "")
		want := contents(t, on, err)
		in, err := OpenFS(t.Context(), os.DirFS(root), path, "")
		if err == nil && in.Path() != path {
			t.Errorf("the path of %s is %s", path, in.Path())
		}
		got := contents(t, in, err)
		got.Err = strings.ReplaceAll(got.Err, " "+path, " "+filepath.Join(root, path)) // of a path error
		if !reflect.DeepEqual(want, got) {                                             // faster than cmp.Diff for thousands of frames
			diff := cmp.Diff(want, got)
			t.Errorf("%s (-on disk +in the file system):\n%s", path, diff)
		}
		return got
	}
	for _, manifest := range dirs {
		dir := filepath.Dir(manifest)
		compare(filepath.Dir(dir), filepath.Base(dir))
	}
	root := t.TempDir()
	lay(t, filepath.Join(root, "run.v1.ndjson"))
	lay(t, filepath.Join(root, "unfinished", "response.sse"))
	lay(t, filepath.Join(root, "malformed", ManifestName))
	for path, want := range map[string]string{
		"run.v1.ndjson": "EOF",
		"unfinished":    `the directory "unfinished" has no capture.json, so the capture was not finished`,
		"malformed":     "capture.json: the schema is not",
		"missing":       "no such file",
	} {
		if got := compare(root, path); !strings.Contains(got.Err, want) {
			t.Errorf("%s: %s", path, got.Err)
		}
	}
	if _, err := OpenFS(t.Context(), os.DirFS(root), "missing", ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if c, err := OpenFS(t.Context(), os.DirFS(filepath.Dir(dirs[0])), ".", ""); err != nil || c.Name() != "capture" {
		t.Errorf("the root: %v", err)
	} else {
		c.Close()
	}
}

// Identify returns the digests and the labels of an opened capture, without reading its
// response.
func TestIdentify(t *testing.T) {
	const dir = "../discovery/captures/adk/one-turn"
	c, err := Open(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(c.Labels()) == 0 {
		t.Fatal("the capture has no labels")
	}
	digest := c.Manifest().Response().Digest
	for path, want := range map[string]Identity{
		dir:                   {Manifest: c.ManifestDigest(), Response: digest, Labels: c.Labels()},
		dir + "/response.sse": {Response: digest},
	} {
		got, err := Identify(t.Context(), path)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", path, err, diff)
		}
		root, name := filepath.Split(path)
		got, err = IdentifyFS(t.Context(), os.DirFS(root), name)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s in a file system: %v %s", path, err, diff)
		}
	}
	root := t.TempDir()
	lay(t, filepath.Join(root, "unfinished", "response.sse"))
	for _, path := range []string{"missing", "unfinished"} {
		_, want := Open(t.Context(), filepath.Join(root, path), "")
		if _, err := Identify(t.Context(), filepath.Join(root, path)); err == nil || strings.Replace(err.Error(), "open", "stat", 1) != want.Error() {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if _, err := IdentifyFS(t.Context(), os.DirFS(root), path); err == nil {
			t.Errorf("%s in a file system: no error", path)
		}
	}
}

// sequential is a file system whose files cannot be read at an offset.
type sequential struct{ fs.FS }

func (s sequential) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return struct{ fs.File }{f}, err
}

func TestOpenFSWithoutReaderAt(t *testing.T) {
	data := fstest.MapFS{"c/" + ManifestName: {Data: []byte("{}")}, "run.sse": {Data: []byte("data: {}\n\n")}}
	if _, err := OpenFS(t.Context(), sequential{data}, "c", ""); err == nil || err.Error() != "c/capture.json does not implement io.ReaderAt" {
		t.Errorf("a capture directory: %v", err)
	}
	c, err := OpenFS(t.Context(), sequential{data}, "run.sse", "")
	if err != nil {
		t.Fatal(err)
	}
	if frames, err := readAll(t, c); len(frames) != 1 || err != io.EOF {
		t.Errorf("a plain file: %d frames, %v", len(frames), err)
	}
}

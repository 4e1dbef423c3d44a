package capture

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A directory that was vacant may hold a whole capture when the claim is made.
func TestClaimAfterAnotherCapture(t *testing.T) {
	dir := t.TempDir()
	late, err := makeDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, create(t, dir, nil), EndEOF, twoEvents)
	before := listing(t, dir)
	f, err := late.claim()
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v, want fs.ErrExist", err)
	}
	if f != nil {
		f.Close()
	}
	if err := late.undo(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
		t.Errorf("the first capture was changed:\n%s", diff)
	}
}

// A manifest is never replaced, with hard links and without.
func TestCloseKeepsAManifest(t *testing.T) {
	noLinks := func(old, new string) error {
		return &os.LinkError{Op: "link", Old: old, New: new, Err: syscall.EPERM}
	}
	for name, link := range map[string]func(old, new string) error{"links": os.Link, "no links": noLinks} {
		w := create(t, filepath.Join(t.TempDir(), "c"), nil)
		w.dir.link = link
		path := filepath.Join(w.dir.path, ManifestName)
		if err := os.WriteFile(path, []byte("evidence"), 0o666); err != nil {
			t.Fatal(err)
		}
		if m, err := w.Close(EndEOF); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: manifest %+v, error %v, want fs.ErrExist", name, m, err)
		}
		if b, err := os.ReadFile(path); string(b) != "evidence" || err != nil {
			t.Errorf("%s: the manifest was replaced by %q, %v", name, b, err)
		}

		w = create(t, filepath.Join(t.TempDir(), "c"), nil)
		w.dir.link = link
		write(t, w, EndEOF, twoEvents)
		files := listing(t, w.dir.path)
		if _, ok := files[ClaimName]; ok || len(files) != 4 {
			t.Errorf("%s: files %v", name, files)
		}
		if _, err := readAll(t, open(t, w.dir.path, "")); err == nil {
			t.Errorf("%s: no end", name)
		}
	}
}

// Of many writers of one directory at most one closes a capture, and it is whole.
func TestCreateAtOnce(t *testing.T) {
	for range 50 {
		dir := t.TempDir()
		var closed atomic.Int32
		var all sync.WaitGroup
		for i, f := range []Framing{SSE, NDJSON, JSON, SSE, NDJSON, JSON} {
			all.Go(func() {
				w, err := Create(dir, Settings{Source: Source{Kind: KindFile}, Framing: f, Tool: testTool})
				if err != nil {
					if !errors.Is(err, fs.ErrExist) {
						t.Errorf("writer %d: %v", i, err)
					}
					return
				}
				w.Write(bytes.Repeat([]byte("x"), i))
				if _, err := w.Close(EndEOF); err != nil {
					t.Errorf("writer %d: %v", i, err)
					return
				}
				closed.Add(1)
			})
		}
		all.Wait()
		if files := listing(t, dir); closed.Load() > 1 || closed.Load() == 1 && len(files) != 2 {
			t.Fatalf("%d captures were closed, files %v", closed.Load(), files)
		}
	}
}

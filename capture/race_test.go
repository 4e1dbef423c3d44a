package capture

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
)

// Claiming a directory fails if another capture was written since CheckEmpty.
func TestClaimAfterAnotherCapture(t *testing.T) {
	dir := t.TempDir()
	late, err := makeDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, create(t, dir, nil), EndEOF, twoEvents)
	before := testkit.Contents(t, dir)
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
	if diff := cmp.Diff(before, testkit.Contents(t, dir)); diff != "" {
		t.Errorf("the first capture was changed:\n%s", diff)
	}
}

// A manifest is never replaced.
func TestCloseKeepsAManifest(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "c"), nil)
	path := filepath.Join(w.dir.path, ManifestName)
	if err := os.WriteFile(path, []byte("evidence"), 0o666); err != nil {
		t.Fatal(err)
	}
	if m, err := w.Close(EndEOF); m != nil || !errors.Is(err, fs.ErrExist) {
		t.Errorf("manifest %+v, error %v, want fs.ErrExist", m, err)
	}
	if b, err := os.ReadFile(path); string(b) != "evidence" || err != nil {
		t.Errorf("the manifest was replaced by %q, %v", b, err)
	}
	if files := testkit.Contents(t, w.dir.path); len(files) != 5 || files[ClaimName] == "" {
		t.Errorf("files %v", files)
	}
}

// At most one of several writers of a directory closes a capture, which is intact.
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
		if files := testkit.Contents(t, dir); closed.Load() > 1 || closed.Load() == 1 && len(files) != 2 {
			t.Fatalf("%d captures were closed, files %v", closed.Load(), files)
		}
	}
}

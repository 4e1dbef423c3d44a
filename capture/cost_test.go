package capture

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// scanAll opens a capture, reads it and closes it. It returns the number of frames.
func scanAll(t *testing.T, path string) int {
	c, err := Open(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Request(); err != nil {
		t.Error(err)
	}
	frames := 0
	for {
		if _, err = c.Next(); err != nil {
			break
		}
		frames++
	}
	if err != io.EOF {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	return frames
}

// measured calls f and returns the average number of its allocations and of their bytes.
func measured(runs uint64, f func()) (allocs, bytes uint64) {
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return (after.Mallocs - before.Mallocs) / runs, (after.TotalAlloc - before.TotalAlloc) / runs
}

// The number of allocations does not depend on the number of frames.
func TestAllocations(t *testing.T) {
	useTwoProcessors(t)
	dir := t.TempDir()
	for _, c := range []struct {
		framing               Framing
		before, again, behind string
	}{
		{SSE, "", "data: {\"type\":\"CUSTOM\",\"name\":\"n\"}\n\n", ""},
		{SSE, "", "event: e\r\ndata: {\"type\":\"CUSTOM\",\r\ndata: \"name\":\"n\"}\r\n\r\n", ""},
		{NDJSON, "", "{\"type\":\"CUSTOM\",\"name\":\"n\"}\n", ""},
		{JSON, "[", "{\"type\":\"CUSTOM\",\"name\":\"n\"},\n", "1]"},
	} {
		for _, n := range []int{100, 20_000, 60_000} {
			path := filepath.Join(dir, "c")
			if err := os.WriteFile(path, []byte(c.before+strings.Repeat(c.again, n)+c.behind), 0o666); err != nil {
				t.Fatal(err)
			}
			allocs, _ := measured(3, func() {
				if got := scanAll(t, path); got < n {
					t.Errorf("%d frames, want %d", got, n)
				}
			})
			t.Logf("%s, %d frames: %d allocations", c.framing, n, allocs)
			if allocs > 50 {
				t.Errorf("%s, %d frames: %d allocations", c.framing, n, allocs)
			}
		}
	}
}

// A small capture needs little memory, because the blocks of earlier captures are used
// again. With the race detector, a sync.Pool drops some of them.
func TestSmallCaptureMemory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	write(t, create(t, dir, nil), EndEOF, strings.Repeat(twoEvents, 200))
	for _, path := range []string{dir, filepath.Join(dir, "response.sse")} {
		allocs, bytes := measured(200, func() { scanAll(t, path) })
		t.Logf("%s: %d allocations of %d bytes", filepath.Base(path), allocs, bytes)
		if bytes > bufferBytes {
			t.Errorf("%s: %d bytes were allocated", filepath.Base(path), bytes)
		}
	}
}

// countingFS counts the reads of each file.
type countingFS struct {
	fs.FS
	reads map[string]int
}

func (c countingFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return countedFile{f, f.(io.ReaderAt), c.reads, name}, nil
}

type countedFile struct {
	fs.File
	at    io.ReaderAt
	reads map[string]int
	name  string
}

func (f countedFile) Read(p []byte) (int, error) {
	f.reads[f.name]++
	return f.File.Read(p)
}

func (f countedFile) ReadAt(p []byte, at int64) (int, error) {
	f.reads[f.name]++
	return f.at.ReadAt(p, at)
}

// Each file of a small capture needs one read for its bytes and one for its end.
func TestReadsOfSmallCapture(t *testing.T) {
	root := t.TempDir()
	write(t, create(t, filepath.Join(root, "c"), nil), EndEOF, "data: a\n", "\ndata: b\n\n")
	for path, files := range map[string]int{"c": 4, "c/response.sse": 1} {
		counted := countingFS{os.DirFS(root), map[string]int{}}
		c, err := OpenFS(t.Context(), counted, path, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Request(); err != nil {
			t.Error(err)
		}
		if _, err := readAll(t, c); err != io.EOF {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if len(counted.reads) != files {
			t.Errorf("%s: %d files were read, want %d", path, len(counted.reads), files)
		}
		for name, n := range counted.reads {
			if n > 2 {
				t.Errorf("%s: %d reads", name, n)
			}
		}
	}
}

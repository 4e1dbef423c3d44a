package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/cmd/internal/bench/captures"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// generate writes a capture to a file.
func generate(file string, shape captures.Shape, size int64) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(captures.Write(f, shape, size, 1), f.Close())
}

// load imports a file, and returns the thread to which it belongs.
func (l *log) load(ctx context.Context, file string) (store.Thread, error) {
	row := transfer.Import(ctx, l.Log, inputs.File(file), transfer.ImportSettings{})
	if row.Verdict != project.Written || len(row.Parts) != 1 {
		return store.Thread{}, fmt.Errorf("%s: import %s: %s %v", l.Name, file, row.Verdict, row.Findings)
	}
	return l.Thread(ctx, store.Key{Thread: row.Parts[0].Thread})
}

// save exports a thread to a file, and returns the size of the file.
func (l *log) save(ctx context.Context, key store.Key, file string) (transfer.ExportRow, int64, error) {
	row := transfer.ExportFile(ctx, l.Log, key, file, 0)
	if row.Verdict != project.Written {
		return row, 0, fmt.Errorf("%s: export %s: %s %v", l.Name, file, row.Verdict, row.Findings)
	}
	info, err := os.Stat(file)
	if err != nil {
		return row, 0, err
	}
	return row, info.Size(), nil
}

// sizes compares the sizes of events, of logs before and after they were packed, and of
// exported files.
func sizes(ctx context.Context, s *settings) (string, error) {
	var t strings.Builder
	t.WriteString(page.Row("capture", "log", "events", "data (MB)", "log (MB)", "log, packed (MB)", "packed, data = 1", "portable (MB)", "portable, zstd (MB)"))
	t.WriteString("|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, shape := range captures.Shapes() {
		first := string(shape)
		for _, name := range s.logs {
			cells, err := s.size(ctx, name, shape)
			if err != nil {
				return "", err
			}
			t.WriteString(page.Row(append([]string{first, name}, cells...)...))
			first = ""
			fmt.Fprintf(os.Stderr, "  %s, %s\n", shape, name)
		}
	}
	return t.String() + fmt.Sprintf("\nMeasured on %s.\n", page.Today()), nil
}

// size returns the cells of one capture in one log.
func (s *settings) size(ctx context.Context, name string, shape captures.Shape) (cells []string, err error) {
	dir, err := os.MkdirTemp(s.dir, "size-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "capture.sse")
	if err := generate(file, shape, s.large/16); err != nil {
		return nil, err
	}
	l, err := s.open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.CloseAndRemove()) }()
	empty, err := l.Stat(ctx)
	if err != nil {
		return nil, err
	}
	thread, err := l.load(ctx, file)
	if err != nil {
		return nil, err
	}
	plain, err := l.Stat(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := l.Pack(ctx, thread.Key); err != nil {
		return nil, err
	}
	packed, err := l.Stat(ctx)
	if err != nil {
		return nil, err
	}
	sizes := []int64{thread.Bytes, plain.Size - empty.Size, packed.Size - empty.Size}
	for _, name := range []string{"thread.ndjson", "thread.ndjson" + transfer.CompressedSuffix} {
		_, size, err := l.save(ctx, thread.Key, filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, size)
	}
	cells = []string{fmt.Sprint(thread.Last)}
	for i, size := range sizes {
		cells = append(cells, page.Number(float64(size)/1e6))
		if i == 2 {
			cells = append(cells, page.Number(float64(size)/float64(thread.Bytes)))
		}
	}
	return cells, nil
}

// streams measures how fast a large stream is imported, exported, and imported into another
// log.
func streams(ctx context.Context, s *settings) (_ string, err error) {
	dir, err := os.MkdirTemp(s.dir, "streams-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "capture.sse")
	if err := generate(file, captures.ADK, s.large); err != nil {
		return "", err
	}
	var t strings.Builder
	t.WriteString(page.Row("log", "events", "data (MB)", "import a capture (MB/s)", "export (MB/s)", "import the export (MB/s)", "the same"))
	t.WriteString("|---|--:|--:|--:|--:|--:|---|\n")
	for _, name := range s.logs {
		cells, err := s.roundTrip(ctx, name, file)
		if err != nil {
			return "", err
		}
		t.WriteString(page.Row(append([]string{name}, cells...)...))
	}
	return t.String() + fmt.Sprintf("\nMeasured once, on %s.\n", page.Today()), nil
}

// roundTrip returns the cells of one log.
func (s *settings) roundTrip(ctx context.Context, name, file string) (cells []string, err error) {
	dir, err := os.MkdirTemp(s.dir, "round-trip-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var all [2]*log
	for i := range all {
		if all[i], err = s.open(ctx, name); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, all[i].CloseAndRemove()) }()
	}
	var speeds []string
	timed := func(bytes int64, begun time.Time) {
		speed := float64(bytes) / time.Since(begun).Seconds() / 1e6
		speeds = append(speeds, page.Number(speed))
		fmt.Fprintf(os.Stderr, "  %s: %.0f MB/s\n", name, speed)
	}
	begun := time.Now()
	thread, err := all[0].load(ctx, file)
	if err != nil {
		return nil, err
	}
	timed(thread.Bytes, begun)
	exported := filepath.Join(dir, "thread.ndjson")
	begun = time.Now()
	first, _, err := all[0].save(ctx, thread.Key, exported)
	if err != nil {
		return nil, err
	}
	timed(thread.Bytes, begun)
	begun = time.Now()
	if _, err := all[1].load(ctx, exported); err != nil {
		return nil, err
	}
	timed(thread.Bytes, begun)
	second, _, err := all[1].save(ctx, thread.Key, filepath.Join(dir, "again.ndjson"))
	if err != nil {
		return nil, err
	}
	if *first.Digest != *second.Digest {
		return nil, fmt.Errorf("%s: the exports differ: %v and %v", name, *first.Digest, *second.Digest)
	}
	cells = []string{fmt.Sprint(thread.Last), page.Number(float64(thread.Bytes) / 1e6)}
	return append(append(cells, speeds...), "yes"), nil
}

package service

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// frozen counts what a Freezer reports.
type frozen struct {
	mu     sync.Mutex
	counts map[project.Verdict]int
	log    strings.Builder
	each   chan struct{}
}

func (f *frozen) count(v project.Verdict) {
	f.mu.Lock()
	f.counts[v]++
	f.mu.Unlock()
	f.each <- struct{}{}
}

func (f *frozen) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Write(p)
}

// newStore returns a store in which the named captures are closed.
func newStore(t *testing.T, names ...string) *Store {
	t.Helper()
	s, err := OpenStore(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, name := range names {
		add(t, s, name)
	}
	return s
}

// add adds a capture of a run. If its name begins with "none", it has no run.
func add(t *testing.T, s *Store, name string) {
	t.Helper()
	w, err := capture.Create(filepath.Join(s.Path, name), capture.Settings{Framing: capture.SSE, Arrivals: true, Source: capture.Source{Kind: "http"}, Tool: capture.Tool{Name: "test", Version: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join([]string{"", testkit.Started, testkit.Message, testkit.Snapshot, testkit.Finished}, "\n\ndata: ") + "\n\n"
	if strings.HasPrefix(name, "none") {
		text = "data: {}\n\n"
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(capture.EndEOF); err != nil {
		t.Fatal(err)
	}
}

func newFreezer(t *testing.T, s *Store, out string) (*Freezer, *frozen) {
	t.Helper()
	seen := &frozen{counts: map[project.Verdict]int{}, each: make(chan struct{}, 10*maxWaiting)}
	settings := freeze.Settings{Dir: out, Settings: project.Settings{Projection: project.EmittedSnapshot}}
	f, err := NewFreezer(s, settings, slog.New(slog.NewTextHandler(seen, nil)), seen.count)
	if err != nil {
		t.Fatal(err)
	}
	return f, seen
}

// What is in the store is frozen first, then what is closed later. What was frozen before,
// is open, or is no capture is left alone. The directory for the files may be moved away.
func TestFreezer(t *testing.T) {
	s := newStore(t, "a", "b", "none")
	open, err := capture.Create(filepath.Join(s.Path, "open"), capture.Settings{Framing: capture.SSE, Source: capture.Source{Kind: "http"}, Tool: capture.Tool{Name: "test", Version: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.Path, "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(s.Path, "link")); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	f, seen := newFreezer(t, s, out)
	f.Start()
	for range 3 {
		<-seen.each
	}
	moved := out + "-moved"
	if err := os.Rename(out, moved); err != nil {
		t.Fatal(err)
	}
	later, again := 0, false
	for ; !again && later < maxBatch; later++ { // the first may still belong to the batch before
		name := fmt.Sprint("c", later)
		add(t, s, name)
		f.Add(name)
		<-seen.each
		_, err := os.Stat(filepath.Join(out, name+".record.json"))
		again = err == nil
	}
	f.Finish(context.Background())
	if got, want := fmt.Sprint(seen.counts), fmt.Sprintf("map[frozen:%d refused:1]", 2+later); got != want || !again {
		t.Errorf("%s, want %s\n%s", got, want, seen.log.String())
	}
	if _, err := os.Stat(filepath.Join(moved, "a.record.json")); err != nil {
		t.Error(err)
	}
	if log := seen.log.String(); !strings.Contains(log, "capture=none") || !strings.Contains(log, "code=no_run") || strings.Contains(log, "capture=open") {
		t.Errorf("the log is\n%s", log)
	}
	if _, err := open.Close(capture.EndEOF); err != nil {
		t.Fatal(err)
	}
	f.Add("too late") // does not block, and does nothing

	f, seen = newFreezer(t, s, out)
	f.Start()
	f.Finish(context.Background())
	if got, want := fmt.Sprint(seen.counts), fmt.Sprintf("map[frozen:%d refused:1]", 1+later); got != want { // a and b again, and open, which is empty; none was refused before
		t.Errorf("the second time: %s, want %s", got, want)
	}
}

// A backlog that is full loses nothing: the captures are found in the store.
func TestFreezerBacklog(t *testing.T) {
	s := newStore(t)
	out := filepath.Join(t.TempDir(), "out")
	f, seen := newFreezer(t, s, out)
	f.scan = false
	add(t, s, "a")
	for range maxWaiting {
		f.Add("a")
	}
	add(t, s, "b")
	f.Add("b")
	f.Start()
	f.Finish(context.Background())
	for _, name := range []string{"a", "b"} {
		if _, err := os.Stat(filepath.Join(out, name+".record.json")); err != nil {
			t.Errorf("%v\n%v", err, seen.counts)
		}
	}
}

// Finish does not wait longer than its context, and says so.
func TestFreezerInterrupted(t *testing.T) {
	s := newStore(t, "a", "b")
	f, seen := newFreezer(t, s, filepath.Join(t.TempDir(), "out"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f.Start()
	f.Finish(ctx)
	if seen.counts[project.Frozen] < 2 && !strings.Contains(seen.log.String(), "the next start freezes them") {
		t.Errorf("%v\n%s", seen.counts, seen.log.String())
	}
}

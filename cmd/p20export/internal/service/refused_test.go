package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// freezeStore freezes the captures of a store as a server does from its start to its end. It
// returns the verdicts and the log.
func freezeStore(t *testing.T, s *Store, out string, change func(*freeze.Settings)) (counts, log string) {
	t.Helper()
	seen := &frozen{counts: map[project.Verdict]int{}, each: make(chan struct{}, 10*maxWaiting)}
	settings := freeze.Settings{Dir: out, Settings: project.Settings{Projection: project.EmittedSnapshot}}
	if change != nil {
		change(&settings)
	}
	f, err := NewFreezer(s, settings, slog.New(slog.NewTextHandler(seen, nil)), seen.count)
	if err != nil {
		t.Fatal(err)
	}
	f.Start()
	f.Finish(context.Background())
	return fmt.Sprint(seen.counts), seen.log.String()
}

// content returns the names and the contents of all files in a directory and below it.
func content(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			fmt.Fprintf(&all, "%s %q\n", path, testkit.Read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// A capture that was refused is not frozen again at the next start, unless the capture, the
// settings or the program have changed. Nothing is written to the captures.
func TestFreezerRemembersRefusals(t *testing.T) {
	s, out := newStore(t, "a", "none1", "none2"), filepath.Join(t.TempDir(), "out")
	before := content(t, s.Path)
	check := func(when, want string, change func(*freeze.Settings)) {
		t.Helper()
		got, log := freezeStore(t, s, out, change)
		if got != want {
			t.Errorf("%s: %s, want %s\n%s", when, got, want, log)
		}
	}
	check("first", "map[frozen:1 refused:2]", nil)
	check("again", "map[]", nil)
	if got := content(t, s.Path); got != before {
		t.Errorf("the captures were changed:\n%s", got)
	}
	if _, log := freezeStore(t, s, out, nil); !strings.Contains(log, "captures that were refused before are not frozen again") || !strings.Contains(log, "captures=2") || strings.Contains(log, "not frozen\"") {
		t.Errorf("the log is\n%s", log)
	}
	folded := func(f *freeze.Settings) { f.Projection = project.FoldedStream }
	check("other settings", "map[refused:3]", folded)
	check("other settings, again", "map[]", folded)
	check("the first settings", "map[]", nil)
	check("another version", "map[refused:2]", func(f *freeze.Settings) { f.Tool.Version = "next" })

	for name, change := range map[string]func(path string) error{
		"another time": func(path string) error { return os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)) },
		"another file": func(path string) error { return os.WriteFile(path+".x", nil, 0o600) },
		"another size": func(path string) error { return os.WriteFile(path, []byte("data: {1}\n\n"), 0o600) },
	} {
		check("before "+name, "map[]", nil)
		if err := change(filepath.Join(s.Path, "none1", "response.sse")); err != nil {
			t.Fatal(err)
		}
		check(name, "map[refused:1]", nil)
		if name == "another size" { // a damaged capture may be restored, so it is always tried
			check(name+" again", "map[refused:1]", nil)
			testkit.Write(t, filepath.Join(s.Path, "none1", "response.sse"), "data: {}\n\n")
			check("restored", "map[refused:1]", nil)
		}
	}
	if err := os.Remove(out + RefusedSuffix); err != nil {
		t.Fatal(err)
	}
	check("without the file", "map[refused:2]", nil)
}

// A capture with a run that was frozen is always tried, because its files may be moved away.
func TestFreezerRemembersNoFrozen(t *testing.T) {
	s, out := newStore(t), filepath.Join(t.TempDir(), "out")
	w, err := capture.Create(filepath.Join(s.Path, "two"), capture.Settings{Framing: capture.SSE, Arrivals: true, Source: capture.Source{Kind: "http"}, Tool: capture.Tool{Name: "test", Version: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write([]byte(testkit.SSE(testkit.Started, testkit.Snapshot, testkit.Finished, testkit.Started, testkit.Finished)))
	_, closed := w.Close(capture.EndEOF)
	if err := errors.Join(err, closed); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if counts, log := freezeStore(t, s, out, nil); counts != "map[frozen:1 refused:1]" {
			t.Errorf("%s\n%s", counts, log)
		}
	}
}

// The file of refusals is no evidence: lines that cannot be read, and a file that cannot be
// used, only mean that captures are tried again.
func TestFreezerRefusalsFile(t *testing.T) {
	s, out := newStore(t, "none"), filepath.Join(t.TempDir(), "out")
	file := out + RefusedSuffix
	check := func(when, want string) {
		t.Helper()
		if got, log := freezeStore(t, s, out, nil); got != want {
			t.Errorf("%s: %s, want %s\n%s", when, got, want, log)
		}
	}
	check("first", "map[refused:1]")
	line := testkit.Read(t, file)
	var r refusal
	if err := json.Unmarshal(line, &r); err != nil || r.Capture != "none" || r.Code != "no_run" {
		t.Errorf("%s: %v", line, err)
	}
	testkit.Write(t, file, "\x00\n"+string(line[:len(line)/2])) // the last line is torn
	check("a torn line", "map[refused:1]")
	check("after a torn line", "map[]")
	testkit.Write(t, file, string(line)+strings.Repeat("x", maxRefusedBytes))
	check("too long", "map[refused:1]")
	check("begun again", "map[]")
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
		t.Fatal(err)
	}
	check("a directory", "map[refused:1]")
	if _, log := freezeStore(t, s, out, nil); strings.Count(log, "refused captures cannot be remembered") != 1 {
		t.Errorf("the log is\n%s", log)
	}
}

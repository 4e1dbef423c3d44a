package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// TestMain lets the test program be the follower.
func TestMain(m *testing.M) {
	if !processes.RunRole(roles) {
		os.Exit(m.Run())
	}
}

// TestPage checks that every table has a place on the page, and only there.
func TestPage(t *testing.T) {
	t.Parallel()
	names := tableNames()
	if sorted := slices.Sorted(slices.Values(names)); !slices.Equal(sorted, slices.Sorted(maps.Keys(tables))) {
		t.Errorf("the tables are %q, the order has %q", slices.Sorted(maps.Keys(tables)), names)
	}
	if err := page.CheckPlaces("../../../../docs/benchmarks.md", "bench-store", names); err != nil {
		t.Error(err)
	}
}

// TestTables measures what needs neither PostgreSQL nor Node, with small numbers. Only some
// tables are measured with SQLite, which is slow with -race.
func TestTables(t *testing.T) {
	t.Parallel()
	s := settings{
		dir: t.TempDir(), rounds: 2, duration: time.Millisecond,
		fill: 2000, replay: 2 * max(runEvents+1, tokenRun), sealed: 3 * (runEvents + 1), runs: 20, followed: 20, large: 1 << 20,
	}
	for _, c := range []struct {
		name string
		logs []string
		rows int
	}{
		{"append", []string{logs.Memory, logs.SQLite}, 2 * 2 * 3},
		{"growth", []string{logs.Memory}, 2},
		{"replay", []string{logs.Memory}, 1},
		{"seal", []string{logs.Memory}, 1},
		{"tail", []string{logs.Memory, logs.SQLite}, 2},
		{"restore", []string{logs.Memory, logs.SQLite}, 3 * 2},
		{"checkpoints", []string{logs.Memory, logs.SQLite}, 2},
		{"size", []string{logs.Memory}, 4},
		{"streams", []string{logs.Memory}, 1},
	} {
		s := s
		s.logs = c.logs
		text, err := tables[c.name](t.Context(), &s)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		lines := strings.Split(text, "\n")
		columns := strings.Count(lines[0], " | ")
		got := 0
		for _, line := range lines[2:] {
			if !strings.HasPrefix(line, "| ") {
				break
			}
			got++
			if n := strings.Count(line, " | "); n != columns {
				t.Errorf("%s: a row has %d columns, want %d: %s", c.name, n+1, columns+1, line)
			}
		}
		if got != c.rows {
			t.Errorf("%s: %d rows, want %d:\n%s", c.name, got, c.rows, text)
		}
	}
	left, err := filepath.Glob(filepath.Join(s.dir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("these files were left: %q, %v", left, err)
	}
}

// TestGenerator checks that runs have the events that they should, and that the log finds them.
func TestGenerator(t *testing.T) {
	t.Parallel()
	l := &log{&logs.Log{Log: memory.New(), Name: logs.Memory}}
	w := l.newWriter("thread")
	if err := w.write(t.Context(), 2*(runEvents+1), 300); err != nil {
		t.Fatal(err)
	}
	stamps := 0
	for e, err := range l.Read(t.Context(), store.Key{Thread: "thread"}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := stampOf(e.Data); ok {
			stamps++
			if len(e.Data) != eventSize {
				t.Fatalf("an event has %d bytes, want %d: %s", len(e.Data), eventSize, e.Data)
			}
		}
	}
	if want := 2 * (runEvents - 4); stamps != want {
		t.Errorf("%d events have a stamp, want %d", stamps, want)
	}
	runs := 0
	for r, err := range l.Runs(t.Context(), store.RunQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if runs++; r.Entries != runEvents || r.End != store.Finished {
			t.Errorf("a run has %d events and is %s, want %d and finished", r.Entries, r.End, runEvents)
		}
	}
	if runs != 2 {
		t.Errorf("%d runs, want 2", runs)
	}
}

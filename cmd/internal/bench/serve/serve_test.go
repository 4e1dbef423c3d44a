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
)

// TestMain lets the test program be the agent, the readers and the server.
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
	if err := page.CheckPlaces("../../../../docs/benchmarks.md", "bench-serve", names); err != nil {
		t.Error(err)
	}
}

// TestDelays measures a short run on SQLite with the server that is part of this program.
func TestDelays(t *testing.T) {
	t.Parallel()
	s := settings{place: logs.Place{Dir: t.TempDir()}, logs: []string{logs.SQLite}, rounds: 2, delay: 3, idle: 5, duration: 200 * time.Millisecond}
	text, err := tables["idle"](t.Context(), &s)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"none", "5 of " + missing, "5 of " + existing} {
		if lines := strings.Split(text, "\n"); len(lines) < 5 || !strings.HasPrefix(lines[i+2], "| sqlite | "+want+" | ") {
			t.Errorf("line %d is not that of %s:\n%s", i+2, want, text)
		}
	}
	if text, err = tables["delay"](t.Context(), &s); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	if len(lines) < 3 || !strings.HasPrefix(lines[2], "| sqlite | 3 | ") || strings.Count(lines[2], " | ") != strings.Count(lines[0], " | ") {
		t.Errorf("the table is\n%s", text)
	}
	if text, err = tables["seal"](t.Context(), &s); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{unsealed, unsealedAgain, sealed} {
		if lines := strings.Split(text, "\n"); len(lines) < 5 || !strings.HasPrefix(lines[i+2], "| sqlite | "+want+" | ") {
			t.Errorf("line %d is not that of %s:\n%s", i+2, want, text)
		}
	}
	left, err := filepath.Glob(filepath.Join(s.place.Dir, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("these files were left: %q, %v", left, err)
	}
}

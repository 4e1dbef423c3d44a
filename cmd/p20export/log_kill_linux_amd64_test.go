package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// TestLogImportKilled kills log import at random system calls. The next import must complete
// the log, so that it has each entry once, and an export must be complete or absent.
func TestLogImportKilled(t *testing.T) {
	t.Parallel()
	captures := []string{"../../discovery/captures/adk/long-stream", "../../discovery/captures/adk/three-turns-1", "../../discovery/captures/adk/three-turns-2"}
	load := func(db string) []string {
		return append([]string{"log", "import", "--store", "sqlite:" + db}, captures...)
	}
	export := func(db, thread string) string {
		t.Helper()
		cmd := program(t, "log", "export", thread, "-o", "-", "--store", "sqlite:"+db)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", db, err)
		}
		return string(out)
	}
	threads := []string{"thread-long-stream", "thread-three-turns"}
	dir := t.TempDir()
	db := filepath.Join(dir, "whole.db")
	status, said, calls := testkit.KillAt(t, program(t, load(db)...), 0)
	if status != 0 {
		t.Fatalf("status %d\n%s", status, said)
	}
	want := make(map[string]string)
	for _, thread := range threads {
		want[thread] = export(db, thread)
	}
	times, killed := usualKills, 0
	if *allFaults {
		times = 200
	}
	for n := range times {
		db := filepath.Join(dir, fmt.Sprintf("%d.db", n))
		at := 1 + rand.IntN(calls)
		if status, _, _ := testkit.KillAt(t, program(t, load(db)...), at); status < 0 {
			killed++
		}
		if out, err := program(t, load(db)...).CombinedOutput(); err != nil {
			t.Errorf("killed at call %d, the next import fails: %v\n%s", at, err, out)
			continue
		}
		for _, thread := range threads {
			if got := export(db, thread); got != want[thread] {
				t.Errorf("killed at call %d, thread %s has %d bytes, want %d", at, thread, len(got), len(want[thread]))
			}
		}
		for _, file := range []string{db, db + "-wal", db + "-shm"} {
			if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d kills", killed)
	if killed < times/2 {
		t.Errorf("only %d of %d were killed in time", killed, times)
	}
}

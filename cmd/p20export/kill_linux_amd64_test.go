package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// usualKills is the number of times that TestKilled kills each command; with -faults, it is
// 200.
const usualKills = 20

// TestKilled kills the commands that write files at random system calls. It checks that
// acknowledged files exist, that every file is complete, and that the next run removes the
// remains of the killed run.
func TestKilled(t *testing.T) {
	in, commands := writers(t)
	commands["group"] = grouped(t)
	for _, name := range []string{"freeze", "batch", "group", "bundle", "report", "replace", "compact", "export", "capture", "import", "freeze signed", "sign", "add"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := commands[name]
			f := &faulty{written: c, want: c.reference(t, in("killed "+name)), out: in("counted " + name)}
			f.make(t, f.out)
			_, _, calls := testkit.KillAt(t, program(t, c.args(f.out)...), 0)
			times, killed := usualKills, 0
			if *allFaults {
				times = 200
			}
			for n := range times {
				at := 1 + rand.IntN(calls)
				f.out, f.about = in(fmt.Sprintf("killed %s %d", name, n)), fmt.Sprintf("killed at call %d", at)
				f.make(t, f.out)
				status, said, seen := testkit.KillAt(t, program(t, c.args(f.out)...), at)
				if status < 0 {
					killed++
				} else { // the number of calls depends on how threads are scheduled
					calls = min(calls, seen)
				}
				f.judgeRun(t, status, said, false)
				if !c.capture {
					if left, err := filepath.Glob(filepath.Join(f.out, ".p20export-*")); err != nil || len(left) > 0 {
						t.Errorf("%s: %q is left, %v", f.about, left, err)
					}
				}
				if err := os.RemoveAll(f.out); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d kills", killed)
			if killed < times/2 {
				t.Errorf("only %d of %d were killed in time", killed, times)
			}
		})
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
)

// sealing is a command that adds seals to a thread t of a log in an SQLite file.
type sealing struct {
	before string // the file of the log to change a copy of
	args   func(db string) []string
	// said is the text that acknowledges that the log has the seals, sizes are those before the
	// command, and added those that it adds.
	said         string
	sizes, added []int64
	// trust is the public key of the seals, and want is an export of the thread after the command,
	// or "" if that has seals that differ each time.
	trust, want string
}

// sealings returns the commands that add seals.
func sealings(t *testing.T) map[string]sealing {
	t.Helper()
	dir := realTemp(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	trace(t, render.Done, "keygen", in("op"))
	key, trust := in("op.key.pem"), in("op.pub.pem")
	appendRun := func(db, run string) {
		t.Helper()
		var lines string
		for _, typ := range []string{"RUN_STARTED", "RUN_FINISHED"} {
			lines += fmt.Sprintf(`{"Thread":"t","Kind":"event","Data":{"type":%q,"threadId":"t","runId":%q}}`+"\n", typ, run)
		}
		if err := appendEntries(in(db), []byte(lines)); err != nil {
			t.Fatal(err)
		}
	}
	seal := func(db string) []string {
		return []string{"log", "seal", "t", "--store", "sqlite:" + db, "--key", key, "--format", "json"}
	}
	appendRun("one.db", "r1")
	trace(t, render.Done, seal(in("one.db"))...)
	testkit.Write(t, in("part.db"), testkit.Read(t, in("one.db")))
	appendRun("one.db", "r2")
	testkit.Write(t, in("two.db"), testkit.Read(t, in("one.db")))
	trace(t, render.Done, seal(in("two.db"))...)
	trace(t, render.Done, "log", "export", "t", "-o", in("two.ndjson"), "--store", "sqlite:"+in("two.db"))
	return map[string]sealing{
		"seal": {in("one.db"), seal, `"verdict":"written"`, []int64{2}, []int64{4}, trust, ""},
		"import": {in("part.db"), func(db string) []string {
			return []string{"log", "import", in("two.ndjson"), "--store", "sqlite:" + db, "--format", "json"}
		}, `"verdict":"written"`, []int64{2}, []int64{4}, trust, string(testkit.Read(t, in("two.ndjson")))},
	}
}

// sealsIn returns the sizes of the seals of the thread in a log, after it has been verified.
func (s *sealing) sealsIn(t *testing.T, db string) (sizes []int64, problem string) {
	t.Helper()
	status, said := ran("log", "verify", "t", "--store", "sqlite:"+db, "--trust", s.trust, "--format", "json")
	if status != int(render.Done) || !strings.Contains(said, `"verdict":"unchanged"`) {
		return nil, fmt.Sprintf("verify: exit status %d: %s", status, said)
	}
	status, said = ran("log", "export", "t", "-o", "-", "--store", "sqlite:"+db)
	if status != int(render.Done) {
		return nil, fmt.Sprintf("export: exit status %d: %s", status, said)
	}
	for line := range strings.Lines(said) {
		var row struct{ Seal struct{ Size int64 } }
		if json.Unmarshal([]byte(line), &row) == nil && row.Seal.Size > 0 {
			sizes = append(sizes, row.Seal.Size)
		}
	}
	return sizes, ""
}

// judge checks what the command has left, and runs it again.
func (s *sealing) judge(t *testing.T, db, about string, status int, said string, acknowledged bool) {
	t.Helper()
	bad := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s\nexit status %d\n%s", about, fmt.Sprintf(format, args...), status, said)
	}
	if status != int(render.Done) && status != int(render.Failed) && status != -1 || strings.Contains(said, "goroutine ") {
		bad("the exit status")
	}
	before, after := fmt.Sprint(s.sizes), fmt.Sprint(append(s.sizes[:len(s.sizes):len(s.sizes)], s.added...))
	sizes, problem := s.sealsIn(t, db)
	if got := fmt.Sprint(sizes); problem != "" || got != after && (got != before || acknowledged) {
		bad("the log has the seals %d: %s", sizes, problem)
	}
	if status, again := ran(s.args(db)...); status != int(render.Done) {
		bad("again: exit status %d: %s", status, again)
	}
	if sizes, problem := s.sealsIn(t, db); problem != "" || fmt.Sprint(sizes) != after {
		bad("again: the log has the seals %d: %s", sizes, problem)
	}
	if s.want != "" {
		out := db + ".ndjson"
		if status, said := ran("log", "export", "t", "-o", out, "--store", "sqlite:"+db); status != int(render.Done) || string(testkit.Read(t, out)) != s.want {
			bad("again: the thread is exported as other bytes: %d, %s", status, said)
		}
	}
}

// copyIn copies the log into a new directory, and returns its path.
func (s *sealing) copyIn(t *testing.T, dir string) string {
	t.Helper()
	db := filepath.Join(dir, "log.db")
	testkit.Write(t, db, testkit.Read(t, s.before))
	return db
}

// TestSealFaults makes the file-system calls of the commands that add seals fail on the files of
// the log: it fails for a while, or the disk is full from a call on, or the process is killed. A
// seal that was acknowledged must be in the log, and the next command must complete the work.
func TestSealFaults(t *testing.T) {
	for name, s := range sealings(t) {
		for kind, fault := range map[string]faultKind{
			"EIO":         faultKinds["change EIO"],
			"ENOSPC on":   {Fault: testkit.Fault{Err: syscall.ENOSPC}, of: contentCalls, on: true},
			"sync EIO on": faultKinds["sync EIO on"],
			"kill":        faultKinds["change kill"],
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				dir, faults := realTemp(t), 0
				step := 3
				if *allFaults {
					step = 1
				}
				for at := 1; !t.Failed(); at += step {
					db, n := s.copyIn(t, filepath.Join(dir, fmt.Sprint(at))), 0
					status, said := testkit.Inject(t, program(t, s.args(db)...), filepath.Dir(db), fileSystems["plain"].failing(fault, at, &n))
					s.judge(t, db, fmt.Sprintf("call %d", at), status, said, strings.Contains(said, s.said))
					if n < at {
						break // there are fewer calls
					}
					faults++
				}
				t.Logf("%d faults", faults)
				if faults == 0 {
					t.Error("no call failed")
				}
			})
		}
	}
}

// TestSealKilled kills the commands that add seals at random system calls.
func TestSealKilled(t *testing.T) {
	for name, s := range sealings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := realTemp(t)
			_, _, calls := testkit.KillAt(t, program(t, s.args(s.copyIn(t, filepath.Join(dir, "counted")))...), 0)
			times, killed := usualKills, 0
			if *allFaults {
				times = 200
			}
			for n := range times {
				db, at := s.copyIn(t, filepath.Join(dir, fmt.Sprint(n))), 1+rand.IntN(calls)
				status, said, seen := testkit.KillAt(t, program(t, s.args(db)...), at)
				if status < 0 {
					killed++
				} else {
					calls = min(calls, seen)
				}
				s.judge(t, db, fmt.Sprintf("killed at call %d", at), status, said, strings.Contains(said, s.said))
			}
			t.Logf("%d kills", killed)
			if killed < times/2 {
				t.Errorf("only %d of %d were killed in time", killed, times)
			}
		})
	}
}

// TestSealPowerLoss checks what a loss of power at any call of the commands that add seals would
// leave of the log.
func TestSealPowerLoss(t *testing.T) {
	for name, s := range sealings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := realTemp(t)
			base := filepath.Join(dir, "base")
			db := s.copyIn(t, base)
			p := newPowerLoss(t, base, fileSystems["plain"], func(output string) []string {
				return make([]string, strings.Count(output, s.said))
			})
			if status, said := testkit.Observe(t, program(t, s.args(db)...), p.entered, p.left); status != int(render.Done) || len(p.acks) != 1 {
				t.Fatalf("exit status %d\n%s", status, said)
			}
			for i, left := range p.states {
				state := filepath.Join(dir, "states", fmt.Sprint(i))
				left.Write(t, state)
				s.judge(t, filepath.Join(state, "log.db"), fmt.Sprintf("state %d of %d", i, len(p.states)), -1, "", len(left.acks) > 0)
				if err := os.RemoveAll(state); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d states", len(p.states))
			if len(p.states) < 10 {
				t.Error("there are too few states")
			}
		})
	}
}

// TestSealedTogether seals a thread in several processes, with two keys that they trust, while
// entries are appended. The log must have one seal of each size, all of one history, and every
// seal that a process has printed.
func TestSealedTogether(t *testing.T) {
	dir := realTemp(t)
	db, trust := filepath.Join(dir, "log.db"), filepath.Join(dir, "trust")
	if err := os.Mkdir(trust, 0o700); err != nil {
		t.Fatal(err)
	}
	var appending sync.Mutex
	appendOne := func() {
		appending.Lock()
		defer appending.Unlock()
		if err := appendEntries(db, []byte(`{"Thread":"t","Kind":"event","Data":{"type":"CUSTOM"}}`+"\n")); err != nil {
			t.Error(err)
		}
	}
	appendOne()
	var all sync.WaitGroup
	var mu sync.Mutex
	printed := make(map[string]int)
	names := []string{"ann", "bob"}
	for _, name := range names {
		trace(t, render.Done, "keygen", filepath.Join(dir, name))
		testkit.Write(t, filepath.Join(trust, name+".pem"), testkit.Read(t, filepath.Join(dir, name+".pub.pem")))
	}
	for _, name := range names {
		for range 2 {
			all.Go(func() {
				for range 8 {
					cmd := program(t, "log", "seal", "t", "--store", "sqlite:"+db, "--key", filepath.Join(dir, name+".key.pem"), "--trust", trust, "--format", "json")
					out, err := cmd.CombinedOutput()
					var row struct{ Verdict, Checkpoint string }
					if err != nil || json.Unmarshal(out, &row) != nil || row.Checkpoint == "" {
						t.Errorf("%v: %s", err, out)
						continue
					}
					mu.Lock()
					if row.Verdict == "written" {
						printed[row.Checkpoint]++
					}
					mu.Unlock()
					appendOne()
				}
			})
		}
	}
	all.Wait()
	status, said := ran("log", "verify", "t", "--store", "sqlite:"+db, "--trust", trust, "--format", "json")
	if status != int(render.Done) || !strings.Contains(said, `"verdict":"unchanged"`) || !strings.Contains(said, `"findings":[]`) {
		t.Errorf("exit status %d: %s", status, said)
	}
	_, said = ran("log", "export", "t", "-o", "-", "--store", "sqlite:"+db)
	last, seals := int64(0), 0
	for line := range strings.Lines(said) {
		var row struct {
			Seal struct {
				Size       int64
				Checkpoint string
			}
		}
		if json.Unmarshal([]byte(line), &row) != nil || row.Seal.Size == 0 {
			continue
		}
		if seals++; row.Seal.Size <= last || printed[row.Seal.Checkpoint] != 1 {
			t.Errorf("the seal of %d entries follows that of %d, and was printed %d times", row.Seal.Size, last, printed[row.Seal.Checkpoint])
		}
		last = row.Seal.Size
	}
	if seals != len(printed) || seals == 0 {
		t.Errorf("the log has %d seals, and %d were printed", seals, len(printed))
	}
}

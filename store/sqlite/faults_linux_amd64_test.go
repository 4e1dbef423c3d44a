package sqlite_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// everyFault makes TestSQLiteFaults inject faults into all calls instead of some.
var everyFault = flag.Bool("faults", false, "inject faults into every call")

// TestSQLiteFaults makes calls of an appender, which also seals, fail, once and several times in a row. The
// errors must say why, the log must go on, and nothing that it acknowledged may be lost.
func TestSQLiteFaults(t *testing.T) {
	t.Parallel()
	names := []string{"openat", "pread64", "pwrite64", "fsync", "fdatasync", "ftruncate"}
	calls := 0
	faulted(t, func(c testkit.Call) testkit.Fault {
		if slices.Contains(names, c.Name) {
			calls++
		}
		return testkit.Fault{}
	}, 0)
	if calls < 100 {
		t.Fatalf("the appender made %d calls", calls)
	}
	step := 1
	if !*everyFault {
		step = calls/12 + 1
	}
	for _, fails := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
		for _, times := range []int{1, 25} {
			t.Run(fmt.Sprintf("%v %d times", fails, times), func(t *testing.T) {
				t.Parallel()
				seen := 0
				for at := 1; at <= calls; at += step {
					n := 0
					seen += faulted(t, func(c testkit.Call) testkit.Fault {
						if !slices.Contains(names, c.Name) || fails == syscall.ENOSPC && (c.Name == "pread64" || c.Name == "fsync" || c.Name == "fdatasync") {
							return testkit.Fault{}
						}
						if n++; n >= at && n < at+times {
							return testkit.Fault{Err: fails}
						}
						return testkit.Fault{}
					}, times)
				}
				if seen < 3 {
					t.Errorf("only %d errors were reported", seen)
				}
			})
		}
	}
}

// TestSQLiteFull opens a log while the disk has no room for the index of its write-ahead log.
// SQLite then reports that the disk failed.
func TestSQLiteFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	newLog(t, path)
	full := 0
	status, out := testkit.Inject(t, appender(t, path), filepath.Dir(path), func(c testkit.Call) testkit.Fault {
		if c.Name == "pwrite64" && c.Path == path+"-shm" && full < 3 {
			full++
			return testkit.Fault{Err: syscall.ENOSPC}
		}
		return testkit.Fault{}
	})
	n := strings.Count(out, "error open the log ")
	if status != 0 || n == 0 || strings.Count(out, "the disk is full or failed: make room") != n {
		t.Errorf("status %d after %d faults:\n%s", status, full, out)
	}
}

// TestSQLiteFollowFaults follows a thread on a disk that fails to read for a while. Follow must
// end with an error, and must miss and repeat nothing when it is called again.
func TestSQLiteFollowFaults(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	log, err := sqlite.Open(t.Context(), path, true)
	must(t, err)
	defer log.Close()
	last := int64(0)
	more := func() {
		entries := slices.Repeat([]store.Entry{{Stream: "s", Kind: store.Event, Data: []byte("{}")}}, followEntries/2)
		if last, err = log.Append(t.Context(), store.Key{Thread: "t"}, last, entries); err != nil {
			t.Error(err)
		}
	}
	more()
	cmd := appender(t, path)
	cmd.Env = append(cmd.Env, faultVariable+"_FOLLOW=1")
	var fails atomic.Bool
	status, out := testkit.Start(t, cmd, func(line string) {
		if line == fmt.Sprint("entry ", followEntries/2) {
			fails.Store(true)
			more()
		} else if strings.HasPrefix(line, "error ") {
			fails.Store(false)
		}
	}, func(_ int, c testkit.Call) testkit.Fault {
		if c.Name == "pread64" && fails.Load() && strings.HasPrefix(c.Path, path) {
			return testkit.Fault{Err: syscall.EIO}
		}
		return testkit.Fault{}
	}, func(int, testkit.Call) {}).Wait(t)
	failed, entries := 0, ""
	for line := range strings.Lines(out + "\n") {
		if strings.HasPrefix(line, "error ") {
			failed++
			if !saysWhy(line) {
				t.Errorf("the error does not say why: %s", line)
			}
			continue
		}
		entries += line
	}
	want := ""
	for n := range followEntries {
		want += fmt.Sprintf("entry %d\n", n+1)
	}
	if status != 0 || failed == 0 || entries != want {
		t.Errorf("status %d after %d errors:\n%s", status, failed, out)
	}
}

// TestSQLiteKilledAnywhere kills an appender at system calls from its start to its end, also
// while it creates the log.
func TestSQLiteKilledAnywhere(t *testing.T) {
	t.Parallel()
	run := func(at int) (out string, calls int, path string) {
		dir := t.TempDir()
		path = filepath.Join(dir, "log")
		_, out, calls = testkit.KillAt(t, appender(t, path), at)
		return out, calls, path
	}
	out, calls, path := run(0)
	if n := left(t, path, out); n != 20*faultAppends {
		t.Fatalf("%d entries", n)
	}
	created, full := 0, 0
	for at := 1; at < calls; at += calls/30 + 1 {
		out, _, path := run(at)
		switch n := left(t, path, out); {
		case n == 20*faultAppends:
			full++
		case n == 0:
			created++
		}
	}
	if created == 0 || created+full > 28 {
		t.Errorf("%d were killed before they appended, and %d after", created, full)
	}
}

// appender returns a command that calls appendThrough.
func appender(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), faultVariable+"="+path)
	return cmd
}

// left checks that a log has what an appender acknowledged, without a gap or a duplicate, and
// the seals, and returns the number of entries.
func left(t *testing.T, path, out string) int64 {
	t.Helper()
	acknowledged := int64(0)
	var sealed []int64
	for line := range strings.Lines(out) {
		fmt.Sscanf(line, "last %d\n", &acknowledged)
		var size int64
		if _, err := fmt.Sscanf(line, "sealed %d\n", &size); err == nil {
			sealed = append(sealed, size)
		}
	}
	log, err := sqlite.Open(t.Context(), path, true)
	must(t, err)
	defer log.Close()
	position := int64(0)
	for e, err := range log.Read(t.Context(), store.Key{Thread: "t"}, 0) {
		must(t, err)
		position++
		if !strings.HasPrefix(string(e.Data), fmt.Sprintf("%d ", position)) {
			t.Fatalf("entry %d is %.20s", position, e.Data)
		}
	}
	if position < acknowledged {
		t.Errorf("the log has %d entries, and %d were acknowledged:\n%s", position, acknowledged, out)
	}
	for s, err := range log.Seals(t.Context(), store.Key{Thread: "t"}, 0) {
		must(t, err)
		if string(s.Checkpoint) != string(checkpointOf(s.Size)) || s.Size > position {
			t.Errorf("the seal of %d of %d entries is %q", s.Size, position, s.Checkpoint)
		}
		sealed = slices.DeleteFunc(sealed, func(size int64) bool { return size == s.Size })
	}
	if len(sealed) > 0 {
		t.Errorf("the seals of %d entries were acknowledged, and are missing:\n%s", sealed, out)
	}
	isIntact(t, path)
	return position
}

// faulted runs an appender with faults, checks what it said and left, and returns the
// number of errors.
func faulted(t *testing.T, fault func(testkit.Call) testkit.Fault, times int) int {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	status, out := testkit.Inject(t, appender(t, path), dir, fault)
	reported := 0
	acknowledged := int64(0)
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "error ") {
			reported++
			if !saysWhy(line) {
				t.Errorf("the error does not say why: %s", line)
			}
			continue
		}
		if strings.HasPrefix(line, "sealed ") {
			continue
		}
		var last int64
		if _, err := fmt.Sscanf(line, "last %d\n", &last); err != nil || last <= acknowledged {
			t.Fatalf("it says %q after %d", line, acknowledged)
		}
		acknowledged = last
	}
	if status != 0 && times == 0 || acknowledged < 20*faultAppends || reported > times {
		t.Errorf("status %d after %d errors:\n%s", status, reported, out)
	}
	left(t, path, out)
	return reported
}

// saysWhy reports whether an error names a cause that a person can remove.
func saysWhy(line string) bool {
	for _, text := range []string{"the disk is full", "the disk failed", "no space left on device", "input/output error", "cannot be opened", "cannot be written"} {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}

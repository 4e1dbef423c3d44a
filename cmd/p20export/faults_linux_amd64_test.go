package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
)

// fileSystem describes a kind of file system by the calls that always fail on it.
type fileSystem map[string]func(testkit.Call) syscall.Errno

func failsAlways(errno syscall.Errno) func(testkit.Call) syscall.Errno {
	return func(testkit.Call) syscall.Errno { return errno }
}

func withoutUnnamed(c testkit.Call) syscall.Errno {
	if c.Flags&unix.O_TMPFILE == unix.O_TMPFILE {
		return syscall.EOPNOTSUPP
	}
	return 0
}

var fileSystems = map[string]fileSystem{
	"plain":        {},
	"no names":     {"openat": withoutUnnamed},
	"links":        {"openat": withoutUnnamed, "renameat2": failsAlways(syscall.EINVAL)},
	"no links":     {"openat": withoutUnnamed, "renameat2": failsAlways(syscall.EINVAL), "linkat": failsAlways(syscall.EPERM)},
	"no linking":   {"linkat": failsAlways(syscall.EOPNOTSUPP)},
	"no dir sync":  {"fsync": func(c testkit.Call) syscall.Errno { return ofDirectory(c, syscall.EINVAL) }},
	"no locks":     {"flock": failsAlways(syscall.EOPNOTSUPP), "openat": withoutUnnamed},
	"only adding":  {"unlinkat": failsAlways(syscall.EPERM), "renameat2": failsAlways(syscall.EPERM), "renameat": failsAlways(syscall.EPERM), "rmdir": failsAlways(syscall.EPERM)},
	"adding named": {"unlinkat": failsAlways(syscall.EPERM), "renameat2": failsAlways(syscall.EPERM), "renameat": failsAlways(syscall.EPERM), "openat": withoutUnnamed},
}

// ofDirectory returns errno if a call is about a directory, and otherwise 0.
func ofDirectory(c testkit.Call, errno syscall.Errno) syscall.Errno {
	if info, err := os.Stat(c.Path); err == nil && info.IsDir() {
		return errno
	}
	return 0
}

func (f fileSystem) fault(c testkit.Call) testkit.Fault {
	if fails := f[c.Name]; fails != nil {
		return testkit.Fault{Err: fails(c)}
	}
	return testkit.Fault{}
}

// faultKind is a way in which a call fails.
type faultKind struct {
	testkit.Fault
	of []string // names of the calls that can fail this way; nil for all
	on bool     // all later calls of these names fail, too
	// changes reports that only calls that change files fail. To kill a program before
	// another call leaves the same files as to kill it before the next of these.
	changes bool
}

// The calls that make the content of files, give files their names, and make both durable.
var (
	contentCalls = []string{"write", "pwrite64", "copy_file_range", "ftruncate"}
	nameCalls    = []string{"openat", "mkdirat", "linkat", "renameat", "renameat2"}
	linkCalls    = []string{"linkat", "renameat", "renameat2"}
	syncCalls    = []string{"fsync", "fdatasync", "syncfs"}
	removeCalls  = []string{"unlink", "unlinkat", "rmdir"}
	changeCalls  = slices.Concat(contentCalls, nameCalls, syncCalls, removeCalls)
)

var faultKinds = map[string]faultKind{
	"EIO":         {Fault: testkit.Fault{Err: syscall.EIO}},
	"EIO on":      {Fault: testkit.Fault{Err: syscall.EIO}, on: true},
	"EINTR":       {Fault: testkit.Fault{Err: syscall.EINTR}},
	"ENOSPC":      {Fault: testkit.Fault{Err: syscall.ENOSPC}, of: slices.Concat(contentCalls, nameCalls, syncCalls), changes: true},
	"ENOSPC on":   {Fault: testkit.Fault{Err: syscall.ENOSPC}, of: slices.Concat(contentCalls, nameCalls, syncCalls), on: true, changes: true},
	"EMFILE on":   {Fault: testkit.Fault{Err: syscall.EMFILE}, of: []string{"openat"}, on: true},
	"sync EIO on": {Fault: testkit.Fault{Err: syscall.EIO}, of: syncCalls, on: true},
	"link EINTR":  {Fault: testkit.Fault{Err: syscall.EINTR}, of: linkCalls},
	"link EEXIST": {Fault: testkit.Fault{Err: syscall.EEXIST}, of: linkCalls},
	"link EMLINK": {Fault: testkit.Fault{Err: syscall.EMLINK}, of: linkCalls},
	"link EPERM":  {Fault: testkit.Fault{Err: syscall.EPERM}, of: linkCalls},
	"link EIO on": {Fault: testkit.Fault{Err: syscall.EIO}, of: linkCalls, on: true},
	"half":        {Fault: testkit.Fault{Short: true}, of: contentCalls},
	"change EIO":  {Fault: testkit.Fault{Err: syscall.EIO}, of: changeCalls, changes: true},
	"change kill": {Fault: testkit.Fault{Kill: true}, of: changeCalls, changes: true},
}

// failing returns a function for Inject that makes call number at fail. Only the calls that
// can fail in this way count; n is their number. The calls that change nothing are the same
// on all file systems, so they fail only on plain ones.
func (f fileSystem) failing(k faultKind, at int, n *int) func(testkit.Call) testkit.Fault {
	if k.of == nil && len(f) > 0 {
		k.of, k.changes = changeCalls, true
	}
	return func(c testkit.Call) testkit.Fault {
		if !k.meets(c) {
			return f.fault(c)
		}
		if *n++; *n < at || *n > at && !k.on {
			return f.fault(c)
		}
		return k.Fault
	}
}

// usualFaults are tried in every run of the tests; make faults tries all.
var usualFaults = []string{
	"plain EIO", "plain EINTR", "no names link EINTR", "plain ENOSPC", "plain ENOSPC on", "plain sync EIO on", "plain link EEXIST", "plain link EMLINK",
	"plain half", "plain change kill", "no names change kill", "adding named link EINTR",
}

// meets reports whether a call can fail this way.
func (k faultKind) meets(c testkit.Call) bool {
	if k.changes && c.Name == "openat" && c.Flags&(unix.O_CREAT|unix.O_TMPFILE) == 0 {
		return false
	}
	return k.of == nil || slices.Contains(k.of, c.Name)
}

var allFaults = flag.Bool("faults", false, "fail every call in every way on every kind of file system")

// isTried reports whether a kind of fault is tried on a kind of file system. With -faults,
// EIO includes change EIO.
func isTried(on, kind string, usual []string) bool {
	if *allFaults {
		return kind != "change EIO"
	}
	return slices.Contains(usual, on+" "+kind)
}

// sampled returns the first call that fails, and how many calls later the next one does: with
// -faults all fail, otherwise one in three, and other ones for each i.
func sampled(i int) (first, step int) {
	if *allFaults {
		return 1, 1
	}
	return 1 + i%3, 3
}

// TestFaults makes the file-system calls of the commands that write files fail, one at a
// time, in several ways, on several kinds of file systems. It checks that every file left is
// complete, that a record exists only with its artifact and envelope, that the output is true,
// and that the same command run again completes the work and leaves no temporary file.
func TestFaults(t *testing.T) {
	in, commands := writers(t)
	var cases atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d faults", cases.Load())
		if !t.Failed() && cases.Load() < 400 {
			t.Errorf("only %d faults", cases.Load())
		}
	})
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := commands[name]
			want := c.reference(t, in("reference "+name))
			for _, on := range slices.Sorted(maps.Keys(fileSystems)) {
				for i, kind := range slices.Sorted(maps.Keys(faultKinds)) {
					if !isTried(on, kind, usualFaults) {
						continue
					}
					for at, step := sampled(i); ; at += step {
						f := &faulty{c, fileSystems[on], want, in(fmt.Sprintf("%s-%s-%s-%d", name, on, kind, at)), fmt.Sprintf("%s, %s at call %d", on, kind, at)}
						if !f.run(t, faultKinds[kind], at) {
							break // there are fewer calls
						}
						if err := os.RemoveAll(f.out); err != nil {
							t.Fatal(err)
						}
						cases.Add(1)
						if t.Failed() {
							return
						}
					}
				}
			}
		})
	}
}

// faulty is a command that runs with a fault.
type faulty struct {
	written
	on    fileSystem
	want  map[string]string
	out   string
	about string
}

// run runs the command with a fault, checks the result, and repeats the command. It reports
// whether the command made enough calls to reach the fault.
func (f *faulty) run(t *testing.T, kind faultKind, at int) (met bool) {
	t.Helper()
	f.make(t, f.out)
	n, unsynced := 0, false
	fails := f.on.failing(kind, at, &n)
	status, said := testkit.Inject(t, program(t, f.args(f.out)...), f.out, func(c testkit.Call) testkit.Fault {
		fault := fails(c)
		// EINVAL means that the file system does not sync directories.
		failed := fault.Err != 0 && fault.Err != syscall.EINTR && fault.Err != syscall.EINVAL
		unsynced = unsynced || c.Name == "fsync" && failed && c.Path == f.out && n >= at
		return fault
	})
	if kind.Err == syscall.EINTR && status != int(render.Done) && f.works(t) {
		t.Errorf("%s: exit status %d, though the call can be repeated\n%s", f.about, status, said)
	}
	f.judgeRun(t, status, said, unsynced)
	return n >= at
}

// works reports whether the command succeeds on this kind of file system if no call fails
// in another way.
func (f *faulty) works(t *testing.T) bool {
	t.Helper()
	out := f.out + "-works"
	f.make(t, out)
	defer os.RemoveAll(out)
	status, _ := testkit.Inject(t, program(t, f.args(out)...), out, f.on.fault)
	return status == int(render.Done)
}

// judgeRun checks the result of the command and repeats the command. unsynced reports that
// the output directory could not be synced.
func (f *faulty) judgeRun(t *testing.T, status int, said string, unsynced bool) {
	t.Helper()
	bad := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s\nexit status %d, left %q\n%s", f.about, fmt.Sprintf(format, args...), status, slices.Sorted(maps.Keys(files(t, f.out))), said)
	}
	if strings.Contains(said, "goroutine ") {
		bad("it panicked")
	}
	if status != int(render.Done) && status != int(render.Failed) && status != -1 {
		bad("the exit status")
	}
	sets := f.judge(t, bad)
	complete := sets == len(f.sets)
	switch {
	case strings.Count(said, f.said) > sets:
		bad("something acknowledged is missing")
	case status == int(render.Done) && !complete:
		bad("success without all files")
	case status == int(render.Done) && unsynced:
		bad("success though the directory was not synced")
	case unsynced && complete && status >= 0 && f.said != "baseline written" && !strings.Contains(said, "durability_unknown: "):
		bad("the directory was not synced, and that is not said")
	case status == int(render.Failed) && complete && !strings.Contains(said, "written, durability unknown"):
		bad("a failure, and all files are there")
	case strings.Contains(said, "written, durability unknown") && len(f.sets) == 1 && !complete:
		bad("written, it says, and files are missing")
	}
	f.repeat(t, bad)
}

// repeat runs the command again.
func (f *faulty) repeat(t *testing.T, bad func(string, ...any)) {
	t.Helper()
	if f.capture {
		f.repeatCapture(t, bad)
		return
	}
	// Whatever files are left, the same command again completes the work.
	if status, again := ran(f.args(f.out)...); status != int(render.Done) {
		bad("again: exit status %d: %s", status, again)
	}
	for name, data := range files(t, f.out) {
		if f.differs(name, data, f.want) {
			bad("again: %s is left, or is another file", name)
		}
	}
	if f.judge(t, bad) < len(f.sets) {
		bad("again: files are missing")
	}
}

// judge checks the files that exist, and returns the number of complete sets.
func (f *faulty) judge(t *testing.T, bad func(string, ...any)) (sets int) {
	t.Helper()
	there := files(t, f.out)
	if f.capture {
		if _, closed := there[capture.ManifestName]; closed {
			sets = 1
			if status, said := ran("inspect", f.out); status != int(render.Done) {
				bad("the capture cannot be read: %s", said)
			}
		}
		return sets
	}
	for name, data := range f.before {
		if _, ok := there[name]; !ok {
			bad("%s is gone", name)
		}
		if there[name] == data { // it was not replaced
			delete(there, name)
		}
	}
	for _, set := range f.sets {
		missing := ""
		for _, name := range set {
			data, ok := there[name]
			switch {
			case !ok:
				missing = name
			case f.differs(name, data, f.want):
				bad("%s is not what it should be", name)
			case missing != "":
				bad("%s is there without %s", name, missing)
			}
			delete(there, name)
		}
		if missing == "" {
			sets++
		}
	}
	for name := range there {
		if !strings.HasPrefix(name, ".p20export-") {
			bad("%s is left", name)
		}
	}
	return sets
}

// repeatCapture captures again, in another directory if the first attempt left files.
func (f *faulty) repeatCapture(t *testing.T, bad func(string, ...any)) {
	t.Helper()
	if left := files(t, f.out); len(left) > 0 {
		if status, again := ran(f.args(f.out)...); status == int(render.Done) {
			bad("again: it was written over: %s", again)
		}
		f.out += "-again"
	}
	if status, again := ran(f.args(f.out)...); status != int(render.Done) || f.judge(t, bad) == 0 {
		bad("again: exit status %d: %s", status, again)
	}
}

// In a directory where files can only be added, the command writes all files, and a warning
// names the temporary files that cannot be removed.
func TestOnlyAdding(t *testing.T) {
	dir := realTemp(t)
	runs, _ := manyRuns(t, dir, "many", 1)
	for _, c := range []struct {
		on   string
		args func(out string) []string
		left int
	}{
		{"only adding", func(out string) []string { return []string{"freeze", runs, "-o", out} }, 0},
		{"no linking", func(out string) []string { return []string{"freeze", runs, "-o", out} }, 0},
		{"adding named", func(out string) []string { return []string{"report", runs, "-o", filepath.Join(out, "page.html")} }, 1},
	} {
		out := filepath.Join(dir, c.on)
		if err := os.Mkdir(out, 0o777); err != nil {
			t.Fatal(err)
		}
		status, said := testkit.Inject(t, program(t, c.args(out)...), out, fileSystems[c.on].fault)
		if warned := strings.Count(said, "temporary_left:"); status != int(render.Done) || warned != c.left {
			t.Errorf("%s: exit status %d, %d warnings\n%s", c.on, status, warned, said)
		}
		temporary := 0
		for name := range files(t, out) {
			if strings.HasPrefix(name, ".p20export-") {
				temporary++
			}
		}
		if temporary != c.left {
			t.Errorf("%s: %d temporary files", c.on, temporary)
		}
	}
	out := filepath.Join(dir, "capture")
	status, said := testkit.Inject(t, program(t, "capture", "--from", filepath.Join(dir, "many.sse"), "-o", out), out, fileSystems["only adding"].fault)
	if status != int(render.Done) || !strings.Contains(unwrapped(said), "temporary_left:"+out+"/capture.json.tmp") {
		t.Errorf("exit status %d\n%s", status, said)
	}
}

// A directory that becomes a capture while another is frozen gets no files.
func TestBecomesCapture(t *testing.T) {
	dir := realTemp(t)
	runs, _ := manyRuns(t, dir, "many", 1)
	out := filepath.Join(dir, "out")
	status, said := testkit.Inject(t, program(t, "freeze", runs, "-o", out), out, func(c testkit.Call) testkit.Fault {
		if c.Name == "write" {
			testkit.Write(t, filepath.Join(out, "capture.json"), "{}")
		}
		return testkit.Fault{}
	})
	if status != int(render.Failed) || !strings.Contains(unwrapped(said), "isinsidethecapture"+out) {
		t.Errorf("exit status %d\n%s", status, said)
	}
	testkit.RequireNames(t, out, "capture.json")
}

// unwrapped returns output without white space, because line breaks depend on the length of
// paths.
func unwrapped(output string) string { return strings.Join(strings.Fields(output), "") }

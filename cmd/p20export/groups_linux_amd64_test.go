package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
)

// The captures that grouped freezes. The runs of one capture are written together if
// there is no reason to split them, so their files are enough for a sync of the file
// system. How many of the other captures are written together depends on the time.
const (
	groupedRuns     = 30
	groupedCaptures = 10
)

// grouped returns a command that freezes many runs in a few groups.
func grouped(t *testing.T) written {
	t.Helper()
	dir := realTemp(t)
	list, _ := manyRuns(t, dir, "many", groupedRuns)
	c := written{said: "frozen  "}
	for i := range groupedRuns {
		c.sets = append(c.sets, frozenSet(fmt.Sprintf("many.%d", i+1)))
	}
	_, one := manyRuns(t, dir, "one", 1)
	for i := range groupedCaptures {
		name := fmt.Sprintf("c%d", i)
		path := filepath.Join(dir, name+".sse")
		testkit.Write(t, path, strings.ReplaceAll(string(testkit.Read(t, one)), `"r0"`, `"`+name+`"`))
		list += "\n" + path
		c.sets = append(c.sets, frozenSet(name))
	}
	testkit.Write(t, filepath.Join(dir, "list"), list)
	c.args = func(out string) []string {
		return []string{"freeze", "--from-list", filepath.Join(dir, "list"), "-o", out, "--jobs", "2", "--skip-existing"}
	}
	return c
}

// TestGroupFaults makes the calls that write a group of files fail, in ways that only a
// group meets. It checks the same as TestFaults.
func TestGroupFaults(t *testing.T) {
	c := grouped(t)
	dir := realTemp(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	want := c.reference(t, in("reference"))
	unsyncable := fileSystem{"syncfs": failsAlways(syscall.ENOSYS)}
	for name, of := range map[string]struct {
		on   fileSystem
		kind faultKind
		at   []int
	}{
		"syncfs EIO":           {nil, faultKind{Fault: testkit.Fault{Err: syscall.EIO}, of: []string{"syncfs"}}, []int{1}},
		"syncfs ENOSPC":        {nil, faultKind{Fault: testkit.Fault{Err: syscall.ENOSPC}, of: []string{"syncfs"}, on: true}, []int{1}},
		"syncfs and fsync EIO": {unsyncable, faultKind{Fault: testkit.Fault{Err: syscall.EIO}, of: []string{"fsync"}}, []int{1, 2, 3, 50, 90, 91}},
		"fsync ENOSPC":         {unsyncable, faultKind{Fault: testkit.Fault{Err: syscall.ENOSPC}, of: []string{"fsync"}, on: true}, []int{1, 50, 91}},
		"linkat EEXIST":        {nil, faultKind{Fault: testkit.Fault{Err: syscall.EEXIST}, of: []string{"linkat"}}, []int{1, 2, 3, 60}},
		"linkat EPERM":         {nil, faultKind{Fault: testkit.Fault{Err: syscall.EPERM}, of: []string{"linkat"}}, []int{1, 2, 3, 60}},
		"linkat EMLINK":        {nil, faultKind{Fault: testkit.Fault{Err: syscall.EMLINK}, of: []string{"linkat"}, on: true}, []int{1, 45}},
		"linkat EIO":           {nil, faultKind{Fault: testkit.Fault{Err: syscall.EIO}, of: []string{"linkat"}, on: true}, []int{1, 2, 3, 60}},
		"openat EMFILE":        {nil, faultKind{Fault: testkit.Fault{Err: syscall.EMFILE}, of: []string{"openat"}}, []int{1, 2, 3, 40, 80}},
		"openat ENFILE":        {nil, faultKind{Fault: testkit.Fault{Err: syscall.ENFILE}, of: []string{"openat"}, on: true}, []int{2, 40, 80}},
		"write ENOSPC":         {nil, faultKind{Fault: testkit.Fault{Err: syscall.ENOSPC}, of: []string{"write"}, on: true}, []int{1, 2, 3, 40, 80}},
		"kill":                 {nil, faultKind{Fault: testkit.Fault{Kill: true}, of: []string{"linkat"}}, []int{1, 2, 3, 45, 88}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, at := range of.at {
				f := &faulty{c, of.on, want, in(fmt.Sprintf("%s-%d", name, at)), fmt.Sprintf("%s, call %d", name, at)}
				if !f.run(t, of.kind, at) && (of.kind.of[0] != "syncfs" || syncsFileSystem(t, dir)) {
					t.Errorf("%s: there are fewer calls", f.about)
				}
			}
		})
	}
}

// rowPaths are the paths in a row.
type rowPaths struct{ Verdict, Artifact, Envelope, Record string }

// A row is written when its files are durable: the content of each file is synced before
// the file gets its name, the artifact and the envelope get theirs before the record,
// and then the directory is synced.
func TestRowsAreDurable(t *testing.T) {
	c := grouped(t)
	for name, of := range map[string]struct {
		arguments []string
		syncfs    testkit.Fault
	}{
		"by name":      {},
		"by digest":    {arguments: []string{"--name-by", "digest"}},
		"syncfs fails": {syncfs: testkit.Fault{Err: syscall.EIO}},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(realTemp(t), "made", "out")
			d := &durability{t: t, out: out, syncfs: of.syncfs}
			for _, again := range []string{"frozen", "skipped"} {
				d.reset(again)
				status, said := testkit.Observe(t, program(t, slices.Concat(c.args(out), of.arguments, []string{"--format", "json"})...), d.entered, d.left)
				if again == "frozen" && d.syncs == 0 && syncsFileSystem(t, out) {
					t.Error("the file system was not synced")
				}
				if status != int(render.Done) || d.rows != len(c.sets) {
					t.Errorf("exit status %d, %d rows\n%s", status, d.rows, said)
				}
			}
		})
	}
}

// syncsFileSystem reports whether the file system of a directory can be synced with all
// errors reported.
func syncsFileSystem(t *testing.T, dir string) bool {
	t.Helper()
	var info unix.Statfs_t
	if err := unix.Statfs(dir, &info); err != nil {
		t.Fatal(err)
	}
	return slices.Contains([]int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC}, int64(info.Type))
}

// durability follows the calls of a program that writes frozen files.
type durability struct {
	t       *testing.T
	out     string
	verdict string // of the rows
	syncfs  testkit.Fault

	written map[string]bool  // files without names that are written
	synced  map[string]bool  // files whose content is durable
	syncing map[int][]string // files that a syncfs makes durable, by thread
	named   map[string]bool  // names, which are not durable
	durable map[string]bool  // durable names
	fsyncs  map[int][]string // names that an fsync makes durable, by thread
	syncs   int              // of the file system
	said    string           // output that is not a complete row
	rows    int
}

// reset prepares for another run, which finds the names of the last run. They may not be
// durable.
func (d *durability) reset(verdict string) {
	*d = durability{t: d.t, out: d.out, syncfs: d.syncfs, verdict: verdict, named: maps.Clone(d.durable), written: map[string]bool{}, synced: map[string]bool{},
		syncing: map[int][]string{}, durable: map[string]bool{}, fsyncs: map[int][]string{}}
	if d.named == nil {
		d.named = map[string]bool{}
	}
}

func (d *durability) entered(tid int, c testkit.Call) testkit.Fault {
	switch c.Name {
	case "syncfs":
		d.syncs++
		d.syncing[tid] = slices.Collect(maps.Keys(d.written))
		return d.syncfs
	case "fsync":
		d.fsyncs[tid] = slices.Collect(maps.Keys(d.named))
	case "linkat":
		if !d.synced[c.Linked] {
			d.t.Errorf("%s gets its name before its content is synced", c.Path)
		}
		if path, ok := strings.CutSuffix(c.Path, ".record.json"); ok && !(d.named[path+".artifact.json"] && d.named[path+".envelope.ndjson"]) {
			d.t.Errorf("%s gets its name before the other files", c.Path)
		}
	case "write":
		if strings.HasPrefix(c.Path, d.out) {
			break
		}
		d.said += c.Data
		for line, rest, ok := strings.Cut(d.said, "\n"); ok; line, rest, ok = strings.Cut(d.said, "\n") {
			d.said = rest
			d.row(line)
		}
	}
	return testkit.Fault{}
}

// row checks a row that is about to be written.
func (d *durability) row(line string) {
	var row rowPaths
	if json.Unmarshal([]byte(line), &row) != nil || row.Record == "" {
		return
	}
	d.rows++
	if row.Verdict != d.verdict {
		d.t.Errorf("%s: %s", row.Record, row.Verdict)
	}
	for _, path := range []string{row.Artifact, row.Envelope, row.Record} {
		if !d.durable[path] {
			d.t.Errorf("the row of %s is written before the file is durable", path)
		}
	}
}

func (d *durability) left(tid int, c testkit.Call) {
	switch c.Name {
	case "write":
		if strings.HasPrefix(c.Path, d.out) {
			d.written[c.Path] = true
		}
	case "syncfs":
		for _, path := range d.syncing[tid] {
			d.synced[path] = true
		}
	case "linkat":
		d.named[c.Path] = true
	case "fsync":
		if c.Path != d.out {
			d.synced[c.Path] = true
			return
		}
		for _, path := range d.fsyncs[tid] {
			d.durable[path] = true
			delete(d.named, path)
		}
	}
}

// withFewFiles limits the open files of a command.
func withFewFiles(cmd *exec.Cmd) *exec.Cmd {
	cmd.Args = slices.Concat([]string{"sh", "-c", `ulimit -n 64; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:])
	cmd.Path = "/bin/sh"
	return cmd
}

// A batch needs few file descriptors if the limit is low.
func TestGroupsWithFewFiles(t *testing.T) {
	c := grouped(t)
	out := filepath.Join(realTemp(t), "out")
	if output, err := withFewFiles(program(t, c.args(out)...)).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, output)
	}
	if names := len(files(t, out)); names != 3*len(c.sets) {
		t.Errorf("%d files", names)
	}
}

// A batch that writes to more directories than it may have open closes some, and so does
// one that finds the files there.
func TestDirectoriesWithFewFiles(t *testing.T) {
	in, out := realTemp(t), realTemp(t)
	const directories = 80
	for i := range directories {
		testkit.CopyDir(t, filepath.Join(in, fmt.Sprint(i), "one-turn"), "../../discovery/captures/adk/one-turn")
	}
	for _, verdict := range []string{"frozen", "skipped"} {
		output, err := withFewFiles(program(t, "freeze", in, "-o", out, "--skip-existing")).CombinedOutput()
		if n := strings.Count(string(output), verdict+"  "); err != nil || n != directories {
			t.Errorf("%v: %d %s: %s", err, n, verdict, output)
		}
	}
}

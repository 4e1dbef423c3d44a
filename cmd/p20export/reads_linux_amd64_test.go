package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/scan"
)

// manyRuns writes a capture with the given number of runs. It returns the directory and the
// path of the response.
func manyRuns(t *testing.T, dir, name string, runs int) (capture, response string) {
	t.Helper()
	var events strings.Builder
	for i := range runs {
		fmt.Fprintf(&events, "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r%d\",\"timestamp\":1767225600000}\n\n", i)
		for _, e := range strings.Split(testkit.Message, "\n") {
			events.WriteString("data: " + e + "\n\n")
		}
		fmt.Fprintf(&events, "data: %s\n\ndata: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r%d\"}\n\n", testkit.Snapshot, i)
	}
	file := filepath.Join(dir, name+".sse")
	testkit.Write(t, file, []byte(events.String()))
	capture = filepath.Join(dir, name)
	if out, err := program(t, "capture", "--from", file, "-o", capture).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return capture, filepath.Join(capture, "response.sse")
}

// realTemp returns the path of a new temporary directory, with symbolic links resolved.
func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func trace(t *testing.T, want render.Status, args ...string) testkit.TraceResult {
	t.Helper()
	traced := testkit.Trace(t, program(t, args...))
	if traced.Status != int(want) {
		t.Fatalf("%q: exit status %d\n%s", args, traced.Status, traced.Output)
	}
	return traced
}

// TestReadsOnce checks that each command opens the response once and reads each
// byte of it once.
func TestReadsOnce(t *testing.T) {
	dir := realTemp(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	capture, response := manyRuns(t, dir, "many", 40)
	plain := in("many.sse")
	trace(t, render.Done, "freeze", capture, "-o", in("evidence"))
	trace(t, render.Done, "freeze", capture, "-o", in("one"), "--run", "#1", "--projection", "emitted-snapshot-text")
	trace(t, render.Done, "freeze", plain, "-o", in("loose"))
	damaged := in("damaged.sse")
	testkit.Write(t, damaged, append([]byte("data: early\n\n"), testkit.Read(t, plain)...))
	refused := in("refused")
	testkit.CopyDir(t, refused, "../../discovery/captures/adk/refused")
	one := in("evidence/many.7.artifact.json")
	manyRuns(t, dir, "single", 1)
	list, archive, single := in("list"), in("archive.tar"), in("single.sse")
	trace(t, render.Done, "freeze", single, "-o", in("alone"))
	testkit.Write(t, list, []byte(plain+"\n"))
	if out, err := exec.Command("tar", "-C", dir, "-cf", archive, "many").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct {
		args []string
		of   string
		want render.Status
	}{
		{[]string{"inspect", capture}, response, render.Done},
		{[]string{"inspect", plain}, plain, render.Done},
		{[]string{"lint", capture}, response, render.Done},
		{[]string{"lint", plain, "--format", "sarif"}, plain, render.Done},
		{[]string{"freeze", capture, "-o", in("again")}, response, render.Done},
		{[]string{"freeze", capture, "-o", in("third"), "--run", "#3"}, response, render.Done},
		{[]string{"freeze", capture, "-o", in("folded"), "--projection", "folded-stream"}, response, render.Negative},
		{[]string{"freeze", capture, "--inline"}, response, render.Done},
		{[]string{"freeze", "--from-list", list, "-o", in("listed")}, plain, render.Done},
		{[]string{"freeze", "--from-tar", archive, "-o", in("unpacked")}, archive, render.Done},
		{[]string{"freeze", capture, "-o", in("evidence"), "--skip-existing"}, response, render.Done},
		{[]string{"freeze", single, "-o", in("alone"), "--skip-existing"}, single, render.Done},
		{[]string{"compare", capture}, response, render.Done},
		{[]string{"compare", capture, "--contract", "assay", "--format", "junit"}, response, render.Done},
		{[]string{"compare", capture, "--write-baseline", in("baseline.json")}, response, render.Done},
		{[]string{"compare", capture, "--baseline", in("baseline.json"), "--format", "json"}, response, render.Done},
		{[]string{"compare", capture, "--baseline", in("baseline.json"), "--format", "sarif"}, response, render.Done},
		{[]string{"compare", damaged, "--format", "sarif"}, damaged, render.Done},
		{[]string{"report", capture, "-o", in("page.html")}, response, render.Done},
		{[]string{"report", capture, "-o", in("page7.html"), "--run", "#7"}, response, render.Done},
		{[]string{"report", refused, "-o", in("refused.html")}, filepath.Join(refused, "response.json"), render.Done},
		{[]string{"compact", capture, "-o", in("copy.sse")}, response, render.Done},
		{[]string{"compact", plain, "-o", in("copy.json"), "--mode", "client", "--framing", "json"}, plain, render.Done},
		{[]string{"compact", damaged, "-o", in("none.sse")}, damaged, render.Negative},
		{[]string{"lineage", capture}, response, render.Done},
		{[]string{"lineage", "--from-tar", archive, "--format", "dot"}, archive, render.Done},
		{[]string{"verify", one, "--record", in("evidence/many.7.record.json"), "--capture", capture}, response, render.Done},
		{[]string{"verify", in("evidence"), "--capture", capture}, response, render.Done},
		{[]string{"verify", dir}, response, render.Done},
		{[]string{"verify", capture, "--captures-only"}, response, render.Done},
		{[]string{"verify", in("loose"), "--capture", plain}, plain, render.Done},
		{[]string{"capture", "--from", plain, "-o", in("copy")}, plain, render.Done},
	} {
		t.Run(strings.Join(c.args[:1], " "), func(t *testing.T) {
			traced := trace(t, c.want, c.args...)
			size := int64(len(testkit.Read(t, c.of)))
			if opens, bytes := traced.Opens[c.of], traced.Bytes[c.of]; opens != 1 || bytes != size {
				t.Errorf("%q: opened %d times, %d bytes read of %d", c.args, opens, bytes, size)
			}
		})
	}
}

// freeze makes few system calls for each of many captures. The calls for 100 more captures are
// counted, so those at the start and the end do not matter. It cannot see how long a call takes,
// and it ignores calls of the Go runtime, which depend on the machine.
func TestCallsPerCapture(t *testing.T) {
	const more = 100
	dir := realTemp(t)
	capture, response := manyRuns(t, dir, "one", 1)
	names := map[uint64]string{syscall.SYS_NEWFSTATAT: "stat", syscall.SYS_OPENAT: "open", syscall.SYS_READ: "read", syscall.SYS_PREAD64: "read", syscall.SYS_CLOSE: "close", syscall.SYS_WRITE: "write"}
	runtime := []uint64{
		syscall.SYS_FUTEX, syscall.SYS_NANOSLEEP, syscall.SYS_SCHED_YIELD, syscall.SYS_EPOLL_PWAIT, syscall.SYS_GETPID, syscall.SYS_TGKILL,
		syscall.SYS_RT_SIGRETURN, syscall.SYS_RT_SIGPROCMASK, syscall.SYS_MADVISE, syscall.SYS_MMAP, syscall.SYS_CLONE,
	}
	for _, c := range []struct {
		name, path string
		want       map[string]int // for each capture
	}{
		{"file", response, map[string]int{"stat": 1, "open": 1, "read": 1, "close": 1, "write": 1}},
		{"directory", capture, map[string]int{"stat": 4, "open": 2, "read": 2, "close": 2, "write": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var calls [2]map[uint64]int
			for i := range calls {
				list := filepath.Join(t.TempDir(), "list")
				testkit.Write(t, list, []byte(strings.Repeat(c.path+"\n", (i+1)*more)))
				calls[i] = trace(t, render.Done, "freeze", "--inline", "--jobs", "1", "--from-list", list).Calls
			}
			got := map[string]int{}
			for call, n := range calls[1] {
				n -= calls[0][call]
				// A few calls of the runtime, such as those that wake the poller, have these names too.
				if n = (n + more/2) / more; n > 0 && !slices.Contains(runtime, call) {
					name, ok := names[call]
					if !ok {
						name = fmt.Sprintf("call %d", call)
					}
					got[name] += n
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("for each capture (-want +got):\n%s", diff)
			}
		})
	}
}

// freeze skips a capture directory with one run without opening its response.
func TestSkipDoesNotRead(t *testing.T) {
	dir := realTemp(t)
	capture, response := manyRuns(t, dir, "one", 1)
	out := filepath.Join(dir, "out")
	trace(t, render.Done, "freeze", capture, "-o", out)
	traced := trace(t, render.Done, "freeze", capture, "-o", out, "--skip-existing")
	if !strings.Contains(traced.Output, "skipped") || traced.Opens[response] != 0 {
		t.Errorf("opened %d times: %s", traced.Opens[response], traced.Output)
	}
	if traced.Opens[filepath.Join(capture, "capture.json")] == 0 {
		t.Error("the manifest was not opened")
	}
}

// discover reads each capture once after writing it, for both the expectations and the
// answers.
func TestDiscoverReadsOnce(t *testing.T) {
	dir := realTemp(t)
	server := answering(t, testkit.Read(t, "../../discovery/captures/adk/long-stream/response.sse"))
	testkit.Write(t, filepath.Join(dir, "scenarios.json"), []byte(`{"scenarios": [{"name": "a", "request": {}}, {"name": "b", "request": {}}]}`))
	traced := trace(t, render.Done, "discover", server, "--scenarios", filepath.Join(dir, "scenarios.json"), "-o", filepath.Join(dir, "out"), "--gate")
	for _, name := range []string{"a", "b"} {
		response := filepath.Join(dir, "out", name, "response.sse")
		// The first open is for writing.
		if opens, bytes := traced.Opens[response], traced.Bytes[response]; opens != 2 || bytes != int64(len(testkit.Read(t, response))) {
			t.Errorf("%s: opened %d times, %d bytes read", response, opens, bytes)
		}
	}
	if !strings.Contains(traced.Output, "qualifies") || !strings.Contains(traced.Output, "discovery gate") {
		t.Errorf("no answer: %s", traced.Output)
	}
}

// freeze syncs each file it writes once, or the file system once for all of them, and the
// directory once for all runs.
func TestFreezeSyncsOnce(t *testing.T) {
	dir := realTemp(t)
	capture, _ := manyRuns(t, dir, "many", 20)
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	traced := trace(t, render.Done, "freeze", capture, "-o", out)
	files := 0
	for path, n := range traced.Syncs {
		if n != 1 {
			t.Errorf("%s was synced %d times", path, n)
		}
		if path != out {
			files++
		}
	}
	wantFiles, wantFileSystems := 60, 0
	if syncsFileSystem(t, out) {
		wantFiles, wantFileSystems = 0, 1
	}
	if written, err := os.ReadDir(out); err != nil || len(written) != 60 || files != wantFiles || traced.FileSystemSyncs != wantFileSystems || traced.Syncs[out] != 1 {
		t.Errorf("%d files, %d of them synced, the file system %d times, the directory %d times (%v)", len(written), files, traced.FileSystemSyncs, traced.Syncs[out], err)
	}
}

// freeze checks the capture before writing files: for a capture with too many runs, it syncs
// nothing and leaves no directory. It syncs the parent of a directory that it creates.
func TestFreezeDecidesFirst(t *testing.T) {
	dir := realTemp(t)
	capture, _ := manyRuns(t, dir, "many", scan.MaxRuns+1)
	out := filepath.Join(dir, "made", "out")
	traced := trace(t, render.Negative, "freeze", capture, "-o", out)
	for path, n := range traced.Syncs {
		if path != dir && path != filepath.Dir(out) {
			t.Errorf("%s was synced %d times", path, n)
		}
	}
	if _, err := os.Stat(filepath.Dir(out)); !os.IsNotExist(err) || !strings.Contains(traced.Output, "runs_too_many") {
		t.Errorf("%v\n%s", err, traced.Output)
	}
	few, _ := manyRuns(t, dir, "few", 1)
	if traced := trace(t, render.Done, "freeze", few, "-o", out); traced.Syncs[dir] != 1 || traced.Syncs[filepath.Dir(out)] != 1 {
		t.Errorf("the parents were synced %v", traced.Syncs)
	}
}

// Freezing a run again writes nothing.
func TestFreezeAgain(t *testing.T) {
	dir := realTemp(t)
	capture, _ := manyRuns(t, dir, "many", 20)
	out := filepath.Join(dir, "out")
	trace(t, render.Done, "freeze", capture, "-o", out)
	traced := trace(t, render.Done, "freeze", capture, "-o", out)
	if len(traced.Syncs) != 1 || traced.Syncs[out] != 1 {
		t.Errorf("synced %v", traced.Syncs)
	}
}

// A page is written through a buffer.
func TestReportWrites(t *testing.T) {
	dir := realTemp(t)
	capture, _ := manyRuns(t, dir, "many", 20)
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	page, writes := filepath.Join(out, "page.html"), 0
	status, said := testkit.Inject(t, program(t, "report", capture, "-o", page), out, func(c testkit.Call) testkit.Fault {
		if c.Name == "write" {
			writes++
		}
		return testkit.Fault{}
	})
	if size := len(testkit.Read(t, page)); status != 0 || writes == 0 || writes > size/(64<<10)+1 {
		t.Errorf("exit status %d, %d bytes in %d writes\n%s", status, size, writes, said)
	}
}

// TestTraceCounts checks that testkit.Trace counts the reads of a program.
func TestTraceCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.txt")
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, path, slices.Repeat([]byte("x"), 100_000))
	if traced := testkit.Trace(t, exec.Command("sh", "-c", "exit 3")); traced.Status != 3 {
		t.Errorf("exit status %d", traced.Status)
	}
	traced := testkit.Trace(t, exec.Command("cat", path, path))
	if traced.Opens[path] != 2 || traced.Bytes[path] != 200_000 || len(traced.Output) != 200_000 {
		t.Errorf("opened %d times, %d bytes read, %d written", traced.Opens[path], traced.Bytes[path], len(traced.Output))
	}
}

package main

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/p20export/p20export/internal/testkit"
)

// A capture can have events that were not in the log when the server was killed. The run is
// closed without them, and the capture cannot be imported.
func TestServeCaptureAhead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, file, captures := newAgent(t), filepath.Join(dir, "events.db"), filepath.Join(dir, "captures")
	s, url := startServe(t, "sqlite:"+file, a.URL, "--captures", captures)
	startRun(t, url, "r").want(t, "2 "+testkit.Started)
	away := filepath.Join(dir, "away.db")
	if err := os.Rename(file, away); err != nil { // nothing is appended from now on
		t.Fatal(err)
	}
	close(a.release)
	for !grew(filepath.Join(captures, "*", "response.sse"), int64(len(wholeRun))) {
		time.Sleep(time.Millisecond)
	}
	s.kill(t, syscall.SIGKILL)
	s.wait(t)
	if err := os.Rename(away, file); err != nil {
		t.Fatal(err)
	}
	s, _ = startServe(t, "sqlite:"+file, a.URL, "--captures", captures)
	s.kill(t, syscall.SIGTERM)
	s.wait(t)
	if status, said := ran("log", "import", "--store", "sqlite:"+file, captures); status != 1 || !strings.Contains(said, "log_stream_closed") {
		t.Errorf("importing the capture: exit status %d: %s", status, said)
	}
	wantClosings(t, file, "p20export.owner_lost", "error")
}

// limitFiles sets the size that the files of a process may have, as a full disk would.
func limitFiles(t *testing.T, s *server, size uint64) {
	t.Helper()
	limit := unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
}

// While the log cannot be written, nothing is shown that is not in the log. When there is
// space again, the run goes on.
func TestServeFullDisk(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	a := newAgent(t)
	s, url := startServe(t, "sqlite:"+file, a.URL, "--metrics", "127.0.0.1:0")
	client := startRun(t, url, "r")
	client.want(t, "2 "+testkit.Started)
	limitFiles(t, s, 1)
	close(a.release)
	s.await(t, `"msg":"events cannot be appended to the log`)
	wantReady(t, s, http.StatusServiceUnavailable)
	reader := readThread(t, url, "0")
	reader.want(t, "2 "+testkit.Started) // and nothing else yet
	limitFiles(t, s, unix.RLIM_INFINITY)
	for _, f := range []frames{client, reader} {
		f.wantLater(t, url, "3 "+testkit.Snapshot, "4 "+testkit.Finished)
	}
	s.stop(t)
	wantClosings(t, file, "eof")
}

// A file that was removed or replaced is not written to, and the server is not ready.
func TestServeRemovedLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, away := filepath.Join(dir, "events.db"), filepath.Join(dir, "away.db")
	a := newAgent(t)
	s, url := startServe(t, "sqlite:"+file, a.URL, "--metrics", "127.0.0.1:0")
	client := startRun(t, url, "r")
	client.want(t, "2 "+testkit.Started)
	wantReady(t, s, http.StatusOK)
	if err := os.Rename(file, away); err != nil {
		t.Fatal(err)
	}
	close(a.release)
	s.await(t, `is not the file that was opened`)
	wantReady(t, s, http.StatusServiceUnavailable)
	if err := os.Rename(away, file); err != nil {
		t.Fatal(err)
	}
	client.wantLater(t, url, "3 "+testkit.Snapshot, "4 "+testkit.Finished)
	wantReady(t, s, http.StatusOK)
	s.stop(t)
}

// A write-ahead log that was removed is noticed before a run is acknowledged. What was
// acknowledged is in the log after the server was stopped.
func TestServeRemovedWAL(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	a := newAgent(t)
	s, url := startServe(t, "sqlite:"+file, a.URL, "--metrics", "127.0.0.1:0", "--drain", "0s")
	client := startRun(t, url, "r")
	client.want(t, "2 "+testkit.Started)
	wantReady(t, s, http.StatusOK)
	if err := os.Remove(file + "-wal"); err != nil {
		t.Fatal(err)
	}
	close(a.release)
	s.await(t, `-wal is not the file that was opened`)
	wantReady(t, s, http.StatusServiceUnavailable)
	s.kill(t, syscall.SIGTERM)
	if status, log := s.wait(t); status != 143 { // the run was cut off
		t.Errorf("exit status %d\n%s", status, log)
	}
	s, _ = startServe(t, "sqlite:"+file, a.URL)
	s.stop(t)
	wantClosings(t, file, "p20export.owner_lost", "error")
}

// Another name of the file of a log that is in use is refused.
func TestServeHardLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, second := filepath.Join(dir, "events.db"), filepath.Join(dir, "second.db")
	a := newAgent(t)
	s, _ := startServe(t, "sqlite:"+file, a.URL)
	if err := os.Link(file, second); err != nil {
		t.Fatal(err)
	}
	out, err := program(t, "serve", "--store", "sqlite:"+second, "--upstream", "chat="+a.URL, "--listen", "127.0.0.1:0").CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 || !strings.Contains(string(out), "has 2 names (hard links)") {
		t.Errorf("%v\n%s", err, out)
	}
	s.stop(t)
}

// A log that cannot be written is noticed when the server starts. One that exists can be
// served to readers.
func TestServeReadOnly(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	serve := program(t, "serve", "--store", "sqlite:"+file, "--upstream", "chat=http://127.0.0.1:1", "--listen", "127.0.0.1:0")
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -f 0; exec "$@"`, "sh"}, append([]string{serve.Path}, serve.Args[1:]...)...)...)
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(said), "p20export: cannot use the log") {
		t.Errorf("%v: %s", err, said)
	}
}

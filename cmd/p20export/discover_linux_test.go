package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/p20export/p20export/internal/testkit"
)

// discover shows a progress bar with the current scenario. The results of the scenarios are
// printed above the bar.
func TestTerminalDiscovering(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"type\":\"RUN_STARTED\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		if r.URL.Path == "/first" {
			<-release
		} else {
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	list := filepath.Join(dir, "list.json")
	testkit.Write(t, list, []byte(`{"scenarios": [{"name": "first", "path": "/first", "request": {}}, {"name": "second", "request": {}}, {"name": "third", "request": {}}]}`))
	screen, tty := terminal(t)
	cmd := program(t, "discover", server.URL, "--scenarios", list, "-o", filepath.Join(dir, "out"))
	cmd.Stdout, cmd.Stderr = tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close() // the screen ends when the program does
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	out := until(t, screen, "1 of 3, first: 1 event, 30 bytes")
	close(release)
	out = append(out, until(t, screen, "2 of 3, second: 1 event, 30 bytes")...)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(screen) // ends with EIO when the program is gone
	out = append(out, rest...)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit status %d, want 130", code)
	}
	for _, want := range []string{"\x1b[32mcaptured \x1b[0m first   HTTP 200, 1 event, 30 bytes\r\n", "second  HTTP 200, 1 event, 30 bytes, end cancelled\r\n", "1 scenario was not run\r\n"} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("%q is not shown: %q", want, out)
		}
	}
}

// heldHarness creates a harness whose endpoint keeps its stream open, and a list of one
// scenario. The script of the server begins with the given lines of shell.
func heldHarness(t *testing.T, begin string) (dir, list string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"type\":\"RUN_STARTED\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	dir = t.TempDir()
	testkit.Write(t, filepath.Join(dir, "harness.json"), []byte(`{"name": "mine", "integration": {"name": "p", "version": "1"}, "command": ["sh", "serve"]}`))
	testkit.Write(t, filepath.Join(dir, "serve"), []byte(begin+"\necho listening on "+server.URL+"\nwhile :; do sleep 1000; done\n"))
	list = filepath.Join(dir, "list.json")
	testkit.Write(t, list, []byte(`{"scenarios": [{"name": "one", "request": {}}]}`))
	return dir, list
}

// Ctrl-C in a terminal only signals the program. The server of the harness runs until the
// current capture is closed.
func TestTerminalCtrlC(t *testing.T) {
	t.Parallel()
	dir, list := heldHarness(t, "trap 'echo > interrupted' INT\ntrap 'echo > ended; exit' TERM")
	screen, tty := terminal(t)
	cmd := program(t, "discover", "--harness", dir, "--scenarios", list, "-o", filepath.Join(dir, "out"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close() // the screen ends when the program does
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	until(t, screen, "1 of 1, one: 1 event, 30 bytes")
	if _, err := screen.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(screen) // ends with EIO when the program is gone
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || !bytes.Contains(rest, []byte("end cancelled")) {
		t.Errorf("exit status %d, want 130; %q", code, rest)
	}
	if _, err := os.Stat(filepath.Join(dir, "interrupted")); err == nil {
		t.Error("Ctrl-C reached the server")
	}
	if _, err := os.Stat(filepath.Join(dir, "ended")); err != nil {
		t.Error(err)
	}
}

// The program waits for a server that ignores SIGTERM. A second Ctrl-C ends the program and
// the server.
func TestSecondCtrlC(t *testing.T) {
	t.Parallel()
	dir, list := heldHarness(t, "trap '' TERM\necho $$ > pid")
	screen, tty := terminal(t)
	cmd := program(t, "discover", "--harness", dir, "--scenarios", list, "-o", filepath.Join(dir, "out"))
	cmd.Stdout, cmd.Stderr = tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close() // the screen ends when the program does
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	for _, shown := range []string{"1 of 1, one: 1 event, 30 bytes", "end cancelled"} {
		until(t, screen, shown)
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = io.ReadAll(screen) // ends with EIO when the program is gone
	_ = cmd.Wait()
	pid, err := strconv.Atoi(strings.TrimSpace(string(testkit.Read(t, filepath.Join(dir, "pid")))))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("the server lives on: %v", err)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit status %d, want 130", code)
	}
}

// If the first signal does not end the program and the next one does, no temporary directory
// is left. The program is blocked because its output is not read.
func TestSecondSignalRemovesTemporary(t *testing.T) {
	t.Parallel()
	temporary := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	size, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, size)); err != nil { // it is full
		t.Fatal(err)
	}
	cmd := program(t, "discover", "http://127.0.0.1:1/")
	cmd.Env = append(cmd.Env, "TMPDIR="+temporary)
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	left := func() int {
		entries, err := os.ReadDir(temporary)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	for running := true; running; {
		if left() > 0 {
			_ = cmd.Process.Signal(os.Interrupt) // a signal that is already pending is not sent twice
		}
		select {
		case <-ended:
			running = false
		case <-time.After(time.Millisecond):
		}
	}
	if code := cmd.ProcessState.ExitCode(); code != 130 || left() != 0 {
		t.Errorf("exit status %d, want 130; %d directories are left", code, left())
	}
}

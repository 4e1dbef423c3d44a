//go:build unix

package main

import (
	"bufio"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/p20export/p20export/internal/testkit"
)

// serveKilled is a harness of three processes: a script, its server, and a child of the
// server. They write their state to descriptor 3 and ignore SIGTERM. A process that survives
// writes "left".
const serveKilled = `#!/bin/sh
echo begun >&3
trap "" TERM # which the server inherits
sh -c '(sleep 60; echo left >&3) & echo served >&3; sleep 60; echo left >&3' &
trap 'echo ending >&3' TERM
echo listening on $URL
echo listening >&3
while kill -0 $! 2>/dev/null; do wait; done
`

// TestHarnessKilled kills the program with SIGKILL at named and at random moments of the life
// of a harness. Every process of the harness, and the process that watches them, inherits the
// write end of a pipe. End of file on the pipe shows that none is left.
func TestHarnessKilled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "p20export")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(dir, "harness.json"), []byte(`{"name": "mine", "integration": {"name": "p", "version": "1"}, "command": ["sh", "serve"]}`))
	testkit.Write(t, filepath.Join(dir, "serve"), []byte(serveKilled))
	testkit.Write(t, filepath.Join(dir, "list.json"), []byte(`{"scenarios": [{"name": "one", "request": {}}]}`))

	kills := 0
	var longest time.Duration
	for _, moment := range []string{"begun", "served", "listening", "capturing", "ending"} {
		for range 10 {
			start := time.Now()
			killAt(t, path, dir, moment, 0)
			longest = max(longest, time.Since(start))
			kills++
		}
	}
	for ; kills < 100; kills++ {
		killAt(t, path, dir, "", 1+rand.N(longest))
	}
	t.Logf("%d kills", kills)
}

// killAt runs the program with the harness in dir and kills the program at the named moment,
// or after a time if after is not 0. It waits until no process is left.
func killAt(t *testing.T, path, dir, moment string, after time.Duration) {
	t.Helper()
	said := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"type\":\"RUN_STARTED\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		said <- "capturing"
		<-r.Context().Done()
	}))
	defer server.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(path, "discover", "--harness", dir, "--scenarios", filepath.Join(dir, "list.json"), "-o", filepath.Join(t.TempDir(), "out"))
	cmd.Env = append(os.Environ(), "URL="+server.URL)
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func(gone chan<- struct{}) {
		defer close(gone)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			said <- lines.Text()
		}
	}(gone)
	var timer <-chan time.Time
	if after > 0 {
		timer = time.After(after)
	}
	for running := true; running || len(said) > 0; {
		select {
		case <-timer:
			_ = cmd.Process.Kill()
		case line := <-said:
			switch {
			case line == "left":
				t.Errorf("killed at %q, %s: a process is left", moment, after)
			case line == moment:
				_ = cmd.Process.Kill()
			case line == "capturing" && moment == "ending":
				_ = cmd.Process.Signal(os.Interrupt)
			}
		case <-gone:
			running, gone = false, nil
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != -1 {
		t.Errorf("killed at %q, %s: it ended itself, with the exit status %d", moment, after, code)
	}
}

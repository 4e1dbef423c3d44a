package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// Captures that cannot be stored, from the start or from the first bytes of a response on, do
// not affect runs, their clients or the log of threads.
func TestServeFullCaptures(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"at start": "", "in a response": "/response.sse"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, a, full, n := realTemp(t), newAgent(t), false, 0
			close(a.release)
			captures, file := filepath.Join(dir, "captures"), filepath.Join(t.TempDir(), "events.db")
			testkit.Write(t, filepath.Join(captures, "note"), "not a capture")
			fails := fileSystems["plain"].failing(faultKind{Fault: testkit.Fault{Err: syscall.ENOSPC}, of: changeCalls, changes: true, on: true}, 1, &n)
			listening := make(chan string, 1)
			p := testkit.Start(t, program(t, "serve", "--store", "sqlite:"+file, "--upstream", "chat="+a.URL, "--captures", captures, "--listen", "127.0.0.1:0"), func(line string) {
				var l logLine
				if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "listening" {
					listening <- l.Address
				}
			}, func(_ int, c testkit.Call) testkit.Fault {
				if !strings.HasPrefix(c.Path, captures+"/") {
					return testkit.Fault{}
				}
				if first == "" || c.Name == "write" && strings.HasSuffix(c.Path, first) {
					full = true
				}
				if !full {
					return testkit.Fault{}
				}
				return fails(c)
			}, ignoreCall)
			select {
			case address := <-listening:
				startRun(t, "http://"+address, "r").want(t, "2 "+testkit.Started, "3 "+testkit.Snapshot, "4 "+testkit.Finished, "")
				p.Signal(t, syscall.SIGTERM)
			case <-p.Done():
			}
			if status, log := p.Wait(t); status != 0 || n == 0 || !strings.Contains(log, "no space left") || strings.Contains(log, `"msg":"exchange stored"`) {
				t.Errorf("exit status %d, %d faults\n%s", status, n, log)
			}
			wantClosings(t, file, "eof")
		})
	}
}

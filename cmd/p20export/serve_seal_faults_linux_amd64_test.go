package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// A disk that is full when a thread is to be sealed harms nothing: the thread is sealed when
// there is room again.
func TestServeSealFull(t *testing.T) {
	t.Parallel()
	private, public := sealKey(t)
	file := filepath.Join(realTemp(t), "events.db")
	var full atomic.Bool
	n := 0
	fails := fileSystems["plain"].failing(faultKind{Fault: testkit.Fault{Err: syscall.ENOSPC}, of: changeCalls, changes: true, on: true}, 1, &n)
	listening, refused, sealed := make(chan string, 1), make(chan string, 100), make(chan struct{}, 100)
	p := testkit.Start(t, program(t, "serve", "--store", "sqlite:"+file, "--allow-append", "--seal", private, "--listen", "127.0.0.1:0"), func(line string) {
		var l logLine
		switch json.Unmarshal([]byte(line), &l); {
		case l.Msg == "listening":
			listening <- l.Address
		case strings.HasPrefix(l.Msg, "thread not sealed"):
			full.Store(false)
			refused <- line
		case l.Msg == "thread sealed":
			sealed <- struct{}{}
		}
	}, func(_ int, c testkit.Call) testkit.Fault {
		if !full.Load() || !strings.HasPrefix(c.Path, file) {
			return testkit.Fault{}
		}
		return fails(c)
	}, ignoreCall)
	url := "http://" + <-listening
	for n := 0; ; n++ {
		appendRun(t, url, "t", fmt.Sprint(n))
		full.Store(true) // mostly before the thread is sealed, a moment later
		select {
		case <-sealed:
			full.Store(false)
			continue
		case line := <-refused:
			if !strings.Contains(line, "disk is full") {
				t.Errorf("the log has %s", line)
			}
		}
		break
	}
	<-sealed
	appendRun(t, url, "t", "last")
	p.Signal(t, syscall.SIGTERM)
	if status, log := p.Wait(t); status != 0 || n == 0 {
		t.Errorf("exit status %d, %d faults\n%s", status, n, log)
	}
	wantWhole(t, verified(t, "sqlite:"+file, public), "t")
}

//go:build unix

package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// scripted returns a harness that runs a shell script.
func scripted(t *testing.T, script string) *Harness {
	t.Helper()
	dir := t.TempDir()
	command, err := json.Marshal([]string{"sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(dir, HarnessName), `{"name": "mine", "integration": {"name": "p", "version": "1"}, "command": `+string(command)+`}`)
	h, err := LoadHarness(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestLoadHarness(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, HarnessName)
	_, err := LoadHarness(t.Context(), dir)
	refused(t, err, path, "no such file")
	const ok = `{"name": "mine", "integration": {"name": "p", "version": "1"}, "command": ["serve"]}`
	testkit.Write(t, path, ok)
	if h, err := LoadHarness(t.Context(), dir); err != nil || h.Name != "mine" || h.Command[0] != "serve" || h.dir != dir {
		t.Errorf("%+v, %v", h, err)
	}
	for _, c := range []struct{ old, new, why string }{
		{`["serve"]`, `[]`, "no command"},
		{`["serve"]`, `"serve"`, "command"},
		{`"mine"`, `"Mine!"`, `invalid name "Mine!"`},
		{`"mine"`, `""`, "invalid name"},
		{`"p"`, `""`, "the integration must have a name and a version"},
		{`"1"`, `""`, "the integration must have a name and a version"},
		{`"command"`, `"cmd"`, "cmd"},
	} {
		testkit.Write(t, path, strings.Replace(ok, c.old, c.new, 1))
		_, err := LoadHarness(t.Context(), dir)
		refused(t, err, path, c.why)
	}
}

const listens = "echo listening on http://127.0.0.1:1; "

// A server runs in the directory of its harness until Stop, and may keep printing.
func TestStart(t *testing.T) {
	h := scripted(t, "pwd >&2; "+listens+"head -c 1000000 /dev/zero; echo >printed; exec sleep 1000")
	printed := filepath.Join(h.dir, "printed")
	if err := syscall.Mkfifo(printed, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	server, err := h.Start(ctx, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-server.ended:
		t.Error("the server ended with the context")
	default:
	}
	if _, err := os.ReadFile(printed); err != nil { // waits until the script gets there
		t.Error(err)
	}
	if server.URL != "http://127.0.0.1:1" {
		t.Errorf("it listens on %q", server.URL)
	}
	server.Stop()
	server.Stop()
	where, err := filepath.EvalSymlinks(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	if log := server.Log(); !strings.HasPrefix(log, where+"\n") {
		t.Errorf("the log is %q", log)
	}
}

// A command with a slash is relative to the directory of the harness.
func TestStartRelative(t *testing.T) {
	h := scripted(t, "")
	testkit.Write(t, filepath.Join(h.dir, "serve"), "#!/bin/sh\n"+listens+"exec sleep 1000\n")
	if err := os.Chmod(filepath.Join(h.dir, "serve"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(h.dir))
	h.dir, h.Command = filepath.Base(h.dir), []string{"./serve"}
	server, err := h.Start(t.Context(), t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server.Stop()
}

func TestStartRefusals(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"nonsense", "echo trouble >&2; echo hello; exec sleep 1000", `mine: the first line of its output is "hello", not "listening on URL"` + "\ntrouble\n"},
		{"empty line", "echo; exec sleep 1000", `is ""`},
		{"no URL", "echo listening on port 80; exec sleep 1000", `is "listening on port 80"`},
		{"no host", "echo listening on http:///; exec sleep 1000", `is "listening on http:///"`},
		{"no line", "head -c 1000000 /dev/zero; exec sleep 1000", `is "\u0000`},
		{"ends", "echo trouble >&2; exit 3", "the server exited before it printed its URL: exit status 3\ntrouble\n"},
		{"ends well", "exit 0", "exit status 0"},
		{"ends in a line", "printf 'listening on http://127.0.0.1:1'", "the server exited before"},
		{"nonsense and ends", "echo hello", `is "hello"`},
		{"killed", "kill -9 $$", "signal: killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, err := scripted(t, c.script).Start(t.Context(), t.Context())
			if err == nil {
				server.Stop()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	h := scripted(t, "")
	h.Command = []string{"./absent"}
	if _, err := h.Start(t.Context(), t.Context()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "is it installed?") {
		t.Errorf("an absent command: %v", err)
	}
}

// Start stops waiting for a silent server at the time limit, and when the context is
// done.
func TestStartSilent(t *testing.T) {
	h := scripted(t, "exec sleep 1000")
	h.startLimit = 1
	if _, err := h.Start(t.Context(), t.Context()); err == nil || !strings.Contains(err.Error(), "within 1ns") {
		t.Errorf("late: %v", err)
	}
	h.startLimit = startLimit
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := h.Start(ctx, t.Context()); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
}

// Stop ends servers that ignore SIGTERM and child processes that a server leaves behind.
// Files that they had open are closed.
func TestStopStubborn(t *testing.T) {
	for name, script := range map[string]string{
		"server": "trap '' TERM; exec 3>alive; " + listens + "while :; do sleep 1000 3>&-; done",
		"child":  "(trap '' TERM; exec sleep 1000) >alive 2>&1 & " + listens + "wait",
	} {
		t.Run(name, func(t *testing.T) {
			h := scripted(t, script)
			h.grace = 1
			alive := filepath.Join(h.dir, "alive")
			if err := syscall.Mkfifo(alive, 0o644); err != nil {
				t.Fatal(err)
			}
			opened := make(chan *os.File)
			go func() {
				f, _ := os.Open(alive) // waits for the script
				opened <- f
			}()
			server, err := h.Start(t.Context(), t.Context())
			f := <-opened
			defer f.Close()
			if err != nil {
				t.Fatal(err)
			}
			server.Stop()
			if _, err := io.ReadAll(f); err != nil {
				t.Error(err)
			}
		})
	}
}

// After end, no process of the group is left, and no signal is sent to a group that may
// have reused its id.
func TestGroupEnd(t *testing.T) {
	g, err := newGroup()
	if err != nil {
		t.Fatal(err)
	}
	watcher := g.watcher.Process.Pid
	if group, err := syscall.Getpgid(watcher); err != nil || group != watcher {
		t.Errorf("the watcher %d is in the group %d, %v", watcher, group, err)
	}
	g.end()
	if err := syscall.Kill(watcher, 0); err != syscall.ESRCH {
		t.Errorf("the watcher is left: %v", err)
	}
	if err := g.signal(syscall.SIGTERM); err != os.ErrProcessDone {
		t.Errorf("a signal after the end: %v", err)
	}
	g.end()
}

func TestTail(t *testing.T) {
	var log tail
	for range 5 * tailBytes {
		log.Write([]byte("x"))
	}
	log.Write([]byte("end"))
	if s := log.String(); len(s) < tailBytes || len(s) > 2*tailBytes || !strings.HasSuffix(s, "xend") {
		t.Errorf("%d bytes are kept", len(s))
	}
}

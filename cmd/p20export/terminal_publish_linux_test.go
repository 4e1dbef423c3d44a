package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// frozenCopies freezes a capture and returns a directory with n copies of the artifact, and
// with the capture.
func frozenCopies(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		if status := run([]string{"freeze", committedCapture, "-o", filepath.Join(dir, fmt.Sprint(i))}, io.Discard, io.Discard); status != exitDone {
			t.Fatalf("freeze: exit status %d", status)
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "capture"), os.DirFS(committedCapture)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// verify DIR shows how many artifacts are done and how much was read. Its results go to a
// pipe that nobody reads until the line is shown.
func TestTerminalVerify(t *testing.T) {
	t.Parallel()
	cmd := program(t, "verify", frozenCopies(t, 40), "--format", "json")
	results, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	screen, tty := terminal(t)
	cmd.Stdout, cmd.Stderr = pipe, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pipe.Close()
	tty.Close() // the screen ends when the program does
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	until(t, screen, " of 40, ")
	until(t, screen, " bytes read, ")
	go io.Copy(io.Discard, screen)
	if _, err := io.Copy(io.Discard, results); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Commands that write files show this as a step of its own. The test holds the lock of the
// directory, so that the files cannot get their names.
func TestTerminalPublishing(t *testing.T) {
	t.Parallel()
	frozen := frozenCopies(t, 1)
	log := filepath.Join(t.TempDir(), "log.db")
	if err := appendEntries(log, []byte(entryLine("s1", "event", testkit.Started)+entryLine("s1", "event", testkit.Finished))); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		want string
		args []string
	}{
		{"writing %s: 0 of 1 run,", []string{"freeze", committedCapture, "-o", "."}},
		{"verifying %s: 1 of 1 event,", []string{"assay", filepath.Join(frozen, "0"), "--import-time", "2026-01-31T12:00:00Z", "--bundle", "x.tar.gz"}},
		{"writing %s: 1 of 1 event,", []string{"assay", filepath.Join(frozen, "0"), "--import-time", "2026-01-31T12:00:00Z", "--ndjson", "-o", "x.ndjson"}},
		{"writing %s: ", []string{"report", committedCapture, "-o", "x.html"}},
		{"writing %s: 2 of 2 entries,", []string{"log", "export", "t", "--store", "sqlite:" + log, "-o", "x.ndjson.zst"}},
	} {
		dir := t.TempDir()
		last := len(test.args) - 1
		test.args[last] = filepath.Join(dir, test.args[last])
		lock, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		cmd := program(t, test.args...)
		screen, tty := terminal(t)
		cmd.Stderr = tty
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tty.Close() // the screen ends when the program does
		defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGKILL) }).Stop()
		until(t, screen, fmt.Sprintf(test.want, filepath.Base(test.args[last])))
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_UN); err != nil {
			t.Fatal(err)
		}
		go io.Copy(io.Discard, screen)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%q: %v", test.args, err)
		}
	}
}

// log export shows how many entries were written. The pipe that it writes to is full until the
// line is shown, so that some are left.
func TestTerminalExport(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log.db")
	log, err := sqlite.Open(t.Context(), file, true)
	if err != nil {
		t.Fatal(err)
	}
	const entries = 1500
	list := make([]store.Entry, entries)
	for i := range list {
		list[i] = store.Entry{Stream: "s", Kind: store.Event, Data: fmt.Appendf(nil, `{"type":"RAW","filler":"%0200d"}`, i)}
	}
	if _, err := log.Append(t.Context(), store.Key{Thread: "t"}, 0, list); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	results, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	screen, tty := terminal(t)
	cmd := program(t, "log", "export", "t", "-o", "-", "--store", "sqlite:"+file)
	cmd.Stdout, cmd.Stderr = pipe, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pipe.Close()
	tty.Close() // the screen ends when the program does
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	seen := until(t, screen, " of 1,500 entries, ")
	if !regexp.MustCompile(`writing standard output: [1-9][0-9]{0,2} of 1,500 entries, `).Match(seen) {
		t.Errorf("%q", seen)
	}
	shown := make(chan string)
	go func() {
		rest, _ := io.ReadAll(screen) // ends with EIO when the last writer is gone
		shown <- string(rest)
	}()
	text, err := io.ReadAll(results)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if n := bytes.Count(text, []byte("\n")); n != entries+2 {
		t.Errorf("%d lines, want %d", n, entries+2)
	}
	if _, last, removed := cutLast(<-shown, eraseLine); !removed || !strings.Contains(last, "  entries   1,500, ") {
		t.Errorf("the progress line stays, or there is no summary: %q", last)
	}
}

// cutLast is like strings.Cut, with the last occurrence of sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

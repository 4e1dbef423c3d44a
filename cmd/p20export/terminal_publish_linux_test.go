package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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
	for _, test := range []struct {
		want string
		args []string
	}{
		{"writing %s: 0 of 1 run,", []string{"freeze", committedCapture, "-o", "."}},
		{"verifying %s: 1 of 1 event,", []string{"assay", filepath.Join(frozen, "0"), "--import-time", "2026-01-31T12:00:00Z", "--bundle", "x.tar.gz"}},
		{"writing %s: 1 of 1 event,", []string{"assay", filepath.Join(frozen, "0"), "--import-time", "2026-01-31T12:00:00Z", "--ndjson", "-o", "x.ndjson"}},
		{"writing %s: ", []string{"report", committedCapture, "-o", "x.html"}},
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

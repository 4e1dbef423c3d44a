package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// On a terminal, log delete asks before it deletes. Only y deletes.
func TestLogDeleteAsks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	if err := appendEntries(file, []byte(entryLine("s1", "event", testkit.Started))); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		answer string // or a signal if it is empty
		status int
	}{{"", 130}, {"\n", exitNegative}, {"no\n", exitNegative}, {"Y\n", exitDone}} {
		screen, tty := terminal(t)
		cmd := program(t, "log", "delete", "t", "--store", "sqlite:"+file)
		var out bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, &out, tty
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tty.Close() // the screen ends when the program does
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		until(t, screen, `Delete thread "t" with 1 entry? They cannot be restored. [y/N] `)
		var err error
		if test.answer == "" {
			err = cmd.Process.Signal(syscall.SIGINT)
		} else {
			_, err = io.WriteString(screen, test.answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(screen) // ends with EIO when the last writer is gone
		_ = cmd.Wait()
		deleted := strings.HasPrefix(out.String(), "deleted   t\n")
		if got := cmd.ProcessState.ExitCode(); got != test.status || deleted != (got == exitDone) {
			t.Errorf("%q: exit status %d, want %d\n%s%s", test.answer, got, test.status, out.String(), rest)
		}
	}
}

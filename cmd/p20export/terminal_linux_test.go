package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/p20export/p20export/internal/testkit"
)

// patience is how long a test waits for a program that hangs.
const patience = 5 * time.Minute

// terminal opens a pseudoterminal. Output that a program writes to tty can be read from
// screen.
func terminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100}); err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}

// program returns a command that runs the program as a separate process.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "p20export")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	return cmd
}

// shown runs a command on a terminal and returns its output without the control sequences of
// the progress line, which appears if the command takes long.
func shown(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	screen, tty := terminal(t)
	cmd.Stdout, cmd.Stderr = tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan string)
	go func() {
		out, _ := io.ReadAll(screen) // ends with EIO when the last writer is gone
		done <- string(out)
	}()
	_ = cmd.Wait()
	tty.Close()
	out := <-done
	if slices.Contains(cmd.Env, "TERM=dumb") {
		return out // there is no progress line
	}
	return strings.ReplaceAll(out, eraseLine, "")
}

// eraseLine removes the progress line from the terminal.
const eraseLine = "\x1b[1A\x1b[J"

// until reads from a terminal until a text appears, and returns everything read.
func until(t *testing.T, screen *os.File, want string) (out []byte) {
	t.Helper()
	for buf := make([]byte, 4096); !bytes.Contains(out, []byte(want)); {
		n, err := screen.Read(buf)
		if err != nil {
			t.Fatalf("%q was not shown (%v): %q", want, err, out)
		}
		out = append(out, buf[:n]...)
	}
	return out
}

var colour = regexp.MustCompile("\x1b\\[[0-9]*m")

// On a terminal, verdicts have colours, and control characters of the input are escaped.
func TestTerminalColour(t *testing.T) {
	hostile := filepath.Join(t.TempDir(), "hostile.ndjson")
	testkit.Write(t, hostile, []byte("{\"type\":\"RUN_STARTED\",\"threadId\":\"\\u001b[31mt\",\"runId\":\"r\u202e\"}\n{\"type\":\"RUN_ERROR\",\"message\":\"\\u001b]0;title\\u0007\"}\n"))
	out := shown(t, program(t, "freeze", hostile, "-o", t.TempDir()))
	if !strings.Contains(out, "\x1b[31mrefused") {
		t.Errorf("no colour on a terminal: %q", out)
	}
	if rest := colour.ReplaceAllString(out, ""); strings.ContainsAny(rest, "\x1b\x07\u202e") {
		t.Errorf("the input reaches the terminal: %q", rest)
	}
	for _, plain := range []string{"NO_COLOR=1", "TERM=dumb"} {
		cmd := program(t, "freeze", hostile, "-o", t.TempDir())
		cmd.Env = append(cmd.Env, plain)
		if out := shown(t, cmd); strings.Contains(out, "\x1b") || !strings.Contains(out, "refused") {
			t.Errorf("with %s: %q", plain, out)
		}
	}
}

// capture shows its progress and removes the line at the end.
func TestTerminalProgress(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"type\":\"RUN_STARTED\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	request := filepath.Join(t.TempDir(), "request.json")
	testkit.Write(t, request, []byte("{}"))
	dir := filepath.Join(t.TempDir(), "capture")
	screen, tty := terminal(t)
	cmd := program(t, "capture", server.URL, "--input", request, "-o", dir)
	cmd.Stderr = tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close() // the screen ends when the program does
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	until(t, screen, "capturing: 1 event, 30 bytes")
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, screen)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit status %d, want 130", code)
	}
	if _, err := os.Stat(filepath.Join(dir, "capture.json")); err != nil {
		t.Error(err)
	}
}

// A batch shows its progress below the results, and how fast it was at the end.
func TestTerminalBatch(t *testing.T) {
	t.Parallel()
	capture, err := filepath.Abs("../../discovery/captures/adk/one-turn")
	if err != nil {
		t.Fatal(err)
	}
	empty := strings.Repeat("\n", 64<<10) // this much of a list is read before its first entry is used
	for _, redirected := range []bool{false, true} {
		screen, tty := terminal(t)
		cmd := program(t, "freeze", "--from-list", "-", "-o", t.TempDir(), "--name-by", "digest")
		var out bytes.Buffer
		if cmd.Stdout, cmd.Stderr = tty, tty; redirected {
			cmd.Stdout = &out
		}
		list, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tty.Close() // the screen ends when the program does
		defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
		if _, err := io.WriteString(list, empty+strings.Repeat(capture+"\n", 40)); err != nil {
			t.Fatal(err)
		}
		seen := until(t, screen, "captures: 40, ")
		list.Close()
		rest, _ := io.ReadAll(screen) // ends with EIO when the last writer is gone
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, rest...)
		if !redirected {
			out.Write(seen)
		} else if bytes.Contains(seen, []byte("artifact")) {
			t.Errorf("results were written to standard error: %q", seen)
		}
		if n := strings.Count(out.String(), "  run 1  run-one-turn"); n != 40 {
			t.Errorf("%d results: %q", n, out.String())
		}
		if !regexp.MustCompile(`captures: 40 in [0-9.]+m?s, [0-9.,]+/s: 40 frozen\r\n`).Match(rest) {
			t.Errorf("%q", rest)
		}
		if !redirected && !bytes.Contains(rest, []byte("40 runs of 40 captures: 40 frozen, 0 refused, 0 failed")) {
			t.Errorf("no summary: %q", rest)
		}
	}
}

// The name of a file cannot control the terminal in the progress line, which is removed at the
// end.
func TestTerminalReading(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "hostile\x1b[2J\u202e.ndjson")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	screen, tty := terminal(t)
	cmd := program(t, "freeze", pipe, "-o", t.TempDir())
	cmd.Stdout, cmd.Stderr = tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close() // the screen ends when the program does
	defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
	w, err := os.OpenFile(pipe, os.O_RDWR, 0) // does not wait for the program
	if err != nil {
		t.Fatal(err)
	}
	seen := until(t, screen, `reading hostile\u001b[2J\u202e.ndjson`)
	_, _ = io.WriteString(w, "{\"type\":\"RUN_STARTED\"}\n")
	w.Close()
	rest, _ := io.ReadAll(screen) // ends with EIO when the last writer is gone
	_ = cmd.Wait()
	out := string(append(seen, rest...))
	before, after, removed := strings.Cut(out, eraseLine)
	for removed && strings.Contains(after, eraseLine) {
		_, after, removed = strings.Cut(after, eraseLine)
	}
	if !removed || strings.Contains(after, "reading") || !strings.Contains(after, "refused") {
		t.Errorf("the progress line stays: %q", out)
	}
	plain := colour.ReplaceAllString(strings.ReplaceAll(before+after, "\r\n", "\n"), "")
	if i := strings.IndexFunc(plain, unshowable); i >= 0 {
		t.Errorf("the input reaches the terminal: %q", out)
	}
}

// Excerpts of the input in findings cannot control the terminal in any format.
func TestTerminalExcerpts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hostile := filepath.Join(dir, "hostile\x1b[2J\u202e.json")
	testkit.Write(t, hostile, []byte("{\"a\x7f\": 1, \"\u202e\u2066\u0085\u009b2J\u200f\ufeff\": 2, \"\x1b]0;title\x07\": 3}"))
	cut := filepath.Join(dir, "cut.json")
	testkit.Write(t, cut, []byte(`{"`+strings.Repeat("\u009b", 300)+`": {"state": "`+strings.Repeat("\x1b[2J", 300)+"\xff\""))
	envelope := filepath.Join(dir, "envelope.ndjson")
	testkit.Write(t, envelope, []byte("{\"type\":\"RAW\",\"\u009b\":\"\u202e\"}\n{\"type\":\"\x1b[31m\"}\n"))
	for _, f := range []string{"text", "json", "sarif", "junit"} {
		out := shown(t, program(t, "validate", "--format", f, hostile, cut, envelope))
		rest := colour.ReplaceAllString(out, "")
		if i := strings.IndexFunc(strings.ReplaceAll(rest, "\r\n", "\n"), unshowable); i >= 0 {
			t.Errorf("%s: the input reaches the terminal: %q", f, rest)
		}
		if f != "text" {
			continue
		}
		for _, want := range []string{"\x1b[31m^\x1b[0m", `1 | {"a\u007f": 1, "\u202e`, `2 | {"type":"\u001b[31m"}`} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not shown: %q", want, out)
			}
		}
	}
	for _, plain := range []string{"NO_COLOR=1", "TERM=dumb"} {
		cmd := program(t, "validate", hostile)
		cmd.Env = append(cmd.Env, plain)
		if out := shown(t, cmd); strings.Contains(out, "\x1b") || !strings.Contains(out, " ^\r\n") {
			t.Errorf("with %s: %q", plain, out)
		}
	}
}

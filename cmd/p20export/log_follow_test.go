package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"iter"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// entryLine returns an entry for appendEntries.
func entryLine(stream, kind, data string) string {
	return fmt.Sprintf(`{"thread":"t","stream":%q,"kind":%q,"data":%s}`+"\n", stream, kind, data)
}

// follower is a log cat --follow in another process.
type follower struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *bufio.Scanner
	stderr bytes.Buffer
}

// follow starts following a thread of the log in the file.
func follow(t *testing.T, file string, args ...string) *follower {
	t.Helper()
	f := &follower{t: t, cmd: program(t, append([]string{"log", "cat", "t", "--store", "sqlite:" + file, "--follow"}, args...)...)}
	f.cmd.Stderr = &f.stderr
	out, err := f.cmd.StdoutPipe()
	if err == nil {
		err = f.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.cmd.Process.Kill(); _ = f.cmd.Wait() })
	f.out = bufio.NewScanner(out)
	return f
}

// expect reads lines and compares them.
func (f *follower) expect(want ...string) {
	f.t.Helper()
	for _, line := range want {
		if !f.out.Scan() || f.out.Text() != line {
			f.t.Fatalf("followed %q (%v), want %q\n%s", f.out.Text(), f.out.Err(), line, f.stderr.String())
		}
	}
}

// ended checks the exit status, and that nothing more was printed.
func (f *follower) ended(status int) {
	f.t.Helper()
	if f.out.Scan() {
		f.t.Errorf("followed %q, want the end", f.out.Text())
	}
	_ = f.cmd.Wait()
	said := ""
	if status == 130 {
		said = "p20export: interrupted by SIGINT\n"
	}
	if got := f.cmd.ProcessState.ExitCode(); got != status || f.stderr.String() != said {
		f.t.Errorf("exit status %d, want %d\n%s", got, status, f.stderr.String())
	}
}

// log cat --follow prints each event when another process has appended it.
func TestLogFollow(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	add := func(stream, kind, data string) {
		t.Helper()
		if err := appendEntries(file, []byte(entryLine(stream, kind, data))); err != nil {
			t.Fatal(err)
		}
	}
	other := strings.ReplaceAll(testkit.Started, `"r"`, `"other"`)
	add("s1", "input", "{}")
	add("s1", "event", testkit.Started)
	all, run := follow(t, file), follow(t, file, "--run", "r")
	all.expect(testkit.Started)
	run.expect(testkit.Started)
	add("s2", "event", other)
	all.expect(other)
	add("s1", "event", `{"type":"STEP_STARTED","stepName":"a"}`)
	all.expect(`{"type":"STEP_STARTED","stepName":"a"}`)
	run.expect(`{"type":"STEP_STARTED","stepName":"a"}`)
	add("s2", "event", testkit.Failed)
	add("s1", "event", testkit.Finished)
	all.expect(testkit.Failed, testkit.Finished)
	run.expect(testkit.Finished)
	run.ended(exitDone)
	again := follow(t, file, "--run", "r", "--after", "2") // the run has ended
	again.expect(`{"type":"STEP_STARTED","stepName":"a"}`, testkit.Finished)
	again.ended(exitDone)
	if err := all.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	all.ended(130)
}

// A run that never ends is followed to the end of its stream, or to its next run.
func TestLogFollowCutRun(t *testing.T) {
	t.Parallel()
	for _, next := range []string{entryLine("s1", "end", `"error"`), entryLine("s1", "event", strings.ReplaceAll(testkit.Started, `"r"`, `"other"`))} {
		file := filepath.Join(t.TempDir(), "events.db")
		if err := appendEntries(file, []byte(entryLine("s1", "event", testkit.Started))); err != nil {
			t.Fatal(err)
		}
		f := follow(t, file, "--run", "r")
		f.expect(testkit.Started)
		if err := appendEntries(file, []byte(next)); err != nil {
			t.Fatal(err)
		}
		f.ended(exitDone)
	}
}

// lateEnd is a log to which entries are appended when someone begins to follow it.
type lateEnd struct {
	store.Log
	entries []store.Entry
}

func (l *lateEnd) Follow(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	if _, err := l.Append(ctx, key, 1, l.entries); err != nil {
		return func(yield func(*store.Entry, error) bool) { yield(nil, err) }
	}
	return l.Log.Follow(ctx, key, after)
}

// A run that ends at a position before that of --after is not followed any longer.
func TestLogFollowAfterEnd(t *testing.T) {
	t.Parallel()
	event := func(data string) store.Entry {
		return store.Entry{Stream: "s", Kind: store.Event, Data: []byte(data)}
	}
	log := &lateEnd{Log: memory.New(), entries: []store.Entry{event(testkit.Finished)}}
	key := store.Key{Thread: "t"}
	if _, err := log.Append(t.Context(), key, 0, []store.Entry{event(testkit.Started)}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	format := render.Text
	c := catFlags{after: 5, run: "r", follow: true, framing: string(capture.NDJSON), format: &format}
	var out bytes.Buffer
	p := render.New(&out, format, build.Tool())
	if err := c.cat(ctx, &storeFlags{}, log, store.Thread{Key: key, Last: 1}, p); err != nil || p.Close(nil) != nil || out.Len() > 0 {
		t.Errorf("%v: %s", err, out.String())
	}
}

// If its reader is gone, log cat ends without a message, even if no event follows.
func TestLogFollowClosedPipe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	if err := appendEntries(file, []byte(entryLine("s1", "event", testkit.Started))); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "log", "cat", "t", "--store", "sqlite:"+file, "--follow")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if _ = cmd.Wait(); stderr.Len() > 0 || cmd.ProcessState.ExitCode() != exitDone {
		t.Errorf("%v: %s", cmd.ProcessState, stderr.String())
	}
}

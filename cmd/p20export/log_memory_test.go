package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/p20export/p20export/store"
)

// measured is the program, but reports its peak of memory in the file that the variable
// MEMORY_FILE names.
func measured() {
	status := run(os.Args[1:], os.Stdout, os.Stderr)
	text, err := os.ReadFile("/proc/self/status")
	if err == nil {
		err = os.WriteFile(os.Getenv("MEMORY_FILE"), text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 100
	}
	os.Exit(status)
}

// TestLogMemory requires that the peak of commands which read or write whole threads does not grow
// with the thread. A soft limit makes it depend less on when a busy machine collects garbage.
func TestLogMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the peak of memory is in /proc, which only Linux has")
	}
	t.Parallel()
	const few, many = 2, 4 // messages of the largest size
	small, large := peaks(t, few), peaks(t, many)
	for i, peak := range large {
		t.Logf("command %d: %d MiB with %d messages of 64 MiB, %d MiB with %d", i+1, small[i]>>20, few, peak>>20, many)
		if more := peak - small[i]; more > (many-few)*store.MaxEntryBytes/2 {
			t.Errorf("command %d needs %d MiB more for a larger thread", i+1, more>>20)
		}
	}
}

// peaks returns the peaks of memory in bytes of commands about a thread with large messages.
func peaks(t *testing.T, large int) (list []int64) {
	t.Helper()
	dir := t.TempDir()
	capture, file := filepath.Join(dir, "run.ndjson"), filepath.Join(dir, "thread.ndjson.zst")
	log, copied := "sqlite:"+filepath.Join(dir, "events.db"), "sqlite:"+filepath.Join(dir, "copied.db")
	writeLarge(t, capture, large)
	for _, args := range [][]string{
		{"log", "import", capture, "--store", log},
		{"log", "cat", "t", "--format", "json", "--store", log},
		{"log", "export", "t", "-o", file, "--store", log},
		{"log", "import", file, "--store", copied},
		{"log", "restore", "t", "--store", log},
	} {
		list = append(list, peakOf(t, dir, args...))
	}
	return list
}

// writeLarge writes a run with custom events of the largest size, and others. It keeps little in
// memory, because a process begins with the peak of the one that starts it.
func writeLarge(t *testing.T, file string, large int) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f) // which keeps the first error
	fmt.Fprintln(w, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
	for i := range large {
		text := `{"type":"CUSTOM","name":"large","value":"`
		w.WriteString(text)
		block := strings.Repeat(fmt.Sprintf("%08d", i), 128)
		for range (store.MaxEntryBytes - len(text) - 2) / len(block) {
			w.WriteString(block)
		}
		fmt.Fprintln(w, `"}`)
		fmt.Fprintln(w, `{"type":"CUSTOM","name":"small","value":1}`)
	}
	fmt.Fprintln(w, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// peakOf runs the program and returns the peak of its memory in bytes.
func peakOf(t *testing.T, dir string, args ...string) int64 {
	t.Helper()
	self := program(t).Path
	name := filepath.Join(filepath.Dir(self), "measured")
	if err := os.Rename(self, name); err != nil {
		t.Fatal(err)
	}
	// A process begins with the peak of the one that starts it, so that is a small one.
	cmd := exec.Command("sh", append([]string{"-c", `"$@"; exit $?`, "sh", name}, args...)...)
	var stderr bytes.Buffer
	report := filepath.Join(dir, "status")
	cmd.Stderr = &stderr
	cmd.Env = append(os.Environ(), "MEMORY_FILE="+report, "GOMEMLIMIT=160MiB")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), "kB")), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

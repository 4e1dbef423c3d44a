package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
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

// TestLogMemory requires that commands which read or write whole threads need memory for a few
// entries of the largest size, and not for the thread.
func TestLogMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the peak of memory is in /proc, which only Linux has")
	}
	t.Parallel()
	const (
		large  = 16 // messages of 16 MiB
		within = 160 << 20
	)
	dir := t.TempDir()
	url := "sqlite:" + filepath.Join(dir, "events.db")
	makeLarge(t, filepath.Join(dir, "events.db"), large)
	file := filepath.Join(dir, "thread.ndjson")
	for _, test := range [][]string{
		{"log", "cat", "t", "--store", url},
		{"log", "cat", "t", "--store", url, "--format", "json"},
		{"log", "export", "t", "-o", file, "--store", url},
		{"log", "export", "t", "-o", file + ".zst", "--store", url},
		{"log", "import", file, "--store", "sqlite:" + filepath.Join(dir, "imported.db")},
		{"log", "import", file, "--store", "sqlite:" + filepath.Join(dir, "imported.db")},
		{"log", "import", file + ".zst", "--store", "sqlite:" + filepath.Join(dir, "again.db")},
		{"log", "pack", "t", "--store", url},
		{"log", "cat", "t", "--store", url},
		{"log", "restore", "t", "--store", url},
	} {
		if peak := peakOf(t, dir, test...); peak > within {
			t.Errorf("%s: the peak is %d MiB, want at most %d", strings.Join(test, " "), peak>>20, within>>20)
		} else {
			t.Logf("%s: the peak is %d MiB", strings.Join(test[:2], " "), peak>>20)
		}
	}
}

// makeLarge makes a log with a thread of custom events of the largest size, and of others.
func makeLarge(t *testing.T, file string, large int) {
	t.Helper()
	log, err := sqlite.Open(t.Context(), file, true)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	last := int64(0)
	add := func(kind store.Kind, data string) {
		t.Helper()
		if last, err = log.Append(t.Context(), store.Key{Thread: "t"}, last, []store.Entry{{Stream: "s", Kind: kind, Data: []byte(data)}}); err != nil {
			t.Fatal(err)
		}
	}
	add(store.Input, `{"threadId":"t","runId":"r","state":{},"messages":[],"tools":[],"context":[],"forwardedProps":{}}`)
	add(store.Event, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
	for i := range large {
		text := `{"type":"CUSTOM","name":"large","value":"`
		add(store.Event, text+strings.Repeat(fmt.Sprintf("%08d", i), (store.MaxEntryBytes-len(text)-2)/8)+`"}`)
		add(store.Event, `{"type":"CUSTOM","name":"small","value":1}`)
	}
	add(store.Event, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)
	add(store.End, "eof")
}

// peakOf runs the program and returns the peak of its memory in bytes.
func peakOf(t *testing.T, dir string, args ...string) int64 {
	t.Helper()
	cmd := program(t, args...)
	name := filepath.Join(filepath.Dir(cmd.Path), "measured")
	if err := os.Rename(cmd.Path, name); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	report := filepath.Join(dir, "status")
	cmd.Path, cmd.Args[0], cmd.Stderr = name, name, &stderr
	cmd.Env = append(cmd.Env, "MEMORY_FILE="+report)
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

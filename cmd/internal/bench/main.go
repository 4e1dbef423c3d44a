// Command bench measures the program: its start-up, and the time, throughput and peak
// memory of each step on a one-gigabyte capture, of compact compared with inspect, of
// validate on hostile files, and of the largest bundles for Assay.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	program := flag.String("program", "p20export", "the program to measure")
	hello := flag.String("hello", "hello", "the program in testdata/hello, for comparing the start-up")
	size := flag.Int64("bytes", 1_000_000_000, "size of the capture")
	judge := flag.String("judge", "judge", "Assay's own verifier, for comparison")
	flag.Parse()
	err := benchStartup(*program, *hello)
	if err == nil {
		err = benchCapture(*program, *size)
	}
	if err == nil {
		err = benchCompact(*program, *size)
	}
	if err == nil {
		err = benchHostile(*program)
	}
	if err == nil {
		err = benchBundles(*program, *judge)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measure runs a command and returns its duration in seconds and its peak memory in MiB.
// It fails if the exit status is not status.
func measure(status int, program string, args ...string) (seconds, mib float64, err error) {
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	started := time.Now()
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == status {
		err = nil
	}
	if err == nil && cmd.ProcessState.ExitCode() != status {
		err = fmt.Errorf("exit status %d, not %d", cmd.ProcessState.ExitCode(), status)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	return time.Since(started).Seconds(), float64(rss) / 1024, nil
}

func constant(s string) func(int) string { return func(int) string { return s } }

// benchHostile measures validate on the malformed files that are most expensive to refuse.
// The goal is at most a second and 64 MiB for each. The files are written in parts, since
// the peak memory of a child process is at least that of this program.
func benchHostile(program string) error {
	dir, err := os.MkdirTemp("", "p20export-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	const largest = 8 << 20
	fmt.Printf("\nvalidate of hostile files\n%-46s %8s %14s\n", "file", "seconds", "peak RSS (MiB)")
	for _, file := range []struct {
		name, before string
		part         func(i int) string
		times        int
		after        string
	}{
		{"8 MiB and a byte, one long string", `{"x":"`, constant("aaaaaaa\n"), largest / 8, `"}`},
		{"8 MiB and a byte, brackets", "", constant("[["), largest/2 + 1, ""},
		{"200,000 brackets", "", constant("["), 200_000, ""},
		{"1,000,000 findings: one repeated key", `{"":0`, constant(`,"":0`), 1_000_000, "}"},
		{"1,000,000 findings: messages of a wrong type", `{"messages":[0`, constant(",0"), 1_000_000, "]}"},
		{"800,000 findings: families in an unknown key", `{"x":[0`, constant(`,{"raw":0}`), 800_000, "]}"},
		{"780,000 findings: different keys, near 8 MiB", `{"x":0`, func(i int) string { return fmt.Sprintf(`,"%x":0`, i) }, 780_000, "}"},
		{"1,000,000 findings: events of an envelope", "", constant(`{"type":"RAW"}` + "\n"), 1_000_000, ""},
		{"1,000,000 findings: messages of an envelope", `{"type":"MESSAGES_SNAPSHOT","messages":[0`, constant(",0"), 1_000_000, "]}"},
	} {
		path := filepath.Join(dir, "hostile")
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		w := bufio.NewWriter(f)
		w.WriteString(file.before)
		for i := range file.times {
			w.WriteString(file.part(i))
		}
		w.WriteString(file.after)
		if err := errors.Join(w.Flush(), f.Close()); err != nil {
			return err
		}
		seconds, mib, err := measure(1, program, "validate", path)
		if err != nil {
			return err
		}
		fmt.Printf("%-46s %8.2f %14.1f\n", file.name, seconds, mib)
	}
	return nil
}

func benchCapture(program string, size int64) error {
	dir, err := os.MkdirTemp("", "p20export-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "large.sse")
	if size, err = generate(source, size); err != nil {
		return err
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	fmt.Printf("\na capture of %d bytes\n%-8s %8s %8s %14s\n", size, "step", "seconds", "MB/s", "peak RSS (MiB)")
	for _, step := range [][]string{
		{"capture", "--from", source, "-o", in("large")},
		{"inspect", in("large")},
		{"freeze", in("large"), "-o", in("frozen"), "--started-at", "2026-01-31T12:00:00Z"},
		{"verify", in("frozen/large.artifact.json"), "--record", in("frozen/large.record.json"), "--capture", in("large")},
	} {
		seconds, mib, err := measure(0, program, step...)
		if err != nil {
			return err
		}
		fmt.Printf("%-8s %8.2f %8.0f %14.1f\n", step[0], seconds, float64(size)/1e6/seconds, mib)
	}
	return nil
}

// generate writes a run of about size bytes: many text deltas, framed as by a real
// endpoint, and a small snapshot. It returns the exact size.
func generate(path string, size int64) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	put := func(event string) { io.WriteString(w, "data: "+event+"\n\n"); size -= int64(len(event)) + 8 }
	total := size
	put(`{"type":"RUN_STARTED","threadId":"thread-large","runId":"run-large"}`)
	put(`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`)
	for size > 0 {
		put(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"a few words of the answer, "}`)
	}
	put(`{"type":"TEXT_MESSAGE_END","messageId":"m1"}`)
	put(`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"Tell me everything."},{"id":"m1","role":"assistant","content":"No."}]}`)
	put(`{"type":"RUN_FINISHED","threadId":"thread-large","runId":"run-large"}`)
	return total - size, w.Flush()
}

// Command bench measures the whole program on a capture of a gigabyte: time,
// throughput and peak memory of each step.
package main

import (
	"bufio"
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
	size := flag.Int64("bytes", 1_000_000_000, "size of the capture")
	flag.Parse()
	if err := bench(*program, *size); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(program string, size int64) error {
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
	fmt.Printf("a capture of %d bytes\n%-8s %8s %8s %14s\n", size, "step", "seconds", "MB/s", "peak RSS (MiB)")
	for _, step := range [][]string{
		{"capture", "--from", source, "-o", in("large")},
		{"inspect", in("large")},
		{"freeze", in("large"), "-o", in("frozen"), "--started-at", "2026-01-31T12:00:00Z"},
		{"verify", in("frozen/large.artifact.json"), "--record", in("frozen/large.record.json"), "--capture", in("large")},
	} {
		cmd := exec.Command(program, step...)
		cmd.Stderr = os.Stderr
		started := time.Now()
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(step, " "), err)
		}
		seconds := time.Since(started).Seconds()
		rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
		fmt.Printf("%-8s %8.2f %8.0f %14.1f\n", step[0], seconds, float64(size)/1e6/seconds, float64(rss)/1024)
	}
	return nil
}

// generate writes a run of about size bytes: many text deltas as a real
// endpoint frames them, and a small snapshot.
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

package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/record"
)

// Ctrl-C while a directory is verified ends the program with status 130, after the rows
// printed so far. The second record names a capture that is too long to be read during the
// test.
func TestVerifyDirectoryInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := program(t, "freeze", "../../discovery/captures/adk/one-turn", "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const terabyte = 1 << 40
	long := filepath.Join(dir, "z.sse")
	if err := os.WriteFile(long, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(long, terabyte); err != nil {
		t.Fatal(err)
	}
	record, err := record.Decode(testkit.Read(t, filepath.Join(dir, "one-turn.record.json")))
	if err != nil {
		t.Fatal(err)
	}
	record.Predicate.Capture.ManifestDigest, record.Predicate.Capture.Bytes = "", terabyte
	data, err := record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "z.record.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "verify", dir, "--capture", "../../discovery/captures", "--format", "json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	rows := bufio.NewReader(out)
	first, err := rows.ReadString('\n')
	if err != nil || !strings.Contains(first, `"verdict":"verified"`) {
		t.Errorf("the first row is %s (%v)", first, err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(rows)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 130 {
		t.Errorf("exit status %d, want 130", status)
	}
	if lines := strings.Count(string(rest), "\n"); lines > 1 || lines == 1 && !strings.Contains(string(rest), `"code":"interrupted"`) {
		t.Errorf("after the first row came:\n%s", rest)
	}
}

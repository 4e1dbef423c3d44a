package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"github.com/p20export/p20export/internal/bench/page"
)

// machine describes the machine, and the versions of what is measured.
func machine(_ context.Context, s *settings) (string, error) {
	var t strings.Builder
	t.WriteString(page.Row("what", "which") + "|---|---|\n")
	t.WriteString(page.Row("processor", fmt.Sprintf("%s, %d cores", page.Find("/proc/cpuinfo", `(?m)^model name\s*: (.*)`), runtime.NumCPU())))
	t.WriteString(page.Row("memory", page.Memory()))
	t.WriteString(page.Row("load before the measurement", s.load))
	lines := [][]string{
		{"kernel", "uname", "-sr"},
		{"file system of SQLite", "findmnt", "-n", "-o", "FSTYPE,OPTIONS", "-T", s.dir},
		{"Go", "go", "version"},
		{"Node", "node", "--version"},
	}
	for _, line := range lines {
		out, err := exec.Command(line[1], line[2:]...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%s: %w", strings.Join(line[1:], " "), err)
		}
		first, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
		t.WriteString(page.Row(line[0], strings.Join(strings.Fields(string(first)), ", ")))
	}
	return t.String(), nil
}

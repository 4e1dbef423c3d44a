package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A command that needs memory for every entry of a directory fails if the directory has too
// many, and then writes nothing. The others search it to the end.
func TestDirectoryTooLarge(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "p20export") // in memory, if possible
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	for i := range 100_001 {
		if err := os.Symlink(".", filepath.Join(dir, strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	commands := [][]string{
		{"compare", dir}, {"report", dir, "-o", out},
	}
	for _, args := range commands {
		var stdout, stderr bytes.Buffer
		status := run(args, &stdout, &stderr)
		said := stdout.String() + stderr.String()
		if status != 3 || !strings.Contains(said, "contains more than 100000 files and directories") || !strings.Contains(said, "name its subdirectories one by one") {
			t.Errorf("%s: exit status %d\n%s", args[0], status, said)
		}
	}
	for _, args := range [][]string{{"inspect", dir}, {"freeze", dir, "-o", out}} {
		var stdout, stderr bytes.Buffer
		if status := run(args, &stdout, &stderr); status != 3 || !strings.Contains(stderr.String(), "contains no captures") {
			t.Errorf("%s: exit status %d\n%s%s", args[0], status, stdout.String(), stderr.String())
		}
	}
	if _, err := os.Lstat(out); err == nil {
		t.Error("something was written")
	}
	for command, want := range map[string]string{"validate": "contains no file to validate", "verify": "100001 unexplained"} {
		var stdout, stderr bytes.Buffer
		if status := run([]string{command, dir}, &stdout, &stderr); status != 3 || !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: exit status %d, without %q\n%.1000s", command, status, want, stdout.String()+stderr.String())
		}
	}
	if err := os.Remove(filepath.Join(dir, "0")); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if status := run(commands[0], &stdout, &stderr); status != 3 || !strings.Contains(stderr.String(), "contains no captures") {
		t.Errorf("%s of as many as it looks at: exit status %d\n%s", commands[0][0], status, stderr.String())
	}
}

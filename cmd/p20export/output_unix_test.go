//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/internal/testkit"
)

const committedCapture = "../../discovery/captures/adk/one-turn"

// checkUnwritten checks that a command failed because it could not write its result, and
// that it reported this in one line.
func checkUnwritten(t *testing.T, args []string, status int, stderr string) {
	t.Helper()
	var said []string
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "p20export: ") {
			said = append(said, line)
		}
	}
	if status != exitFailed || len(said) != 1 || !strings.HasPrefix(said[0], "p20export: cannot write the result: ") || !strings.Contains(said[0], "no space left on device") {
		t.Errorf("p20export %s: exit status %d, said %q", strings.Join(args, " "), status, said)
	}
}

// If the result of a command cannot be written, the exit status is 3, in every format.
func TestUnwritableOutput(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		for _, args := range everyCommand(t) {
			if args[0] == "assay" && slices.Contains(args, "--ndjson") && !slices.Contains(args, "-o") {
				continue // it fails without writing to standard output
			}
			if format == "text" && slices.Contains(args, "--inline") {
				continue // texts of files are in JSON rows only
			}
			stdout, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			args = append(args, "--format", format)
			checkUnwritten(t, args, run(args, stdout, &stderr), stderr.String())
			stdout.Close()
		}
	}
}

// So is help, which every command has, and what has no rows.
func TestUnwritableHelp(t *testing.T) {
	t.Parallel()
	list := [][]string{{"--version"}, {}, {"help"}, {"help", "freeze"}, {"schema", "artifact"}, {"explain", "A26"}, {"version"}, {"__complete", "fr"}}
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		list = append(list, append(strings.Fields(cmd.CommandPath())[1:], "--help"))
		for _, sub := range cmd.Commands() {
			add(sub)
		}
	}
	root := newRoot(nil, &bytes.Buffer{}, &bytes.Buffer{})
	root.InitDefaultHelpCmd()
	add(root)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		list = append(list, []string{"completion", shell})
	}
	for _, args := range list {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		cmd := program(t, args...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		_ = cmd.Run()
		full.Close()
		checkUnwritten(t, args, cmd.ProcessState.ExitCode(), stderr.String())
	}
}

// With a closed descriptor, no file gets its number: the evidence is complete, and nothing
// else is written to it.
func TestClosedOutputEvidence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if status := run([]string{"freeze", committedCapture, "-o", filepath.Join(dir, "good")}, &bytes.Buffer{}, &bytes.Buffer{}); status != exitDone {
		t.Fatalf("exit status %d", status)
	}
	for _, redirect := range []string{">&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"} {
		out := filepath.Join(dir, strings.ReplaceAll(redirect, "&", ""))
		cmd := exec.Command("sh", "-c", `exec "$0" freeze "$1" -o "$2" `+redirect, program(t).Path, committedCapture, out)
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", redirect, err)
		}
		entries, err := os.ReadDir(filepath.Join(dir, "good"))
		if err != nil || len(entries) != 3 {
			t.Fatalf("%d files, %v", len(entries), err)
		}
		for _, e := range entries {
			if want, got := testkit.Read(t, filepath.Join(dir, "good", e.Name())), testkit.Read(t, filepath.Join(out, e.Name())); !bytes.Equal(got, want) {
				t.Errorf("%s: %s has %d bytes, want %d", redirect, e.Name(), len(got), len(want))
			}
		}
	}
}

// The exit status with a closed descriptor is that of the command, as with /dev/null: nothing that
// a program can ask the system tells the two apart (see docs/stability.md).
func TestClosedOutputStatus(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.json")
	testkit.Write(t, bad, "{}")
	for _, test := range []struct {
		status int
		args   []string
	}{
		{exitDone, []string{"version"}},
		{exitDone, []string{"inspect", committedCapture}},
		{exitNegative, []string{"validate", bad, "--format", "sarif"}},
		{exitUsage, []string{"validate"}},
		{exitFailed, []string{"inspect", bad + ".none"}},
	} {
		for _, redirect := range []string{">&-", "<&- >&-", ">&- 2>&-", "1<>/dev/null"} {
			cmd := exec.Command("sh", append([]string{"-c", `exec "$0" "$@" ` + redirect, program(t).Path}, test.args...)...)
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != test.status {
				t.Errorf("%q %s: exit status %d, want %d", test.args, redirect, got, test.status)
			}
		}
	}
}

// Discarding the output on purpose is no error. Python's subprocess.DEVNULL and Node's "ignore"
// open /dev/null for reading and writing, as Go's runtime does in place of a closed descriptor.
func TestDiscardedOutput(t *testing.T) {
	t.Parallel()
	for _, redirect := range []string{">/dev/null", ">/dev/null 2>&1", "1<>/dev/null", "<>/dev/null 1<>/dev/null 2<>/dev/null"} {
		if out, err := exec.Command("sh", "-c", `exec "$0" version `+redirect, program(t).Path).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", redirect, err, out)
		}
	}
}

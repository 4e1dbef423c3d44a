package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

const (
	sealsPage = "../../docs/seals.md"
	// sealsTime is what the page shows instead of the times of seals.
	sealsTime = "2026-11-28T22:55:13Z"
)

// TestSealsDocs runs the commands in the console blocks of the page on seals and compares their
// output with the page; with -update, it rewrites the page.
func TestSealsDocs(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	scratch, err := os.MkdirTemp("/tmp", "p20export") // as in checkConsole
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	path := ownBin(t) + string(os.PathListSeparator) + os.Getenv("PATH")
	keyID, times := regexp.MustCompile(`(key id +)[0-9a-f]{64}`), regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	made, commands := rerun(t, "```console", string(testkit.Read(t, sealsPage)), func(command string) string {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = root
		cmd.Env = append(withoutMake(os.Environ()), "PATH="+path, "SCRATCH="+scratch)
		out, _ := cmd.CombinedOutput() // one command shows a failure
		text := strings.ReplaceAll(string(out), scratch, "$SCRATCH")
		return keyID.ReplaceAllString(times.ReplaceAllLiteralString(text, sealsTime), "${1}…")
	})
	if commands < 10 {
		t.Errorf("the page shows %d commands", commands)
	}
	unchanged(t, sealsPage, []byte(made))
}

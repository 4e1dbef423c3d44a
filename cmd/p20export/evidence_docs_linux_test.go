//go:build programs

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/authority"
)

// TestTenCommands runs the ten commands of docs/evidence.md from live traffic to a bundle, with
// free ports and a time-stamp authority.
func TestTenCommands(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(testkit.Read(t, filepath.Join(root, "docs/evidence.md"))), "```sh ten\n")
	script, _, found := strings.Cut(after, "```\n")
	if n := strings.Count(script, "\n") - strings.Count(script, "\\\n"); !found || n != 10 {
		t.Fatalf("the page has %d commands", n)
	}
	for _, address := range []string{"127.0.0.1:8000", "127.0.0.1:8001"} {
		script = strings.ReplaceAll(script, address, testkit.FreeAddress(t))
	}
	tsa, dir := authority.New(t), t.TempDir()
	testkit.Write(t, filepath.Join(dir, "authority.pem"), tsa.Root.PEM())
	if err := os.Symlink(filepath.Join(root, "discovery"), filepath.Join(dir, "discovery")); err != nil {
		t.Fatal(err)
	}
	// -m, because scripts have no jobs otherwise, and terminals have.
	cmd := exec.Command("bash", "-e", "-m", "-c", script)
	cmd.Dir, cmd.Env = dir, append(withoutMake(cmd.Environ()), "PATH="+ownBin(t)+":"+os.Getenv("PATH"), "AUTHORITY="+tsa.Serve())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"signed by release (ed25519)", "according to authority", "frozen: 1 verified", "verified  evidence.tar.gz", "written   evidence.html"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	// The secret key stays where it was written.
	key := strings.Split(string(testkit.Read(t, filepath.Join(dir, "release.key.pem"))), "\n")[1]
	if strings.Contains(string(out), key) {
		t.Error("the output has the private key")
	}
}

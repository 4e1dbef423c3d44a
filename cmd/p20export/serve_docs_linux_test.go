//go:build programs

package main

import (
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// TestServeDocs runs the commands of docs/serve.md and compares their output with the
// document; with -update, it rewrites the document. A command that ends with "&" is a server.
// It gets a free port instead of the one in the document. Ids have checks that differ from run to
// run; the document has others, which are numbered.
func TestServeDocs(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	doc, bin, scratch := filepath.Join(root, "docs/serve.md"), ownBin(t), t.TempDir()
	used, shown := []string{"$SCRATCH", scratch}, []string{scratch, "$SCRATCH"}
	made, commands := rerun(t, "```console serve", string(testkit.Read(t, doc)), func(command string) string {
		line := strings.TrimSpace(strings.ReplaceAll(command, "\\\n", ""))
		if rest, ok := strings.CutSuffix(line, " &"); ok {
			args := strings.Fields(strings.NewReplacer(used...).Replace(rest))[1:]
			at := slices.Index(args, "--listen")
			documented := "http://" + args[at+1]
			for i, arg := range args { // those of the repository are relative to it
				if strings.HasPrefix(arg, "discovery/") {
					args[i] = filepath.Join(root, arg)
				}
			}
			s, url := startServer(t, slices.Delete(args, at, at+2)...)
			t.Cleanup(func() {
				s.kill(t, syscall.SIGTERM)
				if status, log := s.wait(t); status != 0 {
					t.Errorf("%s: exit status %d\n%s", line, status, log)
				}
			})
			used, shown = append(used, documented, url), append(shown, url, documented)
			return ""
		}
		cmd := exec.Command("sh", "-c", strings.NewReplacer(used...).Replace(command))
		cmd.Dir, cmd.Env = root, append(withoutMake(cmd.Environ()), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
		// Events end with an empty line, and JSON documents without the end of a line.
		text := strings.TrimSpace(strings.NewReplacer(shown...).Replace(string(out)))
		for _, m := range checks.FindAllStringSubmatch(text, -1) {
			if real := "-" + m[2]; !slices.Contains(shown, real) {
				documented := fmt.Sprintf("-%08x", crc32.ChecksumIEEE([]byte(strconv.Itoa(len(shown)))))
				used, shown = append(used, documented, real), append(shown, real, documented)
			}
		}
		text = strings.NewReplacer(shown...).Replace(text)
		if text != "" {
			text += "\n"
		}
		return text
	})
	if commands < 10 {
		t.Errorf("only %d commands", commands)
	}
	unchanged(t, doc, []byte(made))
}

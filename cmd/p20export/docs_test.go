package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocs runs the console blocks of the documents and compares what they
// print with what the documents show; with -update it rewrites them. A command
// is a line after "$ "; a line that ends in a backslash goes on.
func TestDocs(t *testing.T) {
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "p20export")); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []struct{ path, in string }{
		{"README.md", root},
		{"examples/ag-ui-compacted-message-snapshot-evidence/README.md", filepath.Join(root, "examples/ag-ui-compacted-message-snapshot-evidence")},
	} {
		t.Run(doc.path, func(t *testing.T) {
			scratch := t.TempDir()
			path := filepath.Join(root, doc.path)
			old := string(read(t, path))
			made, commands := rerun(t, old, func(command string) string {
				cmd := exec.Command("sh", "-c", command)
				cmd.Dir = doc.in
				cmd.Env = append(withoutMake(os.Environ()), "PATH="+bin+":"+os.Getenv("PATH"), "SCRATCH="+scratch)
				out, _ := cmd.CombinedOutput() // a refusal is shown, too
				return strings.ReplaceAll(string(out), scratch, "$SCRATCH")
			})
			if commands == 0 {
				t.Errorf("%s shows no command", doc.path)
			}
			golden(t, path, []byte(made))
		})
	}
}

// withoutMake removes what a make that runs the tests would tell one that is
// run by them.
func withoutMake(env []string) []string {
	var kept []string
	for _, v := range env {
		if !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "MFLAGS") {
			kept = append(kept, v)
		}
	}
	return kept
}

// rerun replaces the output after each command of a document's console blocks.
func rerun(t *testing.T, doc string, do func(command string) string) (made string, commands int) {
	t.Helper()
	var out strings.Builder
	lines := strings.SplitAfter(doc, "\n")
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		if strings.TrimSpace(lines[i]) != "```console" {
			continue
		}
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
			if !strings.HasPrefix(lines[i], "$ ") {
				continue // the output as it was
			}
			command := ""
			for ; ; i++ {
				out.WriteString(lines[i])
				command += strings.TrimPrefix(lines[i], "$ ")
				if !strings.HasSuffix(strings.TrimSuffix(lines[i], "\n"), `\`) {
					break
				}
			}
			out.WriteString(do(command))
			commands++
		}
		if i == len(lines) {
			t.Fatal("a console block is not closed")
		}
		out.WriteString(lines[i])
	}
	return out.String(), commands
}

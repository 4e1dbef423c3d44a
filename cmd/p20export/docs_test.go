package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// TestDocs runs the console blocks of the documents and compares what they
// print with what the documents show; with -update it rewrites them. A command
// is a line after "$ "; a line that ends in a backslash goes on.
func TestDocs(t *testing.T) {
	t.Parallel()
	bin := ownBin(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []struct{ path, in string }{
		{"README.md", root},
		{"discovery/drift/README.md", root},
		{"docs/integrations.md", root},
		{sampleReadme, filepath.Join(root, filepath.Dir(sampleReadme))},
	} {
		t.Run(doc.path, func(t *testing.T) {
			checkConsole(t, "```console", filepath.Join(root, doc.path), doc.in, bin)
		})
	}
}

// TestAssayDocsAreCurrent fails when the sample lane's README shows what Assay's
// command line said of another bundle than the lane's. That output is only made
// where that command line is.
func TestAssayDocsAreCurrent(t *testing.T) {
	t.Parallel()
	var bundle struct {
		Events  int    `json:"events"`
		RunRoot string `json:"run_root"`
	}
	row := do(t, exitDone, "assay", "verify", "--format", "json", filepath.Join(sampleDir, "assay/receipts.tar.gz"))
	if err := json.Unmarshal(row, &bundle); err != nil {
		t.Fatal(err)
	}
	_, doc, _ := strings.Cut(string(testkit.Read(t, filepath.Join("../..", sampleReadme))), "```console assay\n")
	shown, _, _ := strings.Cut(doc, "\n```\n")
	for _, want := range []string{
		"\nBundle ID:   " + bundle.RunRoot + "\n",
		fmt.Sprintf("\nBundle: %s (events: %d, verified: true)\n", bundle.RunRoot, bundle.Events),
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s does not show %q: run 'make assay-cli'", sampleReadme, want)
		}
	}
}

// ownBin returns a directory that holds this program under its name.
func ownBin(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "p20export")); err != nil {
		t.Fatal(err)
	}
	return bin
}

const sampleReadme = "examples/ag-ui-compacted-message-snapshot-evidence/README.md"

// checkConsole runs the blocks of a document that begin with the fence, with
// the programs in bin.
func checkConsole(t *testing.T, fence, path, in, bin string) {
	scratch := t.TempDir()
	made, commands := rerun(t, fence, string(testkit.Read(t, path)), func(command string) string {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = in
		cmd.Env = append(withoutMake(os.Environ()), "PATH="+bin+":"+os.Getenv("PATH"), "SCRATCH="+scratch)
		out, _ := cmd.CombinedOutput() // a refusal is shown, too
		return strings.ReplaceAll(string(out), scratch, "$SCRATCH")
	})
	if commands == 0 {
		t.Errorf("%s shows no command", path)
	}
	golden(t, path, []byte(made))
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

// rerun replaces the output after each command of a document's blocks that begin
// with the fence.
func rerun(t *testing.T, fence, doc string, do func(command string) string) (made string, commands int) {
	t.Helper()
	var out strings.Builder
	lines := strings.SplitAfter(doc, "\n")
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		if strings.TrimSpace(lines[i]) != fence {
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

// Each command is found by its name, without those of the others being made.
func TestCommandsAreNamed(t *testing.T) {
	for _, c := range commands {
		if made := c.new(); made.Name() != c.name || len(made.Aliases) > 0 {
			t.Errorf("%s makes %s, %v", c.name, made.Name(), made.Aliases)
		}
	}
}

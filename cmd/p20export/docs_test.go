package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/internal/testkit"
)

// TestDocs runs the console blocks of the documents and compares what they
// print with what the documents show; with -update it rewrites them. A command
// is a line after "$ "; a line that ends in a backslash goes on. At docsEndpoint an
// endpoint answers as the integrations did whose captures are committed, each at the
// path of its name.
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
func checkConsole(t *testing.T, fence, doc, in, bin string) {
	// Lines wrap by the length of the paths in them, and TMPDIR may be long.
	scratch, err := os.MkdirTemp("/tmp", "p20export")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	endpoint := replaying(t)
	made, commands := rerun(t, fence, string(testkit.Read(t, doc)), func(command string) string {
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, docsEndpoint, endpoint))
		cmd.Dir = in
		cmd.Env = append(withoutMake(os.Environ()), "PATH="+bin+":"+os.Getenv("PATH"), "SCRATCH="+scratch)
		out, _ := cmd.CombinedOutput() // a refusal is shown, too
		return strings.NewReplacer(scratch, "$SCRATCH", endpoint, docsEndpoint).Replace(string(out))
	})
	if commands == 0 {
		t.Errorf("%s shows no command", doc)
	}
	golden(t, doc, []byte(made))
}

// docsEndpoint is the address of the endpoint in the documents.
const docsEndpoint = "http://127.0.0.1:8000"

// replaying serves the committed captures: to a request of a scenario, whatever its
// ids, the answer that the integration gave which the path begins with.
func replaying(t *testing.T) string {
	t.Helper()
	list, err := scenario.BuiltinList()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, s := range list.Scenarios {
		names[withoutIDs(t, s.Request)] = s.Name
	}
	if len(names) != len(list.Scenarios) {
		t.Fatalf("%d requests differ in more than ids, of %d", len(names), len(list.Scenarios))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		integration, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		dir := filepath.Join("../../discovery/captures", integration, names[withoutIDs(t, body)])
		manifest, err := os.ReadFile(filepath.Join(dir, capture.ManifestName))
		if err != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"detail":"Not Found"}`)
			return
		}
		var of struct {
			Source struct {
				Status      int
				ContentType string `json:"content_type"`
			}
		}
		if err := json.Unmarshal(manifest, &of); err != nil {
			t.Error(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "response.*"))
		if err != nil || len(files) != 1 {
			t.Errorf("%s: %v, %v", dir, files, err)
			return
		}
		w.Header().Set("Content-Type", of.Source.ContentType)
		w.WriteHeader(of.Source.Status)
		_, _ = w.Write(answerTo(t, body, testkit.Read(t, filepath.Join(dir, capture.RequestName)), testkit.Read(t, files[0])))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// answerTo is the captured response to a captured request, with the ids of another
// request.
func answerTo(t *testing.T, request, captured, response []byte) []byte {
	t.Helper()
	var now, then map[string]any
	if err := errors.Join(json.Unmarshal(request, &now), json.Unmarshal(captured, &then)); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"threadId", "runId", "parentRunId"} {
		if id, ok := then[key].(string); ok && id != "" {
			response = bytes.ReplaceAll(response, fmt.Appendf(nil, "%q", id), fmt.Appendf(nil, "%q", now[key]))
		}
	}
	return response
}

// withoutIDs is a request whose ids, where they are not empty, are all the same.
func withoutIDs(t *testing.T, request []byte) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(request, &object); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"threadId", "runId", "parentRunId"} {
		if id, ok := object[key].(string); ok && id != "" {
			object[key] = "id"
		}
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Error(err)
	}
	return string(text)
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

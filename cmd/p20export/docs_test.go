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

// TestDocs runs the commands in the console blocks of the documents and compares their
// output with the documents; with -update, it rewrites the documents. A command begins with
// "$ " and continues after a backslash at the end of a line. docsEndpoint stands for a server
// that replays the committed captures of each integration at the path of its name.
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
		{"docs/batches.md", root},
		{"docs/evidence.md", root},
		{"docs/examine.md", root},
		{"docs/integrations.md", root},
		{"docs/traces.md", root},
		{"docs/upstream.md", root},
		{sampleReadme, filepath.Join(root, filepath.Dir(sampleReadme))},
	} {
		t.Run(doc.path, func(t *testing.T) {
			checkConsole(t, "```console", filepath.Join(root, doc.path), doc.in, bin)
		})
	}
}

// TestAssayDocsAreCurrent fails if the assay output in the sample lane's README is about
// another bundle than the lane's. It is needed because TestAssayDocs only runs where assay is
// installed.
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

// ownBin returns a directory that contains this program as p20export.
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
	// Wrapping depends on the length of paths, and TMPDIR may be long.
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
		out, _ := cmd.CombinedOutput() // the documents also show failures
		return strings.NewReplacer(scratch, "$SCRATCH", endpoint, docsEndpoint).Replace(string(out))
	})
	if commands == 0 {
		t.Errorf("%s shows no command", doc)
	}
	unchanged(t, doc, []byte(made))
}

// docsEndpoint is the address of the endpoint in the documents.
const docsEndpoint = "http://127.0.0.1:8000"

// replaying starts a server that replays the committed captures and returns its URL. The path
// of a request names the integration. The body determines the scenario; its ids are ignored.
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

// answerTo returns a captured response with the ids of the captured request replaced by
// those of another request.
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

// withoutIDs returns a request with every nonempty id replaced by the same text.
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

// withoutMake removes the variables that make sets for a make started by the tests.
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
				continue // the old output
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

// Each command has the name under which it is listed, so that the program can create only the
// command it needs.
func TestCommandsAreNamed(t *testing.T) {
	for _, c := range commands {
		if made := c.new(); made.Name() != c.name || len(made.Aliases) > 0 {
			t.Errorf("%s makes %s, %v", c.name, made.Name(), made.Aliases)
		}
	}
}

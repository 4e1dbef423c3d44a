package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

const sampleDir = "../../examples/ag-ui-compacted-message-snapshot-evidence"

// sampleRun is a run of the sample lane: its capture below discovery/captures, and the facts
// that the lane's README states.
type sampleRun struct {
	name, capture string
	projection    project.Name
	origin        project.Origin
	terminal      string
	parent        string // parent_run_id_ref, empty without one
}

var sampleRuns = []sampleRun{
	{"finished", "adk/one-turn", project.EmittedSnapshot, project.Emitted, artifact.RunFinished, ""},
	{"multi-turn", "adk/three-turns-3", project.EmittedSnapshot, project.Emitted, artifact.RunFinished, ""},
	{"failed", "adk/model-error", project.FoldedStream, project.Built, artifact.RunError, ""},
	{"with-parent", "claude-agent-sdk/parent-run", project.EmittedSnapshot, project.Emitted, artifact.RunFinished, "run-before"},
	{"snapshot-then-error", "claude-agent-sdk/model-error", project.EmittedSnapshot, project.Emitted, artifact.RunError, ""},
}

// artifact returns the path of the frozen artifact in the lane.
func (r sampleRun) artifact() string { return "frozen/" + r.name + ".artifact.json" }

// TestSample builds the sample lane from the committed captures and compares it with the
// committed lane; with -update, it replaces the committed lane.
func TestSample(t *testing.T) {
	captures, err := filepath.Abs("../../discovery/captures")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for _, r := range sampleRuns {
		raw := filepath.Join("raw", r.name)
		testkit.CopyDir(t, raw, filepath.Join(captures, r.capture))
		do(t, exitDone, "freeze", raw, "-o", "frozen", "--projection", string(r.projection))
		r.check(t)
	}
	do(t, exitDone, "verify", "frozen", "--capture", "raw")
	do(t, exitDone, "validate", "--profile", "assay", "frozen")
	importSample(t)
	malform(t)
	names, err := filepath.Glob("malformed/*")
	if err != nil {
		t.Fatal(err)
	}
	for f, name := range map[render.Format]string{render.JSON: "validate.ndjson", render.SARIF: "validate.sarif", render.JUnit: "validate.junit.xml"} {
		findings := do(t, exitNegative, append([]string{"validate", "--format", string(f)}, names...)...)
		testkit.Write(t, filepath.Join("malformed", name), findings)
	}
	t.Chdir(sourceDir)
	compareTrees(t, dir, sampleDir)
}

// check compares the frozen run with the facts in the README.
func (r sampleRun) check(t *testing.T) {
	t.Helper()
	a, findings := artifact.Decode(testkit.Read(t, r.artifact()), artifact.Assay)
	if a == nil {
		t.Fatalf("%s: %v", r.name, findings)
	}
	rec, err := record.Read(record.Path(r.artifact()))
	if err != nil {
		t.Fatal(err)
	}
	got := r
	got.projection, got.origin = rec.Predicate.Projection.Name, rec.Predicate.Projection.Origin
	got.terminal, got.parent = a.TerminalEvent, a.ParentRunIDRef
	if got != r {
		t.Errorf("frozen %+v, want %+v", got, r)
	}
}

// importSample imports the frozen runs into Assay: each as a receipt, and also as a
// placeholder if the run emitted its snapshot.
func importSample(t *testing.T) {
	t.Helper()
	if err := os.Mkdir("assay", 0o755); err != nil {
		t.Fatal(err)
	}
	imported := func(args ...string) {
		do(t, exitDone, append([]string{"assay", "--import-time", "2026-11-21T12:00:00Z", "--as-sample"}, args...)...)
	}
	bundle := []string{"--receipt", "--bundle", "assay/receipts.tar.gz", "--assay-run-id", "sample"}
	for _, r := range sampleRuns {
		if r.origin == project.Emitted {
			imported(r.artifact(), "--ndjson", "-o", "assay/"+r.name+".assay.ndjson")
		}
		imported(r.artifact(), "--receipt", "--ndjson", "-o", "assay/"+r.name+".receipt.ndjson")
		bundle = append(bundle, r.artifact())
	}
	imported(bundle...)
}

// sourceDir is the working directory in which the tests of this package start.
var sourceDir = func() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return dir
}()

// do runs the program in this process and returns its standard output.
func do(t *testing.T, want int, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := run(args, &stdout, &stderr); got != want {
		t.Fatalf("p20export %s: exit status %d, want %d\n%s%s", strings.Join(args, " "), got, want, stdout.String(), stderr.String())
	}
	return stdout.Bytes()
}

// malform writes files that resemble the frozen files but violate the contract.
func malform(t *testing.T) {
	t.Helper()
	finished := testkit.Read(t, "frozen/finished.artifact.json")
	for name, edit := range map[string][2]string{
		"state":      {`  "terminal_event"`, "  \"state\": {\n    \"step\": 1\n  },\n  \"terminal_event\""},
		"events":     {`  "terminal_event"`, "  \"events\": [\n    {\n      \"type\": \"RUN_STARTED\"\n    }\n  ],\n  \"terminal_event\""},
		"tool-calls": {"\"role\": \"assistant\",\n", "\"role\": \"assistant\",\n      \"toolCalls\": [],\n"},
	} {
		testkit.Write(t, "malformed/"+name+".artifact.json", replaceOnce(t, finished, edit[0], edit[1]))
	}
	var state string
	for line := range strings.Lines(string(testkit.Read(t, "raw/finished/response.sse"))) {
		if strings.Contains(line, `"type":"STATE_SNAPSHOT"`) {
			state = strings.TrimPrefix(line, "data: ")
		}
	}
	if state == "" {
		t.Fatal("the finished run has no STATE_SNAPSHOT")
	}
	envelope := testkit.Read(t, "frozen/finished.envelope.ndjson")
	testkit.Write(t, "malformed/state-snapshot.envelope.ndjson", replaceOnce(t, envelope, `{"type":"MESSAGES_SNAPSHOT"`, state+`{"type":"MESSAGES_SNAPSHOT"`))
}

func replaceOnce(t *testing.T, data []byte, old, with string) []byte {
	t.Helper()
	if bytes.Count(data, []byte(old)) != 1 {
		t.Fatalf("%q does not stand once in\n%s", old, data)
	}
	return bytes.Replace(data, []byte(old), []byte(with), 1)
}

// compareTrees compares the committed directory with a newly built one, except for the files
// written by hand.
func compareTrees(t *testing.T, fresh, committed string) {
	t.Helper()
	seen := map[string]bool{"README.md": true, "verify.sh": true, "assay/pack.yaml": true}
	err := filepath.WalkDir(fresh, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(fresh, path)
		if err != nil {
			return err
		}
		seen[name] = true
		unchanged(t, filepath.Join(committed, name), testkit.Read(t, path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(committed, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(committed, path)
		if err != nil || seen[name] {
			return err
		}
		if *update {
			return os.Remove(path)
		}
		t.Errorf("%s is committed and no longer made", path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) < 50 {
		t.Errorf("the sample lane has only %d files", len(seen))
	}
}

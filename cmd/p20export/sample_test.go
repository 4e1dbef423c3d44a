package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/internal/testkit"
)

const sampleDir = "../../examples/ag-ui-compacted-message-snapshot-evidence"

// TestSample makes the sample lane anew from the committed captures and
// compares it with the committed one; with -update it replaces it.
func TestSample(t *testing.T) {
	captures, err := filepath.Abs("../../discovery/captures/adk")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for _, s := range []struct{ name, scenario, projection string }{
		{"finished", "one-turn", "emitted-snapshot"},
		{"multi-turn", "three-turns-3", "emitted-snapshot"},
		{"failed", "model-error", "folded-stream"},
	} {
		raw := filepath.Join("raw", s.name)
		testkit.Copy(t, raw, filepath.Join(captures, s.scenario))
		do(t, exitDone, "freeze", raw, "-o", "frozen", "--projection", s.projection)
	}
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

// importSample takes the frozen runs into Assay.
func importSample(t *testing.T) {
	t.Helper()
	if err := os.Mkdir("assay", 0o755); err != nil {
		t.Fatal(err)
	}
	imported := func(args ...string) {
		do(t, exitDone, append([]string{"assay", "--import-time", "2026-11-21T12:00:00Z", "--as-sample"}, args...)...)
	}
	imported("frozen/finished.artifact.json", "--ndjson", "-o", "assay/finished.assay.ndjson")
	imported("frozen/multi-turn.artifact.json", "--ndjson", "-o", "assay/multi-turn.assay.ndjson")
	for _, run := range []string{"finished", "multi-turn", "failed"} {
		imported("frozen/"+run+".artifact.json", "--receipt", "--ndjson", "-o", "assay/"+run+".receipt.ndjson")
	}
	imported("frozen/finished.artifact.json", "frozen/multi-turn.artifact.json", "frozen/failed.artifact.json",
		"--receipt", "--bundle", "assay/receipts.tar.gz", "--assay-run-id", "sample")
}

// sourceDir is where the tests of this package start.
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

// malform makes files that look like the frozen ones and break the contract.
func malform(t *testing.T) {
	t.Helper()
	artifact := testkit.Read(t, "frozen/finished.artifact.json")
	for name, edit := range map[string][2]string{
		"state":      {`  "terminal_event"`, "  \"state\": {\n    \"step\": 1\n  },\n  \"terminal_event\""},
		"events":     {`  "terminal_event"`, "  \"events\": [\n    {\n      \"type\": \"RUN_STARTED\"\n    }\n  ],\n  \"terminal_event\""},
		"tool-calls": {"\"role\": \"assistant\",\n", "\"role\": \"assistant\",\n      \"toolCalls\": [],\n"},
	} {
		testkit.Write(t, "malformed/"+name+".artifact.json", replaceOnce(t, artifact, edit[0], edit[1]))
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

// compareTrees holds the committed directory against one made anew, what is
// written by hand aside.
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
		golden(t, filepath.Join(committed, name), testkit.Read(t, path))
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
	if len(seen) < 20 {
		t.Errorf("the sample lane has only %d files", len(seen))
	}
}

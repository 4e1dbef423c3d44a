package schema_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/baseline"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/golden"
	"github.com/p20export/p20export/project/lint"
	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
)

const discoveryDir = "../discovery/"

// These functions load the bytes of a file as the commands do.
func loadBaseline(t *testing.T, data []byte) error {
	_, err := baseline.Load(written(t, "baseline.json", data), artifact.V1)
	return err
}

func loadList(t *testing.T, data []byte) error {
	_, err := scenario.LoadList(t.Context(), written(t, scenario.ScenariosName, data))
	return err
}

func loadSuite(t *testing.T, data []byte) error {
	list := &scenario.List{Scenarios: []scenario.Scenario{{Name: "a"}, {Name: "b"}}}
	_, err := scenario.LoadSuite(t.Context(), written(t, scenario.ExpectedName, data), list)
	return err
}

func loadHarness(t *testing.T, data []byte) error {
	_, err := scenario.LoadHarness(t.Context(), filepath.Dir(written(t, scenario.HarnessName, data)))
	return err
}

func loadLint(t *testing.T, data []byte) error {
	_, err := lint.LoadConfig(t.Context(), written(t, lint.ConfigName, data))
	return err
}

func loadTraces(t *testing.T, data []byte) error {
	_, err := golden.Open(t.Context(), filepath.Dir(written(t, golden.ConfigName, data)))
	return err
}

func written(t *testing.T, name string, data []byte) string {
	path := filepath.Join(t.TempDir(), name)
	testkit.Write(t, path, data)
	return path
}

// asFindings returns the error of a loader as a finding.
func asFindings(load func(*testing.T, []byte) error) func(*testing.T, string, []byte) []finding.Finding {
	return func(t *testing.T, _ string, data []byte) []finding.Finding {
		if err := load(t, data); err != nil {
			return []finding.Finding{{Code: schema.NoFinding, Severity: finding.Error, Message: err.Error()}}
		}
		return nil
	}
}

// Small files of each kind.
const (
	aList    = `{"scenarios":[{"name":"a","about":"é","path":"/a","needed":true,"request":{}},{"name":"b","request":{"x":1}}]}`
	aFreeze  = `"freeze":{"emitted-snapshot":{"verdict":"frozen","origin":"emitted","roles":["user"]},"emitted-snapshot-text":{"verdict":"frozen","omissions":["value_null RUN_STARTED/x"]},"folded-stream":{"verdict":"refused","reasons":["snapshot_present MESSAGES_SNAPSHOT"]}}`
	aSuite   = `{"scenarios":[{"name":"a","expect":{"http_status":200,"terminal":"RUN_FINISHED","time_source":"event",` + aFreeze + `}},{"name":"b","note":"It cannot."}]}`
	aLint    = `{"protocol":"auto","failOn":"warning","rules":{"W9":"off","G15":"warning"},"require":["text"],"origin":"https://app.example"}`
	aTrace   = `{"text":"shape","order":"causal","raw":true,"matchers":[{"event":"CUSTOM","pointer":"/value/*/at","is":"time","reason":"the time of day"}]}`
	aHarness = `{"name":"mine","integration":{"name":"p","version":"1"},"command":["serve"]}`
)

// aBaseline returns the baseline of two captures.
func aBaseline(t *testing.T) []byte {
	t.Helper()
	return baselineOf(t, captures+"/adk/model-error", captures+"/adk/one-turn")
}

func baselineOf(t *testing.T, paths ...string) []byte {
	t.Helper()
	var runs []analysis.Run
	for _, path := range paths {
		runs = append(runs, analysis.Analyze(context.Background(), path, artifact.V1, nil)...)
	}
	b, err := baseline.New(runs, artifact.V1)
	if err != nil {
		t.Fatal(err)
	}
	data, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// brokenInputs returns files that break the rules which all these files share.
func brokenInputs(t *testing.T, good []byte, text string) map[string][]byte {
	return map[string][]byte{
		"duplicate_key": bytes.Replace(good, []byte("{"), []byte(`{"`+keyOf(t, good)+`":null,`), 1),
		"utf8":          with(t, good, text, text[:len(text)-1]+"\xff\""),
		"one_value":     append(bytes.Clone(good), '7'),
		"file_bytes":    spaces(good, 64<<20),
	}
}

// keyOf returns the first key of an object.
func keyOf(t *testing.T, object []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	_, _ = d.Token()
	key, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	return key.(string)
}

func brokenBaselines(t *testing.T) map[string][]byte {
	good := aBaseline(t)
	files := brokenInputs(t, good, `"one-turn"`)
	files["integers"] = bytes.Replace(good, []byte(`"run": 1`), []byte(`"run": 1.0`), 1)
	files["run_order"] = with(t, good, `"model-error"`, `"z"`)
	files["each_projection"] = bytes.Replace(good, []byte(`"name": "emitted-snapshot-text"`), []byte(`"name": "emitted-snapshot"`), 1)
	files["more_snapshots"] = bytes.Replace(good, []byte(`"fields"`), []byte(`"more_snapshots": 1, "fields"`), 1)
	files["same_contract"] = with(t, good, `"v1"`, `"assay"`)
	return files
}

func brokenLists(t *testing.T) map[string][]byte {
	files := brokenInputs(t, []byte(aList), `"é"`)
	files["unique_names"] = with(t, []byte(aList), `"name":"b"`, `"name":"a"`)
	files["clean_path"] = with(t, []byte(aList), `"/a"`, `"/a/../b"`)
	return files
}

func brokenSuites(t *testing.T) map[string][]byte {
	files := brokenInputs(t, []byte(aSuite), `"It cannot."`)
	files["integers"] = with(t, []byte(aSuite), "200", "2e2")
	files["list_order"] = with(t, []byte(aSuite), `"name":"a"`, `"name":"c"`)
	return files
}

func brokenHarnesses(t *testing.T) map[string][]byte {
	return brokenInputs(t, []byte(aHarness), `"serve"`)
}

// TestInputs checks that the schemas of the files that compare and discover read accept
// every committed file, and refuse damaged ones like the program.
func TestInputs(t *testing.T) {
	t.Parallel()
	accept := func(name, what string, data []byte) {
		t.Helper()
		if err := schematest.Check(name, data); err != nil {
			t.Errorf("%s: %s: %v", name, what, err)
		}
	}
	for name, patterns := range map[string][]string{
		schema.Harness:   {"harness/*/harness.json"},
		schema.Expected:  {"harness/*/expected.json", "drift/*/expected.json"},
		schema.Scenarios: {"scenarios.json"},
	} {
		found := 0
		for _, pattern := range patterns {
			files, err := filepath.Glob(discoveryDir + pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range files {
				found++
				accept(name, path, testkit.Read(t, path))
			}
		}
		if want := map[string]int{schema.Harness: 10, schema.Expected: 12, schema.Scenarios: 1}[name]; found < want {
			t.Errorf("%s: only %d files", name, found)
		}
	}
	integrations, err := filepath.Glob(captures + "/*")
	if err != nil || len(integrations) < 10 {
		t.Fatalf("%d integrations: %v", len(integrations), err)
	}
	for _, dir := range integrations {
		paths, err := filepath.Glob(dir + "/*")
		if err != nil {
			t.Fatal(err)
		}
		accept(schema.Baseline, dir, baselineOf(t, paths...))
	}
	good := string(aBaseline(t))
	for name, c := range map[string]struct {
		load  func(*testing.T, []byte) error
		good  string
		edits [][2]string
	}{
		schema.Baseline: {loadBaseline, good, [][2]string{
			{`"p20export.baseline.v1"`, `"p20export.baseline.v2"`}, {`"v1"`, `"v2"`}, {`"one-turn"`, `""`}, {`"run": 1`, `"run": -1`}, {`"exact"`, `"missing"`},
			{`"refused"`, `"error"`}, {`"snapshots": [`, `"snapshots": null, "x": [`}, {`"fields"`, `"field"`}, {`"families"`, `"x": 1, "families"`},
		}},
		schema.Scenarios: {loadList, aList, [][2]string{
			{aList, `{"scenarios":[]}`}, {aList, `{}`}, {`"a"`, `"A"`}, {`"a"`, `"a--b"`}, {`"a"`, `"capture.json"`}, {`"/a"`, `"a"`}, {`"/a"`, `"/a?b"`},
			{`{"x":1}`, `[]`}, {`,"request":{}`, ``}, {`"about"`, `"About"`}, {`true`, `1`},
		}},
		schema.Expected: {loadSuite, aSuite, [][2]string{
			{`"note":"It cannot."`, `"note":""`}, {`,"note":"It cannot."`, ``}, {`"note"`, `"expect":{"http_status":200,` + aFreeze + `},"note"`}, {`200`, `"200"`}, {`"terminal"`, `"end_event"`},
		}},
		schema.Harness: {loadHarness, aHarness, [][2]string{
			{`"mine"`, `"my own"`}, {`"name":"p"`, `"name":""`}, {`,"version":"1"`, ``}, {`["serve"]`, `[]`}, {`["serve"]`, `"serve"`}, {`"command"`, `"commands"`},
		}},
		schema.Lint: {loadLint, aLint, [][2]string{
			{`"auto"`, `"2.0"`}, {`"warning"`, `"fatal"`}, {`"off"`, `"none"`}, {`"W9"`, `"W99"`}, {`"text"`, `"texts"`}, {`["text"]`, `"text"`}, {`"origin"`, `"origins"`},
			{`app.example"`, `app.example/x"`},
		}},
		schema.Traces: {loadTraces, aTrace, [][2]string{
			{`"shape"`, `"short"`}, {`"causal"`, `"joined"`}, {`true`, `"yes"`}, {`"CUSTOM"`, `""`}, {`"/value/*/at"`, `"value"`}, {`"time"`, `"times"`}, {`"matchers"`, `"Matchers"`},
			{`"reason"`, `"because"`}, {`true`, `null`},
		}},
	} {
		accept(name, "the good one", []byte(c.good))
		if err := c.load(t, []byte(c.good)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, edit := range c.edits {
			broken := strings.Replace(c.good, edit[0], edit[1], 1)
			refusal, err := schematest.Check(name, []byte(broken)), c.load(t, []byte(broken))
			if broken == c.good || !isRefusal(refusal) || err == nil {
				t.Errorf("%s: %s for %s: schema %v, program %v", name, edit[1], edit[0], refusal, err)
			}
		}
	}
}

// TestAssayEvents checks that the schema accepts every committed event and refuses damaged
// ones.
func TestAssayEvents(t *testing.T) {
	files, err := filepath.Glob(lane + "assay/*.ndjson")
	receipts, err2 := filepath.Glob("../artifact/assay/testdata/receipts/*.ndjson")
	if err := errors.Join(err, err2); err != nil || len(files) < 9 || len(receipts) != 3 {
		t.Fatalf("%d files, %d receipts: %v", len(files), len(receipts), err)
	}
	files = append(files, receipts...)
	for _, path := range files {
		data := testkit.Read(t, path)
		if err := schematest.Check(schema.AssayEvent, data); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, edit := range [][2]string{
			{`"assaypii":false`, `"assaypii":true`}, {`"assayseq":0`, `"assayseq":-1`}, {`"specversion":"1.0"`, `"specversion":"1.1"`}, {`"type":"example.`, `"type":"assay.`},
			{`"observed":{`, `"observed":{"x":1,`}, {`"data":{`, `"data":{"x":1,`}, {`{"assaycontenthash"`, `{"x":1,"assaycontenthash"`}, {`"source":"urn`, `"source":"x`},
			{`"assaycontenthash":"sha256:`, `"assaycontenthash":"`}, {`"messages":[`, `"messages":[{},`}, {`"assayrunid":"`, `"assayrunid":":`}, {`"time":"2026-`, `"time":"2026 `},
		} {
			broken := bytes.Replace(data, []byte(edit[0]), []byte(edit[1]), 1)
			if err := schematest.Check(schema.AssayEvent, broken); bytes.Equal(broken, data) || !isRefusal(err) {
				t.Errorf("%s: %s: %v", path, edit[1], err)
			}
		}
		other := bytes.Replace(data, []byte(`.receipt"}`), []byte(`"}`), 1)
		if strings.HasSuffix(path, ".assay.ndjson") {
			other = bytes.Replace(data, []byte(`snapshot"}`), []byte(`snapshot.receipt"}`), 1)
		}
		if err := schematest.Check(schema.AssayEvent, other); bytes.Equal(other, data) || !isRefusal(err) {
			t.Errorf("%s with the type of the other form: %v", path, err)
		}
	}
}

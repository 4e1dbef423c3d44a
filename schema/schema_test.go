package schema_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
)

const (
	lane     = "../examples/ag-ui-compacted-message-snapshot-evidence/"
	captures = "../discovery/captures"
)

// get returns a schema as JSON values.
func get(t *testing.T, name string) map[string]any {
	t.Helper()
	data, ok := schema.Get(name)
	if !ok {
		t.Fatalf("there is no schema %s", name)
	}
	value, err := schematest.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return value.(map[string]any)
}

func TestSchemas(t *testing.T) {
	if len(schema.Names()) != 15 {
		t.Errorf("the schemas are %v", schema.Names())
	}
	for _, name := range schema.Names() {
		s := get(t, name)
		for key, want := range map[string]string{
			"$schema": "https://json-schema.org/draft/2020-12/schema",
			"$id":     "https://github.com/p20export/p20export/schema/v1/" + name + ".schema.json",
			"title":   "p20export: " + schema.Description(name),
		} {
			if s[key] != want {
				t.Errorf("%s: %s is %v, want %s", name, key, s[key], want)
			}
		}
		if schema.ID(name) != s["$id"] || schema.Description(name) == "" {
			t.Errorf("%s: ID %s, Description %q", name, schema.ID(name), schema.Description(name))
		}
		compiled, err := schematest.Compile(name)
		if err != nil {
			t.Fatal(err)
		}
		if compiled.Draft != jsonschema.Draft2020 {
			t.Errorf("%s is not of draft 2020-12", name)
		}
		data, _ := schema.Get(name)
		for i, b := range data {
			if b >= 0x7f {
				t.Fatalf("%s: byte %d is not ASCII", name, i)
			}
		}
	}
	for _, name := range []string{"", "Artifact", "artifact.schema.json", "../schema.go"} {
		if _, ok := schema.Get(name); ok || schema.Description(name) != "" || schema.Inexpressible(name) != nil {
			t.Errorf("there is a schema %q", name)
		}
	}
}

func TestExamples(t *testing.T) {
	for _, name := range schema.Names() {
		examples, _ := get(t, name)["examples"].([]any)
		if len(examples) == 0 {
			t.Errorf("%s has no example", name)
		}
		for i, e := range examples {
			data, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if err := schematest.Check(name, data); err != nil {
				t.Errorf("%s: example %d: %v", name, i, err)
			}
		}
	}
}

// TestDescriptions checks that every property, at any depth, has a description.
func TestDescriptions(t *testing.T) {
	for _, name := range schema.Names() {
		s := get(t, name)
		if d, _ := s["description"].(string); d == "" {
			t.Errorf("%s has no description", name)
		}
		least := 10
		switch name {
		case schema.Scenarios:
			least = 7
		case schema.Harness, schema.Lint, schema.Traces, schema.Signature:
			least = 5
		}
		if n := checkDescriptions(t, name, s); n < least {
			t.Errorf("%s: only %d properties", name, n)
		}
	}
	for name, sections := range map[string][]string{
		schema.Artifact: {"P20 §8.1", "P20 §8.2", "P20 §8.3"},
		schema.Envelope: {"P20 §7", "P20 §8.3"},
		schema.Record:   {"P20 §4", "P20 §7", "P20 §8.3"},
	} {
		data, _ := schema.Get(name)
		for _, section := range sections {
			if !bytes.Contains(data, []byte(strings.ReplaceAll(section, "§", `\u00a7`))) {
				t.Errorf("%s does not cite %s", name, section)
			}
		}
	}
}

func checkDescriptions(t *testing.T, at string, value any) (properties int) {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			properties += checkDescriptions(t, at, e)
		}
	case map[string]any:
		for key, sub := range v {
			if key == "examples" {
				continue
			}
			if named, ok := sub.(map[string]any); ok && key == "properties" {
				for name, p := range named {
					properties++
					if d, _ := p.(map[string]any)["description"].(string); d == "" {
						t.Errorf("%s/%s has no description", at, name)
					}
					properties += checkDescriptions(t, at+"/"+name, p)
				}
				continue
			}
			properties += checkDescriptions(t, at+"/"+key, sub)
		}
	}
	return properties
}

// TestCommitted checks that the schemas accept every valid file of this repository, and
// every file that is frozen from its captures.
func TestCommitted(t *testing.T) {
	t.Parallel()
	count := make(map[string]int)
	var dirs []string
	for _, root := range []string{"../examples", captures} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.Contains(path, "/malformed/") {
				return err
			}
			if d.Name() == "capture.json" {
				dirs = append(dirs, filepath.Dir(path))
			}
			acceptFile(t, count, path)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	tool := record.Tool{Name: record.ToolName, Version: "0.1.0"}
	for _, projection := range project.Names() {
		for _, p := range artifact.Profiles() {
			for i, dir := range dirs {
				snapshot := project.Only
				if projection == project.EmittedSnapshotText {
					snapshot = []project.Selection{project.Last, project.First, "1"}[i%3]
				}
				out := t.TempDir()
				rows, err := freeze.Freeze(context.Background(), dir, freeze.Settings{
					Settings: project.Settings{Projection: projection, Profile: p, Snapshot: snapshot}, Dir: out, Tool: tool,
				})
				if err != nil || len(rows) == 0 {
					t.Fatalf("%s: %v", dir, err)
				}
				files, err := filepath.Glob(out + "/*")
				if err != nil {
					t.Fatal(err)
				}
				for _, path := range files {
					acceptFile(t, count, path)
				}
			}
		}
	}
	for _, name := range []string{schema.Artifact, schema.ArtifactAssay, schema.Envelope, schema.Record, schema.Capture} {
		if count[name] < 20 {
			t.Errorf("%s was applied to %d files", name, count[name])
		}
	}
}

// acceptFile applies the schemas for a file's name.
func acceptFile(t *testing.T, count map[string]int, path string) {
	t.Helper()
	accept := func(name string, check func(string, []byte) error) {
		count[name]++
		if err := check(name, testkit.Read(t, path)); err != nil {
			t.Errorf("%s: %s: %v", name, path, err)
		}
	}
	switch {
	case strings.HasSuffix(path, ".artifact.json"):
		accept(schema.Artifact, schematest.Check)
		if a, _ := artifact.Decode(testkit.Read(t, path), artifact.Assay); a != nil {
			accept(schema.ArtifactAssay, schematest.Check)
		}
	case strings.HasSuffix(path, ".envelope.ndjson"):
		accept(schema.Envelope, schematest.CheckLines)
	case strings.HasSuffix(path, ".record.json"):
		accept(schema.Record, schematest.Check)
	case filepath.Base(path) == "capture.json":
		accept(schema.Capture, schematest.Check)
	}
}

// TestMalformed checks that the schemas refuse the malformed files of the sample lane, which
// break only rules that a schema can express.
func TestMalformed(t *testing.T) {
	files, err := filepath.Glob(lane + "malformed/*")
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, path := range files {
		var err error
		switch data := testkit.Read(t, path); {
		case strings.HasSuffix(path, ".artifact.json"):
			err = schematest.Check(schema.Artifact, data)
		case strings.HasSuffix(path, ".envelope.ndjson"):
			err = schematest.CheckLines(schema.Envelope, data)
		default:
			continue
		}
		refused++
		if !isRefusal(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if refused < 4 {
		t.Errorf("only %d malformed files", refused)
	}
}

// isRefusal reports whether err is a refusal by a schema.
func isRefusal(err error) bool { return errors.Is(err, schematest.ErrRefused) }

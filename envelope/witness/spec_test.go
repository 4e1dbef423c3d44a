//go:build spec

package witness_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/judge"
)

// event.Check finds a fault in an event exactly if the schema of the specification refuses
// the event.
func TestSpecEvents(t *testing.T) {
	for _, p := range []event.Protocol{event.V1, event.V1Minor1, event.Draft} {
		t.Run(string(p), func(t *testing.T) {
			schema := specification(t, p)
			n, refused, wrong := judge.Streams(20000), 0, 0
			for i, text := range events(n) {
				faults, err := event.Check([]byte(text), p)
				problem := validate(t, schema, text)
				if problem != nil {
					refused++
				}
				if (problem != nil) == (err != nil || len(faults) > 0) {
					continue
				}
				if wrong++; wrong <= 10 {
					t.Errorf("event %d: the schema says %v, we say %v, %+v\n%s", i, problem, err, faults, text)
				}
			}
			if wrong > 0 {
				t.Errorf("%d of %d events differ", wrong, n)
			}
			if refused < n/4 || refused > n*9/10 {
				t.Errorf("%d of %d events are refused", refused, n)
			}
			t.Logf("%d events, %d of them refused", n, refused)
		})
	}
}

// events returns n events: templates with one blemish, and one in five from generated
// streams, half of them misshapen.
func events(n int) []string {
	list := make([]string, 0, n)
	for seed := uint64(0); len(list) < n; seed++ {
		r := rand.New(rand.NewPCG(34, seed))
		stream := judge.Generate(r, judge.Generator{With: judge.OddPatches})
		for range 4 * len(stream) {
			list = append(list, blemished(r))
		}
		for _, text := range stream {
			text = named(r, text)
			if r.IntN(2) == 0 {
				text = misshape(r, text)
			}
			list = append(list, text)
		}
	}
	return list[:n]
}

// specification returns the compiled schema of a version from the directory P20EXPORT_SPEC.
func specification(t *testing.T, p event.Protocol) *jsonschema.Schema {
	t.Helper()
	dir := os.Getenv("P20EXPORT_SPEC")
	if dir == "" {
		t.Fatal("P20EXPORT_SPEC does not name a directory with 1.1/schema.json and draft/schema.json: see CONTRIBUTING.md")
	}
	data, err := os.ReadFile(filepath.Join(dir, string(p), "schema.json"))
	if p == event.V1 && errors.Is(err, fs.ErrNotExist) {
		t.Log("there is no schema of 1.0; it is that of 1.1 without encryptedValueType")
		if data, err = os.ReadFile(filepath.Join(dir, string(event.V1Minor1), "schema.json")); err == nil {
			data = withoutType(t, data)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.LoadURL = func(url string) (io.ReadCloser, error) { return nil, errors.New("the schema refers to " + url) }
	const name = "schema.json"
	if err := c.AddResource(name, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// withoutType returns a schema without the properties encryptedValueType.
func withoutType(t *testing.T, data []byte) []byte {
	t.Helper()
	var schema any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "encryptedValueType")
			for _, item := range v {
				walk(item)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	walk(schema)
	out, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// validate returns why a schema refuses an event, or nil.
func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return s.Validate(value)
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/schema"
)

// schemas generates every schema and returns their bytes by name.
func schemas() (map[string][]byte, error) {
	g, err := newGenerator()
	if err != nil {
		return nil, err
	}
	generated := make(map[string][]byte)
	for name, build := range map[string]func() (*jsonschema.Schema, error){
		schema.Artifact:      func() (*jsonschema.Schema, error) { return g.artifact(artifact.V1) },
		schema.ArtifactAssay: func() (*jsonschema.Schema, error) { return g.artifact(artifact.Assay) },
		schema.Envelope:      g.envelope,
		schema.Record:        g.record,
		schema.Signature:     g.signature,
		schema.Capture:       g.capture,
		schema.AssayEvent:    g.assayEvent,
		schema.Baseline:      g.baseline,
		schema.Scenarios:     g.scenarios,
		schema.Expected:      g.expected,
		schema.Harness:       g.harness,
		schema.Lint:          g.lint,
		schema.Traces:        g.traces,
		schema.Log:           g.log,
		schema.Rows:          g.rows,
	} {
		s, err := build()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.Version = jsonschema.Version
		s.ID = jsonschema.ID(schema.ID(name))
		s.Title = "p20export: " + schema.Description(name)
		if generated[name], err = encode(s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return generated, nil
}

// encode returns a schema with two-space indent, in ASCII. Every character that an editor
// might not show, or might change, is escaped.
func encode(s *jsonschema.Schema) ([]byte, error) {
	compact, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	indented, err := jsontext.AppendFormat(nil, compact, jsontext.WithIndent("  "))
	if err != nil {
		return nil, err
	}
	var ascii []byte
	for len(indented) > 0 {
		r, n := utf8.DecodeRune(indented)
		switch {
		case r < 0x7f:
			ascii = append(ascii, indented[0])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			ascii = fmt.Appendf(ascii, `\u%04x\u%04x`, high, low)
		default:
			ascii = fmt.Appendf(ascii, `\u%04x`, r)
		}
		indented = indented[n:]
	}
	return append(ascii, '\n'), nil
}

// sample is the directory of the examples. Another test compares its files with the
// captures they are made from.
const sample = "examples/ag-ui-compacted-message-snapshot-evidence/"

// examples returns JSON files of the sample lane.
func examples(names ...string) ([]any, error) {
	var all []any
	for _, name := range names {
		data, err := os.ReadFile(sample + name)
		if err != nil {
			return nil, err
		}
		all = append(all, json.RawMessage(data))
	}
	return all, nil
}

// Package schema contains the JSON Schemas (draft 2020-12) of the files and rows that
// this program writes and reads, for editors, tests and other languages.
//
// cmd/p20export/internal/generate/schema generates them from the Go types. The schemas
// of artifacts, envelopes and captures accept everything that the Go decoders accept.
// The other schemas describe what the program writes; their decoders accept more, such
// as null for an absent key. Inexpressible lists the rules that a schema cannot express.
// The decoders are authoritative.
package schema

import (
	"embed"
	"slices"
)

// The names of the schemas.
const (
	Artifact      = "artifact"
	ArtifactAssay = "artifact-assay"
	Envelope      = "envelope"
	Record        = "record"
	Signature     = "signature"
	Capture       = "capture"
	AssayEvent    = "assay-event"
	Baseline      = "baseline"
	Scenarios     = "scenarios"
	Expected      = "expected"
	Harness       = "harness"
	Lint          = "lint"
	Traces        = "trace"
	Log           = "log"
	Rows          = "rows"
)

// Base is the prefix of the schemas' identifiers.
const Base = "https://github.com/p20export/p20export/schema/v1/"

const suffix = ".schema.json"

//go:embed *.schema.json
var files embed.FS

// descriptions lists the schemas in the order of Names.
var descriptions = []struct{ name, text string }{
	{Artifact, "an artifact, profile v1"},
	{ArtifactAssay, "an artifact, profile assay"},
	{Envelope, "the three events of a bounded envelope, as an array"},
	{Record, "a record: how an artifact was made, as an in-toto Statement v1"},
	{Signature, "NAME.record.dsse.json, the signatures of a record"},
	{Capture, "capture.json, the manifest of a capture directory"},
	{AssayEvent, "an Assay event, a placeholder or a receipt"},
	{Baseline, "a baseline: the structure of runs, to compare later runs with"},
	{Scenarios, "a list of scenarios"},
	{Expected, "expected.json, the expected captures of a harness"},
	{Harness, "harness.json, how to start the server of an integration"},
	{Lint, "lint.json, the settings of lint"},
	{Traces, "trace.json, the settings of a directory of goldens"},
	{Log, "one line of a thread of a log in the portable form"},
	{Rows, "one line of the JSON output of a command"},
}

// Names returns the names of all schemas.
func Names() []string {
	var names []string
	for _, s := range descriptions {
		names = append(names, s.name)
	}
	return names
}

// Description returns a one-line description of the named schema, or an empty string
// if there is no such schema.
func Description(name string) string {
	for _, s := range descriptions {
		if s.name == name {
			return s.text
		}
	}
	return ""
}

// FileName returns the name of the schema's file.
func FileName(name string) string { return name + suffix }

// ID returns the schema's identifier, its $id.
func ID(name string) string { return Base + FileName(name) }

// Get returns the named schema, and whether it exists.
func Get(name string) ([]byte, bool) {
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	data, err := files.ReadFile(FileName(name))
	return data, err == nil
}

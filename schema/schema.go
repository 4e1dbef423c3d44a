// Package schema holds the JSON Schemas (draft 2020-12) of the files and rows
// this program writes and reads, for editors, tests and other languages.
//
// They are made from the Go types by cmd/p20export/internal/generate/schema and embedded as
// bytes. The schemas of artifacts, envelopes and captures never refuse what the Go
// decoder accepts; the others are of what is written, of which decoders read more,
// such as null for a key that is absent. Inexpressible lists what they cannot say;
// the decoder decides.
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
	Capture       = "capture"
	AssayEvent    = "assay-event"
	Baseline      = "baseline"
	Scenarios     = "scenarios"
	Expected      = "expected"
	Harness       = "harness"
	Rows          = "rows"
)

// Base is where the identifiers of the schemas begin.
const Base = "https://github.com/p20export/p20export/schema/v1/"

const suffix = ".schema.json"

//go:embed *.schema.json
var files embed.FS

// abouts has the schemas in the order in which they are listed.
var abouts = []struct{ name, about string }{
	{Artifact, "an artifact, profile v1"},
	{ArtifactAssay, "an artifact, profile assay"},
	{Envelope, "the three events of a bounded envelope, as an array"},
	{Record, "a record: how an artifact came about, an in-toto Statement v1"},
	{Capture, "capture.json, the manifest of a capture directory"},
	{AssayEvent, "one of Assay's events, a placeholder or a receipt"},
	{Baseline, "a baseline: the shape of runs to compare later ones with"},
	{Scenarios, "a list of scenarios"},
	{Expected, "expected.json, what a harness makes of the scenarios"},
	{Harness, "harness.json, how a server with an integration is started"},
	{Rows, "one line of the JSON output of a command"},
}

// Names lists the schemas.
func Names() []string {
	var names []string
	for _, s := range abouts {
		names = append(names, s.name)
	}
	return names
}

// Description says in one line what the named schema describes; it is empty when
// there is no such schema.
func Description(name string) string {
	for _, s := range abouts {
		if s.name == name {
			return s.about
		}
	}
	return ""
}

// FileName returns the name of the schema's file.
func FileName(name string) string { return name + suffix }

// ID returns the schema's identifier, its $id.
func ID(name string) string { return Base + FileName(name) }

// Get returns the bytes of the named schema.
func Get(name string) ([]byte, bool) {
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	data, err := files.ReadFile(FileName(name))
	return data, err == nil
}

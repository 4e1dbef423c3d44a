package main

import (
	"encoding/json"
	"os"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/capture"
)

// exampleCapture is a real capture of the ADK middleware.
const exampleCapture = "discovery/captures/adk/one-turn/"

// Patterns of URLs: userInfo matches user information before the host, which a manifest
// never has, and bareURL matches URLs without query and fragment.
const (
	userInfo = "^([A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*@"
	bareURL  = "^[^?#]*#?$"
)

// capture generates the schema of capture manifests.
func (g *generator) capture() (*jsonschema.Schema, error) {
	s := g.reflect(capture.Manifest{}, false)
	s.OneOf = responses()
	data, err := os.ReadFile(exampleCapture + capture.ManifestName)
	if err != nil {
		return nil, err
	}
	s.Examples = []any{json.RawMessage(data)}
	rules := []rule{
		{"", nil, "capture.json: what was captured, when, and how the response ended. It means that the capture was closed, not that the run succeeded. The other files of the capture contain the raw events as they were emitted (P20 §14.2)."},
		{"schema", constant(capture.ManifestSchema), "Identifies the format of the manifest."},
		{"source/kind", nil, "Where the bytes came from: HTTP, the recording proxy, or a file."},
		{"source/method", nil, "The request's method."},
		{"source/url", func(s *jsonschema.Schema) {
			s.Pattern, s.Not = bareURL, &jsonschema.Schema{Pattern: userInfo}
		}, ""},
		{"source/proxy", func(s *jsonschema.Schema) {
			s.Pattern, s.Not = bareURL, &jsonschema.Schema{Pattern: userInfo}
		}, ""},
		{"source/status", func(s *jsonschema.Schema) { s.Minimum, s.Maximum = "0", "999" }, ""},
		{"source/content_type", nil, "The content type of the response, unchanged."},
		{"framing", nil, "The framing of events in the response: an event stream, one JSON value per line, one JSON array, or none of these."},
		{"started_at", matching(manifestTime), "The time at which the request was sent or the import began: RFC 3339 in UTC with microseconds."},
		{"first_byte_at", matching(manifestTime), "The time at which the first byte of the response arrived; absent if no byte arrived or arrivals were not recorded."},
		{"ended_at", matching(manifestTime), "The time at which the response ended."},
		{"end", nil, "How the response ended: complete, cancelled by the user, truncated by an error, stopped by a limit of the capture, or stored only in part."},
		{"files/response.sse", nil, "The response as it arrived, an event stream."},
		{"files/response.ndjson", nil, "The response as it arrived, one JSON value per line."},
		{"files/response.json", nil, "The response as it arrived, one JSON array."},
		{"files/response.opaque", nil, "The response as it arrived, in none of the other framings."},
		{"files/request.json", nil, "The request body as it was sent."},
		{"files/arrivals.tsv", nil, "A line for each network read: bytes so far, microseconds since started_at."},
		{"labels", nil, "Labels that the user gave the capture."},
		{"tool/name", func(s *jsonschema.Schema) { s.MinLength = uintPtr(1) }, "The program's name."},
		{"tool/version", func(s *jsonschema.Schema) { s.MinLength = uintPtr(1) }, "The program's version."},
	}
	for _, framing := range framings() {
		rules = append(rules, file(framing.FileName())...)
	}
	return s, apply(s, append(append(rules, file(capture.RequestName)...), file(capture.ArrivalsName)...))
}

// file returns the rules for one file of a capture. Decoding treats an absent size as
// zero.
func file(name string) []rule {
	at := "files/" + name
	return []rule{
		{at, func(s *jsonschema.Schema) { s.Required = []string{"digest"} }, ""},
		{at + "/bytes", atLeast("0"), "The size of the file in bytes; zero if absent."},
		{at + "/digest", nil, "SHA-256 of the file's bytes, checked on every read."},
	}
}

// responses returns one branch for each framing, which requires the file of that framing
// and excludes the other responses.
func responses() []*jsonschema.Schema {
	var branches []*jsonschema.Schema
	for _, framing := range framings() {
		files := &jsonschema.Schema{
			Description: "The only response is " + framing.FileName() + ".",
			Required:    []string{framing.FileName()},
			Not:         new(jsonschema.Schema),
		}
		for _, other := range framings() {
			if other != framing {
				files.Not.AnyOf = append(files.Not.AnyOf, &jsonschema.Schema{Required: []string{other.FileName()}})
			}
		}
		branch := property("framing", equalTo(framing, "The framing is "+string(framing)+"."))
		branch.Properties.Set("files", files)
		branches = append(branches, branch)
	}
	return branches
}

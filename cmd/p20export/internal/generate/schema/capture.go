package main

import (
	"encoding/json"
	"os"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/capture"
)

// exampleCapture is a real capture of the ADK middleware.
const exampleCapture = "discovery/captures/adk/one-turn/"

// Forms of a URL that a manifest never has: user info before the host, and
// anything after a question mark or a number sign.
const (
	userInfo = "^([A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*@"
	bareURL  = "^[^?#]*#?$"
)

// capture makes the schema of capture manifests.
func (g *generator) capture() (*jsonschema.Schema, error) {
	s := g.reflect(capture.Manifest{}, false)
	s.OneOf = responses()
	data, err := os.ReadFile(exampleCapture + capture.ManifestName)
	if err != nil {
		return nil, err
	}
	s.Examples = []any{json.RawMessage(data)}
	rules := []rule{
		{"", nil, "capture.json: what was captured, when, and how it ended. It means that the capture was closed, not that the run succeeded. The capture beside it is the raw event sequence as it was emitted (P20 §14.2)."},
		{"schema", constant(capture.ManifestSchema), "Says which shape of manifest this is."},
		{"source/kind", nil, "How the bytes came: over HTTP, through the recording proxy, or from a file."},
		{"source/method", nil, "The request's method."},
		{"source/url", func(s *jsonschema.Schema) {
			s.Pattern, s.Not = bareURL, &jsonschema.Schema{Pattern: userInfo}
		}, ""},
		{"source/proxy", func(s *jsonschema.Schema) {
			s.Pattern, s.Not = bareURL, &jsonschema.Schema{Pattern: userInfo}
		}, ""},
		{"source/status", func(s *jsonschema.Schema) { s.Minimum, s.Maximum = "0", "999" }, ""},
		{"source/content_type", nil, "The response's content type, as it was sent."},
		{"framing", nil, "How events lie in the response: an event stream, one JSON value a line, or one JSON array."},
		{"started_at", timed(manifestTime), "When the request was sent, or the import began: RFC 3339 in UTC with microseconds."},
		{"first_byte_at", timed(manifestTime), "When the first byte of the response arrived; absent when none did or arrivals were not noted."},
		{"ended_at", timed(manifestTime), "When the response ended."},
		{"end", nil, "How the response ended: to its own end, cancelled by whoever captured it, broken off, or by a limit set for the capture."},
		{"files/response.sse", nil, "The response as it arrived, framed as an event stream."},
		{"files/response.ndjson", nil, "The response as it arrived, one JSON value a line."},
		{"files/response.json", nil, "The response as it arrived, one JSON array."},
		{"files/request.json", nil, "The request body as it was sent."},
		{"files/arrivals.tsv", nil, "A line for each network read: bytes so far, microseconds since started_at."},
		{"labels", nil, "What whoever captured it wrote on it."},
		{"tool/name", func(s *jsonschema.Schema) { s.MinLength = number(1) }, "The program's name."},
		{"tool/version", func(s *jsonschema.Schema) { s.MinLength = number(1) }, "The program's version."},
	}
	for _, framing := range framings() {
		rules = append(rules, file(framing.FileName())...)
	}
	return s, apply(s, append(append(rules, file(capture.RequestName)...), file(capture.ArrivalsName)...))
}

// file has the rules of one file of a capture. Decoding takes an absent size
// for zero.
func file(name string) []rule {
	at := "files/" + name
	return []rule{
		{at, func(s *jsonschema.Schema) { s.Required = []string{"digest"} }, ""},
		{at + "/bytes", atLeast("0"), "The file's size in bytes; zero when it is absent."},
		{at + "/digest", nil, "SHA-256 of the file's bytes, checked on every read."},
	}
}

// responses has one branch for each framing: the file of that framing is there,
// and no other response.
func responses() []*jsonschema.Schema {
	var branches []*jsonschema.Schema
	for _, framing := range framings() {
		files := &jsonschema.Schema{
			Description: "The one response is " + framing.FileName() + ".",
			Required:    []string{framing.FileName()},
			Not:         new(jsonschema.Schema),
		}
		for _, other := range framings() {
			if other != framing {
				files.Not.AnyOf = append(files.Not.AnyOf, &jsonschema.Schema{Required: []string{other.FileName()}})
			}
		}
		branch := with("framing", exactly(framing, "The framing is "+string(framing)+"."))
		branch.Properties.Set("files", files)
		branches = append(branches, branch)
	}
	return branches
}

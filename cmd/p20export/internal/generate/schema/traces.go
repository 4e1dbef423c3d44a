package main

import (
	"encoding/json"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/project/golden"
)

// traces generates the schema of the settings of goldens.
func (g *generator) traces() (*jsonschema.Schema, error) {
	s := g.reflectFile(golden.Config{})
	s.Examples = []any{json.RawMessage(`{"text":"shape","matchers":[{"event":"STATE_SNAPSHOT","pointer":"/snapshot/steps/*/started","is":"time","reason":"the time of day"}]}`)}
	rules := []rule{
		{"", nil, "trace.json: what counts when captures are compared with the goldens in its directory (docs/traces.md)."},
		{"$schema", nil, "The address of this schema, for editors."},
		{"raw", nil, "Whether RAW events count. The default is false."},
		{"matchers/*/event", func(s *jsonschema.Schema) { s.Enum = enum(eventnames.All()...).Enum }, "The type of the events. Matchers of STATE_SNAPSHOT and ACTIVITY_SNAPSHOT also match what patches change."},
		{"matchers/*/pointer", func(s *jsonschema.Schema) { s.Pattern = `^/` }, "The JSON Pointer of the values in the event; a token * stands for every member or element."},
		{"matchers/*/is", func(s *jsonschema.Schema) { s.Enum = enum(trace.Matches()...).Enum }, "What the values are, so that others do not differ: a number, an id or a time; or ignore, for values that do not count at all."},
		{"matchers/*/reason", nil, "Why the values are random, for people."},
	}
	for _, c := range golden.Choices() {
		rules = append(rules, rule{c.Name, func(s *jsonschema.Schema) { s.Enum = enum(c.Usual, c.Other).Enum }, "Whether to " + c.Meaning + ". The default is " + c.Usual + "."})
	}
	return s, apply(s, rules)
}

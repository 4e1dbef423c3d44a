package main

import (
	"encoding/json"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/lint"
)

// lint generates the schema of configurations of lint.
func (g *generator) lint() (*jsonschema.Schema, error) {
	s := g.reflectFile(lint.Config{})
	s.Examples = []any{json.RawMessage(`{"protocol":"auto","failOn":"warning","rules":{"W9":"off","G15":"warning","event_altered":"info"},"require":["text","tool-calls"],"origin":"https://app.example"}`)}
	severity := enum(finding.Error, finding.Warning, finding.Info)
	protocols := append([]event.Protocol{event.Auto}, event.Protocols()...)
	return s, apply(s, []rule{
		{"", nil, "lint.json: the settings of lint. Flags win over them."},
		{"protocol", func(s *jsonschema.Schema) { s.Enum = enum(protocols...).Enum }, "The version of AG-UI whose rules are applied; auto is the one that RUN_STARTED declares."},
		{"failOn", func(s *jsonschema.Schema) { s.Enum = severity.Enum }, "The least severity that makes the exit status 1. The default is error."},
		{"rules", func(s *jsonschema.Schema) {
			s.PropertyNames = enum(lint.RuleNames()...)
			s.AdditionalProperties = enum(finding.Error, finding.Warning, finding.Info, lint.Off)
		}, "The severities of rules that do not have the default one. A rule is named by its number in docs/sequence.md or docs/lint.md, or by its code if it has none."},
		{"require", func(s *jsonschema.Schema) { s.Items.Enum = enum(lint.Features()...).Enum }, "The features that each capture has to exercise (docs/lint.md)."},
		{"origin", func(s *jsonschema.Schema) { s.Pattern = `^[a-z][a-z0-9+.-]*://[^/?#]+$` }, "The origin of the pages that use the endpoint, such as https://app.example."},
	})
}

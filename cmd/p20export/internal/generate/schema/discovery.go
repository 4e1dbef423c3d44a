package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/baseline"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/project"
)

// Patterns of the names of scenarios and harnesses, and of the paths of scenarios.
const (
	plainName = "^[a-z0-9]+([-.][a-z0-9]+)*$"
	plainPath = "^/[^?#]*$"
)

// exampleHarness is the harness whose files are examples.
const exampleHarness = "discovery/harness/adk/"

// reflectFile generates the schema of a file that the discovery commands read and write.
// Its keys have the same meaning as in rows.
func (g *generator) reflectFile(v any) *jsonschema.Schema {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, Mapper: mappedInRows, LookupComment: g.comment}
	s := r.Reflect(v)
	describeAll(s)
	return s
}

func describeAll(s *jsonschema.Schema) {
	for ; s.Items != nil; s = s.Items {
	}
	if s.Properties == nil {
		return
	}
	describe("", s)
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		describeAll(p.Value)
	}
}

// baseline generates the schema of baselines as this program writes them.
func (g *generator) baseline() (*jsonschema.Schema, error) {
	s := g.reflectFile(baseline.Baseline{})
	var runs []analysis.Run
	for _, dir := range []string{exampleCapture, "discovery/captures/adk/model-error"} {
		runs = append(runs, analysis.Analyze(context.Background(), dir, artifact.V1, nil)...)
	}
	b, err := baseline.New(runs, artifact.V1)
	if err != nil {
		return nil, err
	}
	data, err := b.Encode()
	if err != nil {
		return nil, err
	}
	s.Examples = []any{json.RawMessage(data)}
	return s, apply(s, []rule{
		{"", nil, "A baseline: the structure of runs, without ids, times, texts and sizes, to compare later runs with."},
		{"schema", constant(baseline.Schema), "Identifies the format of the file."},
		{"contract", nil, "The profile that the runs were compared with."},
		{"runs", func(s *jsonschema.Schema) { s.MinItems = uintPtr(1) }, "The runs, sorted by the name of their capture and their number."},
		{"runs/*/capture", func(s *jsonschema.Schema) { s.MinLength = uintPtr(1) }, "The name of the capture, which identifies the run together with its number."},
		{"runs/*/run", atLeast("0"), "The number of the run in its capture, counted from 1; 0 for a capture without a run."},
		{"runs/*/verdict", func(s *jsonschema.Schema) { s.Enum = enum(analysis.Verdicts()...).Enum }, ""},
		{"runs/*/terminal", func(s *jsonschema.Schema) { s.Enum = enum(envelope.RunFinished, envelope.RunError).Enum }, ""},
		{"runs/*/projections", func(s *jsonschema.Schema) { s.MinItems = uintPtr(len(project.Names())) }, "The result of each projection, and of selecting the last of several snapshots."},
		{"runs/*/projections/*/verdict", func(s *jsonschema.Schema) { s.Enum = enum(project.Frozen, project.Refused).Enum }, ""},
		{"runs/*/projections/*/omissions/*/count", atLeast("1"), ""},
		{"runs/*/projections/*/reasons/*/count", atLeast("1"), ""},
		{"runs/*/snapshots", func(s *jsonschema.Schema) { s.MaxItems = uintPtr(analysis.MaxSnapshots) }, ""},
		{"runs/*/streamed_ids", retentions, ""},
		{"runs/*/requested_ids", retentions, "The same for the ids of the request."},
		{"runs/*/http_status", status, ""},
	})
}

func retentions(s *jsonschema.Schema) {
	s.Enum = enum(baseline.KeptAll, baseline.KeptSome, baseline.KeptNone).Enum
}

func status(s *jsonschema.Schema) { s.Minimum, s.Maximum = "0", "999" }

// scenarios generates the schema of lists of scenarios.
func (g *generator) scenarios() (*jsonschema.Schema, error) {
	s := g.reflectFile(scenario.List{})
	list, err := scenario.BuiltinList()
	if err != nil {
		return nil, err
	}
	list.Scenarios = list.Scenarios[:2]
	data, err := list.Encode()
	if err != nil {
		return nil, err
	}
	s.Examples = []any{json.RawMessage(data)}
	return s, apply(s, []rule{
		{"", nil, "A list of scenarios: requests that are posted one after the other and captured."},
		{"scenarios", func(s *jsonschema.Schema) { s.MinItems = uintPtr(1) }, "The scenarios, in the order of their captures."},
		{"scenarios/*/name", named, "The unique name of the scenario, which is also that of its capture directory."},
		{"scenarios/*/path", func(s *jsonschema.Schema) { s.Pattern = plainPath }, ""},
		{"scenarios/*/request", func(s *jsonschema.Schema) { s.Type = "object" }, "The body of the request, an AG-UI run input."},
	})
}

func named(s *jsonschema.Schema) {
	s.Pattern, s.Not = plainName, &jsonschema.Schema{Const: capture.ManifestName}
}

// expected generates the schema of the expectations of a harness.
func (g *generator) expected() (*jsonschema.Schema, error) {
	s := g.reflectFile(scenario.Suite{})
	data, err := os.ReadFile(exampleHarness + scenario.ExpectedName)
	if err != nil {
		return nil, err
	}
	var suite scenario.Suite
	if err := json.Unmarshal(data, &suite); err != nil {
		return nil, err
	}
	suite.Cases = suite.Cases[:1]
	if data, err = suite.Encode(); err != nil {
		return nil, err
	}
	s.Examples = []any{json.RawMessage(data)}
	rules := []rule{
		{"", nil, "expected.json: the expected capture of each scenario of a list."},
		{"scenarios", nil, "Each scenario of the list once, in the same order."},
		{"scenarios/*", func(s *jsonschema.Schema) {
			s.OneOf = []*jsonschema.Schema{{Required: []string{"note"}}, {Required: []string{"expect"}}}
		}, ""},
		{"scenarios/*/name", named, "The name of the scenario."},
		{"scenarios/*/note", func(s *jsonschema.Schema) { s.MinLength = uintPtr(1) }, "Why the integration cannot express the scenario; it is then skipped."},
		{"scenarios/*/expect", nil, "The expected properties of the capture."},
		{"scenarios/*/expect/http_status", status, ""},
	}
	for _, name := range project.Names() {
		rules = append(rules, rule{fmt.Sprintf("scenarios/*/expect/freeze/%s/verdict", name), func(s *jsonschema.Schema) { s.Enum = enum(project.Frozen, project.Refused).Enum }, ""})
	}
	return s, apply(s, rules)
}

// harness generates the schema of descriptions of harnesses.
func (g *generator) harness() (*jsonschema.Schema, error) {
	s := g.reflectFile(scenario.Harness{})
	data, err := os.ReadFile(exampleHarness + scenario.HarnessName)
	if err != nil {
		return nil, err
	}
	s.Examples = []any{json.RawMessage(data)}
	notEmpty := func(s *jsonschema.Schema) { s.MinLength = uintPtr(1) }
	return s, apply(s, []rule{
		{"", nil, "harness.json: how to start the server of an integration."},
		{"name", func(s *jsonschema.Schema) { s.Pattern = plainName }, "The name of the harness."},
		{"integration", nil, "The package that the server runs."},
		{"integration/name", notEmpty, "The name of the package."},
		{"integration/version", notEmpty, "The version of the package."},
		{"command", func(s *jsonschema.Schema) { s.MinItems = uintPtr(1) }, ""},
	})
}

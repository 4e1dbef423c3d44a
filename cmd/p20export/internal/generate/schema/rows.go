package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/prune"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// snake matches a code in lower_snake_case. Later versions of the program may have more
// codes.
const snake = "^[a-z0-9]+(_[a-z0-9]+)*$"

// rows generates the schema of JSON rows, with a definition for each type of row and for
// each type within them. Rows may have more keys.
func (g *generator) rows() (*jsonschema.Schema, error) {
	names := map[reflect.Type]string{ // those of types that were named in another package
		reflect.TypeFor[lineage.RunRow]():    "render_lineagerun",
		reflect.TypeFor[lineage.BranchRow](): "render_lineagebranch",
	}
	for _, row := range render.RowTypes() {
		names[row.Of] = row.Name
	}
	s := &jsonschema.Schema{
		Type:        "object",
		Description: "One row of --format json, on one line. The first key of every row, type, names its form. Later versions of the program may add types and keys; readers must ignore unknown ones.",
		Required:    []string{"type"},
		Definitions: jsonschema.Definitions{},
	}
	types := make(map[string]reflect.Type)
	var duplicates []string
	r := jsonschema.Reflector{
		Anonymous:                 true,
		AllowAdditionalProperties: true,
		Mapper:                    mappedInRows,
		LookupComment:             g.comment,
		Namer: func(t reflect.Type) string {
			if t.Name() == "" {
				return ""
			}
			name, named := names[t]
			if !named {
				name = filepath.Base(t.PkgPath()) + "_" + strings.ToLower(t.Name())
			}
			if other := types[name]; other != nil && other != t {
				duplicates = append(duplicates, name)
			}
			types[name] = t
			return name
		},
	}
	for _, row := range render.RowTypes() {
		for name, def := range r.ReflectFromType(row.Of).Definitions {
			s.Definitions[name] = def
		}
		s.OneOf = append(s.OneOf, &jsonschema.Schema{Ref: "#/$defs/" + row.Name})
	}
	if duplicates != nil {
		return nil, fmt.Errorf("two Go types are named %q", duplicates)
	}
	for name, def := range s.Definitions {
		if err := nullable(def, types[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		describe(name, def)
	}
	for name, values := range map[string][]project.Verdict{
		"scenario": scenario.Verdicts(), "scenario_outcome": {project.Frozen, project.Refused}, "analysis_projection": {project.Frozen, project.Refused},
		"recovery": append(render.RecoveryVerdicts(), project.Failed), "pruned": {prune.Removed, prune.Removable, prune.Kept, project.Failed},
		"log_seal": {project.Written, project.Skipped, project.Refused}, "log_verify": render.SealVerdicts(), "log_proof": {project.Written, project.Verified, project.Refused},
	} {
		if verdict, ok := s.Definitions[name].Properties.Get("verdict"); ok {
			verdict.Enum = enum(values...).Enum
		}
	}
	for _, row := range render.RowTypes() {
		def := s.Definitions[row.Name]
		def.Description = row.About
		properties := jsonschema.NewProperties()
		properties.Set("type", &jsonschema.Schema{Const: row.Name, Description: "The type of row."})
		for p := def.Properties.Oldest(); p != nil; p = p.Next() {
			properties.Set(p.Key, p.Value)
		}
		def.Properties, def.Required = properties, append([]string{"type"}, def.Required...)
	}
	data, err := os.ReadFile(sample + "malformed/validate.ndjson")
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		s.Examples = append(s.Examples, json.RawMessage(line))
	}
	return s, nil
}

// nullable allows null for properties whose fields are pointers or maps, except for those that are
// omitted if nil.
func nullable(s *jsonschema.Schema, t reflect.Type) error {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			if err := nullable(s, f.Type); err != nil {
				return err
			}
			continue
		}
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if kind := f.Type.Kind(); kind != reflect.Pointer && kind != reflect.Map || key == "-" || !f.IsExported() || options != "" {
			continue
		}
		property, ok := s.Properties.Get(key)
		if !ok {
			return fmt.Errorf("no property %s", key)
		}
		about := property.Description
		property.Description = ""
		s.Properties.Set(key, &jsonschema.Schema{Description: about, AnyOf: []*jsonschema.Schema{property, {Type: "null"}}})
	}
	return nil
}

// mappedInRows returns the schemas of types that need more than the schema of their kind,
// or that differ in rows and in files.
func mappedInRows(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[finding.Code]():
		return &jsonschema.Schema{Type: "string", Pattern: snake}
	case reflect.TypeFor[finding.Severity]():
		return enum(finding.Error, finding.Warning, finding.Info)
	case reflect.TypeFor[analysis.Verdict]():
		return enum(append(analysis.Verdicts(), analysis.Missing, analysis.Failed)...)
	case reflect.TypeFor[project.Verdict]():
		return enum(render.Verdicts()...)
	case reflect.TypeFor[lineage.End]():
		return enum(lineage.Open, lineage.Finished, lineage.Interrupted, lineage.Cancelled, lineage.Failed, lineage.Cut)
	case reflect.TypeFor[lineage.Edge]():
		return enum(lineage.Root, lineage.Named, lineage.Implied)
	case reflect.TypeFor[store.RunEnd]():
		return enum(store.Open, store.Finished, store.Interrupted, store.Cancelled, store.Failed, store.Cut)
	case reflect.TypeFor[store.Kind]():
		return enum(store.Event, store.Input, store.Closing, store.End)
	case reflect.TypeFor[transfer.Form]():
		return enum(transfer.FormCapture, transfer.FormLog)
	case reflect.TypeFor[gate.Decision]():
		return enum(gate.Decisions()...)
	case reflect.TypeFor[gate.Requirement]():
		return enum(gate.Requirements()...)
	case reflect.TypeFor[scenario.Cause]():
		return enum(scenario.Causes()...)
	case reflect.TypeFor[jsontext.Value]():
		return new(jsonschema.Schema)
	case reflect.TypeFor[envelope.Counts]():
		return &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "integer", Minimum: "1"}}
	}
	if t.Kind() == reflect.Interface {
		return new(jsonschema.Schema)
	}
	return mapped(t)
}

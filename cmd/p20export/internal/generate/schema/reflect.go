package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

const module = "github.com/p20export/p20export"

// generator makes schemas from Go types and their doc comments.
type generator struct{ comments map[string]string }

func newGenerator() (*generator, error) {
	var source jsonschema.Reflector
	for _, dir := range []string{"artifact", "capture", "cmd/p20export/internal/render", "discovery", "envelope", "finding", "project"} {
		if err := source.AddGoComments(module, dir); err != nil {
			return nil, err
		}
	}
	return &generator{source.CommentMap}, nil
}

// reflect makes the schema of v's type in one piece. An open object may hold
// other keys than the type has.
func (g *generator) reflect(v any, open bool) *jsonschema.Schema {
	r := jsonschema.Reflector{
		Anonymous:                 true,
		DoNotReference:            true,
		AllowAdditionalProperties: open,
		Mapper:                    mapped,
		LookupComment:             g.comment,
	}
	return r.Reflect(v)
}

// comment returns the doc comment of a type or, when one is named, of its
// field, or else that of the field's own type. It is one line in the terms of
// the file: fields are named by their keys.
func (g *generator) comment(t reflect.Type, field string) string {
	key := t.PkgPath() + "." + t.Name()
	if t.Kind() != reflect.Struct {
		return strings.Join(strings.Fields(g.comments[key]), " ")
	}
	if f, ok := t.FieldByName(field); ok {
		key += "." + field
		if g.comments[key] == "" {
			return g.comment(f.Type, "")
		}
	}
	text := strings.Join(strings.Fields(g.comments[key]), " ")
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			text = regexp.MustCompile(`\b`+f.Name+`\b`).ReplaceAllString(text, name)
		}
	}
	return text
}

// mapped gives the schemas of types that say more than their kind does.
func mapped(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[digest.Digest]():
		return &jsonschema.Schema{Type: "string", Pattern: "^" + digest.Prefix + hexDigits + "$"}
	case reflect.TypeFor[artifact.Profile]():
		return enum(artifact.Profiles()...)
	case reflect.TypeFor[project.Name]():
		return enum(project.Names()...)
	case reflect.TypeFor[project.Origin]():
		return enum(project.Emitted, project.Built)
	case reflect.TypeFor[project.TimeSource]():
		return enum(project.EventTime, project.ArrivalTime, project.OperatorTime)
	case reflect.TypeFor[finding.Code]():
		return enum(reasons()...)
	case reflect.TypeFor[finding.Pointer]():
		return &jsonschema.Schema{Type: "string", Pattern: pointer}
	case reflect.TypeFor[envelope.Counts]():
		return families()
	case reflect.TypeFor[capture.Framing]():
		return enum(framings()...)
	case reflect.TypeFor[capture.Kind]():
		return enum(capture.KindHTTP, capture.KindProxy, capture.KindFile)
	case reflect.TypeFor[capture.End]():
		return enum(capture.EndEOF, capture.EndCancelled, capture.EndError, capture.EndLimit)
	}
	return nil
}

func framings() []capture.Framing {
	return []capture.Framing{capture.SSE, capture.NDJSON, capture.JSON}
}

func enum[S ~string](values ...S) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// rule narrows what stands at a place and says what it is. An empty text leaves
// the doc comment.
type rule struct {
	at   string // keys between slashes; * is an element, empty is the root
	is   func(*jsonschema.Schema)
	says string
}

// apply applies rules to a schema.
func apply(root *jsonschema.Schema, rules []rule) error {
	for _, r := range rules {
		s, err := find(root, r.at)
		if err != nil {
			return err
		}
		if r.is != nil {
			r.is(s)
		}
		if r.says != "" {
			s.Description = r.says
		}
	}
	return nil
}

func find(s *jsonschema.Schema, at string) (*jsonschema.Schema, error) {
	if at == "" {
		return s, nil
	}
	for key := range strings.SplitSeq(at, "/") {
		next := s.Items
		if key != "*" && s.Properties != nil {
			next, _ = s.Properties.Get(key)
		}
		if next == nil {
			return nil, fmt.Errorf("no %s of %s in the type", key, at)
		}
		s = next
	}
	return s, nil
}

// with returns a schema that holds one property to another schema. It stands in
// conditions.
func with(key string, s *jsonschema.Schema) *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	properties.Set(key, s)
	return &jsonschema.Schema{Properties: properties}
}

// exactly returns the schema of one string, for a condition.
func exactly[S ~string](value S, says string) *jsonschema.Schema {
	return &jsonschema.Schema{Const: string(value), Description: says}
}

// constant holds a string to one value.
func constant[S ~string](value S) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Const = string(value) }
}

// atLeast bounds a number.
func atLeast(n json.Number) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Minimum = n }
}

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

// generator generates schemas from Go types and their doc comments.
type generator struct{ comments map[string]string }

func newGenerator() (*generator, error) {
	var source jsonschema.Reflector
	for _, dir := range []string{"artifact", "capture", "cmd/p20export/internal/render", "discovery", "envelope", "finding", "project", "store"} {
		if err := source.AddGoComments(module, dir); err != nil {
			return nil, err
		}
	}
	return &generator{source.CommentMap}, nil
}

// reflect generates the schema of v's type, without references. With open, objects may
// have keys that the type does not have.
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

// comment returns the doc comment of a type as one line. If field is not empty, it returns
// the comment of that field, or of the field's type if the field has none. Names of fields
// are replaced by their JSON keys.
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

// mapped returns the schemas of types that need more than the schema of their kind.
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
		return enum(capture.EndEOF, capture.EndCancelled, capture.EndError, capture.EndLimit, capture.EndStorage)
	}
	return nil
}

func framings() []capture.Framing {
	return append(readable(), capture.Opaque)
}

// readable returns the framings in which events can be read.
func readable() []capture.Framing {
	return []capture.Framing{capture.SSE, capture.NDJSON, capture.JSON}
}

func enum[S ~string](values ...S) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// A rule restricts the schema at a place and sets its description. With an empty
// description, the doc comment stays.
type rule struct {
	place       string // keys between slashes; * is an element, empty is the root
	narrow      func(*jsonschema.Schema)
	description string
}

// apply applies rules to a schema.
func apply(root *jsonschema.Schema, rules []rule) error {
	for _, r := range rules {
		s, err := find(root, r.place)
		if err != nil {
			return err
		}
		if r.narrow != nil {
			r.narrow(s)
		}
		if r.description != "" {
			s.Description = r.description
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

// property returns a schema that applies s to one property, for use in conditions.
func property(key string, s *jsonschema.Schema) *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	properties.Set(key, s)
	return &jsonschema.Schema{Properties: properties}
}

// equalTo returns a schema that matches one string, for use in conditions.
func equalTo[S ~string](value S, description string) *jsonschema.Schema {
	return &jsonschema.Schema{Const: string(value), Description: description}
}

// constant returns a restriction to one string.
func constant[S ~string](value S) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Const = string(value) }
}

// atLeast returns a restriction to numbers of at least n.
func atLeast(n json.Number) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) { s.Minimum = n }
}

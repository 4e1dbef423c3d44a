// Package schematest applies the JSON Schemas to raw bytes, for the tests of any package.
// Schemas are compiled without loading other resources.
package schematest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/p20export/p20export/schema"
)

// ErrNotJSON is the error for bytes that are not one JSON text. No schema is applied to
// them.
var ErrNotJSON = errors.New("not one JSON text")

// ErrRefused is the error for a value that a schema refuses. The text has the place and the
// reason.
var ErrRefused = errors.New("the schema refuses the value")

// Check applies the named schema to one JSON text. It returns nil if the schema accepts the
// text, and otherwise an error that wraps ErrNotJSON or ErrRefused. It returns another error
// if there is no such schema.
//
// The text is decoded by encoding/json with exact numbers. If a key occurs twice, the last
// value is used. Invalid UTF-8 becomes U+FFFD.
func Check(name string, data []byte) error {
	s, err := Compile(name)
	if err != nil {
		return err
	}
	value, err := Parse(data)
	if err != nil {
		return err
	}
	return validate(s, value)
}

// CheckLines applies the named schema to an array of the JSON texts in data, which has one
// text per line, like the events of an envelope. The errors are those of Check.
func CheckLines(name string, data []byte) error {
	s, err := Compile(name)
	if err != nil {
		return err
	}
	values := []any{}
	for line := range bytes.Lines(data) {
		value, err := Parse(line)
		if err != nil {
			return err
		}
		values = append(values, value)
	}
	return validate(s, values)
}

func validate(s *jsonschema.Schema, value any) error {
	if err := s.Validate(value); err != nil {
		return fmt.Errorf("%w: %#v", ErrRefused, err)
	}
	return nil
}

// Parse decodes one JSON text as Check does.
func Parse(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: data after the value", ErrNotJSON)
	}
	return value, nil
}

var compiled sync.Map // name to func() (*jsonschema.Schema, error)

// Compile returns the named schema, compiled as draft 2020-12. It compiles each schema once.
func Compile(name string) (*jsonschema.Schema, error) {
	once, _ := compiled.LoadOrStore(name, sync.OnceValues(func() (*jsonschema.Schema, error) {
		data, ok := schema.Get(name)
		if !ok {
			return nil, fmt.Errorf("there is no schema %q", name)
		}
		return compile(schema.ID(name), data)
	}))
	return once.(func() (*jsonschema.Schema, error))()
}

func compile(id string, data []byte) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat, c.AssertContent = false, false
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("a schema must not refer to other resources, such as %s", url)
	}
	if err := c.AddResource(id, bytes.NewReader(data)); err != nil {
		return nil, err
	}
	return c.Compile(id)
}

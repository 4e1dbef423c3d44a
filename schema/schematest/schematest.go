// Package schematest applies the JSON Schemas to raw bytes, for the tests of any
// package. A schema is compiled without reading anything from outside.
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

// ErrNotJSON is what bytes that are not one JSON text are refused with, before
// any schema is asked.
var ErrNotJSON = errors.New("not one JSON text")

// ErrRefused is what a schema refuses a value with; the text says where and why.
var ErrRefused = errors.New("the schema refuses the value")

// Check applies the named schema to one JSON text. The error is nil when the
// schema accepts it, else an ErrNotJSON or an ErrRefused; any other one means
// that there is no such schema.
//
// The text is read by encoding/json, numbers as they are spelled: of a key that
// stands twice the last counts, and what is no Unicode becomes U+FFFD.
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

// CheckLines applies the named schema to the array of the JSON texts that stand
// in data one a line, as the events of an envelope do. The errors are those of
// Check.
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

// Parse reads one JSON text as Check does.
func Parse(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: data after it", ErrNotJSON)
	}
	return value, nil
}

var compiled sync.Map // name to func() (*jsonschema.Schema, error)

// Compile compiles the named schema as draft 2020-12, once.
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
		return nil, fmt.Errorf("a schema stands alone and names %s", url)
	}
	if err := c.AddResource(id, bytes.NewReader(data)); err != nil {
		return nil, err
	}
	return c.Compile(id)
}

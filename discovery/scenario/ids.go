package scenario

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// WithSuffix returns the scenarios with a suffix on the ids of thread, run and parent
// run in their requests, so that a server that remembers conversations takes them
// for new ones. Ids that are absent or empty stay so.
func WithSuffix(list []Scenario, suffix string) ([]Scenario, error) {
	var all []Scenario
	for _, s := range list {
		request, err := withSuffix(s.Request, suffix)
		if err != nil {
			return nil, fmt.Errorf("scenario %q: %w", s.Name, err)
		}
		s.Request = request
		all = append(all, s)
	}
	return all, nil
}

func withSuffix(request jsontext.Value, suffix string) (jsontext.Value, error) {
	in := jsontext.NewDecoder(bytes.NewReader(request))
	var text bytes.Buffer
	out := jsontext.NewEncoder(&text)
	begin, err := in.ReadToken()
	if err != nil {
		return nil, err
	}
	if begin.Kind() != '{' {
		return nil, errors.New("the request is not an object")
	}
	if err := out.WriteToken(begin); err != nil {
		return nil, err
	}
	for in.PeekKind() == '"' {
		name, err := in.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if err := out.WriteToken(name); err != nil {
			return nil, err
		}
		value, err := in.ReadValue()
		if err != nil {
			return nil, err
		}
		if id, err := jsontext.AppendUnquote(nil, value); err == nil && len(id) > 0 && (key == "threadId" || key == "runId" || key == "parentRunId") {
			if value, err = jsontext.AppendQuote(nil, string(id)+suffix); err != nil {
				return nil, err
			}
		}
		if err := out.WriteValue(value); err != nil {
			return nil, err
		}
	}
	end, err := in.ReadToken()
	if err != nil {
		return nil, err
	}
	if err := out.WriteToken(end); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(text.Bytes()), nil
}

package scenario

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// WithNewIDs returns the scenarios with new thread, run and parent run ids in the requests
// of scenarios marked AnyAgent, so that a server that stores conversations treats them as
// new. The same id becomes the same new id in all scenarios. The new ids are UUIDs of
// version 5 (RFC 9562 §5.5), computed from the old id and the namespace, because AG-UI's
// client uses UUIDs and some servers require them. Missing and empty ids do not change,
// and neither do other scenarios.
func WithNewIDs(list []Scenario, namespace [16]byte) ([]Scenario, error) {
	var all []Scenario
	for _, s := range list {
		if !s.AnyAgent {
			all = append(all, s)
			continue
		}
		request, err := withNewIDs(s.Request, namespace)
		if err != nil {
			return nil, fmt.Errorf("scenario %q: %w", s.Name, err)
		}
		s.Request = request
		all = append(all, s)
	}
	return all, nil
}

// uuid5 returns the version 5 UUID of a name in a namespace.
func uuid5(namespace [16]byte, name []byte) string {
	sum := sha1.Sum(append(namespace[:], name...))
	sum[6] = sum[6]&0x0f | 0x50
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func withNewIDs(request jsontext.Value, namespace [16]byte) (jsontext.Value, error) {
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
			if value, err = jsontext.AppendQuote(nil, uuid5(namespace, id)); err != nil {
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

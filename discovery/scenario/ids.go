package scenario

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// WithNewIDs returns the scenarios with other ids of thread, run and parent run in
// the requests of those that any agent can be asked, so that a server that remembers
// conversations takes them for new ones. An id that stands in several scenarios
// becomes the same new id in each. The new ones are UUIDs, as AG-UI's client makes
// them, and as some servers want them: version 5 (RFC 9562 §5.5), named by the old
// ids in a namespace. Ids that are absent or empty stay so, and so do the other
// scenarios.
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

// uuid5 returns the UUID of a name in a namespace.
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

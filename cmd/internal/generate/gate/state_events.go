package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
)

// stateEvents describes the STATE_* and ACTIVITY_* events of a run.
type stateEvents struct {
	count int
	bytes int64
	// keys are the top-level keys of the state.
	keys []string
	// nonempty reports that a state is not empty.
	nonempty bool
	// strings counts the strings in state and activity that the artifact does not
	// contain. multiWord counts those that have more than one word.
	strings, multiWord int
}

// stateCounts counts runs by the contents of their state and activity events.
type stateCounts struct {
	runs                         int // with such an event
	bytes                        int64
	nonempty, strings, multiWord int
}

func (c *stateCounts) add(s stateEvents) {
	c.bytes += s.bytes
	for _, one := range []struct{ n, to *int }{{&s.count, &c.runs}, {&s.strings, &c.strings}, {&s.multiWord, &c.multiWord}} {
		if *one.n > 0 {
			*one.to++
		}
	}
	if s.nonempty {
		c.nonempty++
	}
}

// describeState describes state and activity events and counts their strings that are not
// in the artifact. If a is nil, it counts no strings.
func describeState(events []*envelope.Event, a *artifact.Artifact) (stateEvents, error) {
	var s stateEvents
	keys := make(map[string]bool)
	found := make(map[string]bool)
	for _, e := range events {
		s.count++
		s.bytes += e.Bytes
		var v struct {
			Snapshot any         `json:"snapshot"`
			Content  any         `json:"content"`
			Delta    []operation `json:"delta"`
			Patch    []operation `json:"patch"`
		}
		if err := json.Unmarshal(e.Data, &v); err != nil {
			return s, fmt.Errorf("event %d: %w", e.Index, err)
		}
		for _, op := range v.Delta {
			s.nonempty = true
			name, _, _ := strings.Cut(strings.TrimPrefix(op.Path, "/"), "/")
			keys[name] = true
		}
		if top, ok := v.Snapshot.(map[string]any); ok {
			for name := range top {
				s.nonempty, keys[name] = true, true
			}
		}
		collectStrings(found, v.Snapshot)
		collectStrings(found, v.Content)
		for _, op := range slices.Concat(v.Delta, v.Patch) {
			collectStrings(found, op.Value)
		}
	}
	s.keys = slices.Sorted(maps.Keys(keys))
	if a == nil {
		return s, nil
	}
	have := artifactStrings(a)
	for text := range found {
		if slices.ContainsFunc(have, func(t string) bool { return strings.Contains(t, text) }) {
			continue
		}
		s.strings++
		if strings.ContainsFunc(strings.TrimSpace(text), unicode.IsSpace) {
			s.multiWord++
		}
	}
	return s, nil
}

// operation is an operation of a JSON Patch (RFC 6902).
type operation struct {
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// collectStrings adds the nonblank strings in a value, without keys.
func collectStrings(found map[string]bool, v any) {
	switch v := v.(type) {
	case string:
		if !artifact.IsBlank(v) {
			found[v] = true
		}
	case []any:
		for _, one := range v {
			collectStrings(found, one)
		}
	case map[string]any:
		for _, one := range v {
			collectStrings(found, one)
		}
	}
}

// artifactStrings returns the strings of an artifact.
func artifactStrings(a *artifact.Artifact) []string {
	list := []string{a.ThreadIDRef, a.RunIDRef, a.ParentRunIDRef, a.ErrorCode, a.ErrorMessage}
	for _, m := range a.Messages {
		list = append(list, m.ID, m.Role, m.Name, m.Content)
	}
	return list
}

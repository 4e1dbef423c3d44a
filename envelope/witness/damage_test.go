//go:build witness || spec

package witness_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
)

// named returns the JSON text of an event in which some encrypted values have a type, which
// AG-UI 1.1 added.
func named(r *rand.Rand, text string) string {
	if r.IntN(3) > 0 {
		return text
	}
	return strings.Replace(text, `"encryptedValue":`, `"encryptedValueType":"vendor.kind","encryptedValue":`, 1+r.IntN(2))
}

// misshape returns the JSON text of an event with one to three values that do not fit
// where they are, or without values that belong there.
func misshape(r *rand.Rand, text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return text
	}
	for range 1 + r.IntN(3) {
		value = misshapeIn(r, value)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return text
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// misshapeIn changes a value somewhere in value, which it may change.
func misshapeIn(r *rand.Rand, value any) any {
	switch v := value.(type) {
	case map[string]any:
		if len(v) > 0 && r.IntN(6) > 0 {
			key := anyKey(r, v)
			switch r.IntN(5) {
			case 0:
				delete(v, key)
			case 1:
				v[key] = odd(r)
			default:
				v[key] = misshapeIn(r, v[key])
			}
			return v
		}
		v[names[r.IntN(len(names))]] = odd(r)
		return v
	case []any:
		if len(v) == 0 || r.IntN(6) == 0 {
			return append(v, odd(r))
		}
		i := r.IntN(len(v))
		if r.IntN(6) == 0 {
			return slices.Delete(v, i, i+1)
		}
		v[i] = misshapeIn(r, v[i])
		return v
	}
	return odd(r)
}

func anyKey(r *rand.Rand, object map[string]any) string {
	keys := make([]string, 0, len(object))
	for key := range object {
		if key != "type" || r.IntN(4) == 0 {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return "type"
	}
	sort.Strings(keys)
	return keys[r.IntN(len(keys))]
}

// names are of fields that some objects have.
var names = []string{
	"subagentRunId", "metadata", "timestamp", "rawEvent", "name", "role", "type", "id", "content", "source", "value", "mimeType",
	"provider", "encryptedValue", "encryptedValueType", "outcome", "interrupts", "interruptIds", "pendingToolCallIds", "result", "usage",
	"totalTokens", "inputTokens", "op", "path", "from", "patch", "delta", "replace", "status", "payload", "toolCalls", "function", "arguments",
	"error", "activityType", "messages", "input", "state", "tools", "context", "resume", "parameters", "description", "zap",
}

// odd returns a value that fits in few places.
func odd(r *rand.Rand) any {
	return []any{
		nil, true, "", "novel", "text", "tool", "success", "add", "/a", "a", "/~", "file",
		json.Number("0"), json.Number("-1"), json.Number("1.0"), json.Number("1.5"), json.Number("9007199254740992"), json.Number("1e2"),
		[]any{}, map[string]any{}, map[string]any{"type": "novel"}, map[string]any{"type": 5}, map[string]any{"type": "text"},
		[]any{map[string]any{"type": "novel"}}, []any{map[string]any{"op": "novel", "path": 5}}, []any{nil},
		map[string]any{"type": "url", "value": "u"}, map[string]any{"role": "novel"}, map[string]any{"id": "x", "role": "reasoning", "content": ""},
	}[r.IntN(29)]
}

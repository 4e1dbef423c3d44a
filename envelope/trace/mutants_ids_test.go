package trace_test

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/internal/jsonvalue"
)

// A place is a value within an event.
type place struct {
	parent jsonvalue.Value // an object or an array
	name   string
	index  int
	value  jsonvalue.Value
	// text says that the value is a string of AG-UI that is no id, and id that it is one.
	text, id bool
	// top says that the place is a member of the event itself, element that it is one of an
	// array, and free that AG-UI does not define what is there.
	top, element, free bool
}

func (p *place) set(v jsonvalue.Value) {
	switch in := p.parent.(type) {
	case *jsonvalue.Object:
		in.Set(p.name, v)
	case *jsonvalue.Array:
		in.Set(p.index, v)
	}
}

func (p *place) remove() {
	switch in := p.parent.(type) {
	case *jsonvalue.Object:
		in.Delete(p.name)
	case *jsonvalue.Array:
		in.Remove(p.index)
	}
}

// places returns all values within an event, at any depth, but for its type.
func places(e *jsonvalue.Object) (list []place) {
	var members func(o *jsonvalue.Object, defined, own bool)
	var add func(p place, defined, own bool)
	members = func(o *jsonvalue.Object, defined, own bool) {
		for name, v := range o.All {
			p := place{parent: o, name: name, value: v, top: o == e, free: !defined}
			p.id = defined && (isIDName(name) || name == "id" && own)
			_, isString := v.(string)
			p.text = defined && !p.id && isString && isTextName(name)
			if o != e || name != "type" {
				add(p, defined, own)
			}
		}
	}
	add = func(p place, defined, own bool) {
		if _, isList := p.value.(*jsonvalue.Array); !isList || !p.id {
			list = append(list, p)
		}
		switch v := p.value.(type) {
		case *jsonvalue.Object:
			switch {
			case p.element:
				members(v, defined, own)
			default:
				members(v, defined && slices.Contains([]string{"function", "input", "outcome"}, p.name), false)
			}
		case *jsonvalue.Array:
			inner := defined && slices.Contains([]string{"messages", "toolCalls", "interrupts", "resume"}, p.name)
			for i, element := range v.All {
				add(place{parent: v, index: i, value: element, id: p.id, element: true, free: !inner && !p.id}, inner, inner && p.name != "resume")
			}
		}
	}
	members(e, true, false)
	return list
}

// isIDName reports whether AG-UI has ids in members with a name.
func isIDName(name string) bool {
	switch name {
	case "threadId", "runId", "parentRunId", "messageId", "parentMessageId", "toolCallId", "parentToolCallId", "pendingToolCallIds",
		"subagentRunId", "parentSubagentRunId", "interruptId", "interruptIds", "entityId":
		return true
	}
	return false
}

// isTextName reports whether AG-UI has text or words in members with a name.
func isTextName(name string) bool {
	switch name {
	case "activityType", "arguments", "code", "content", "delta", "description", "encryptedValue", "encryptedValueType", "error", "message", "name",
		"protocolVersion", "reason", "role", "source", "stepName", "subtype", "title", "toolCallName", "type":
		return true
	}
	return false
}

// idsOf returns the ids of a stream.
func idsOf(events []*jsonvalue.Object) map[string]bool {
	ids := map[string]bool{}
	for _, e := range events {
		if stringIn(e, "type") == "RAW" {
			continue
		}
		for _, p := range places(e) {
			if s, ok := p.value.(string); ok && p.id && s != "" { // an empty one counts as none
				ids[s] = true
			}
		}
	}
	return ids
}

// rename returns an event with other ids, wherever they count as ids. The event itself does not
// change.
func rename(e *jsonvalue.Object, to func(string) string) *jsonvalue.Object {
	e = changedCopy(e)
	patch := strings.HasSuffix(stringIn(e, "type"), "_DELTA")
	for _, p := range places(e) {
		s, isString := p.value.(string)
		switch {
		case isString && patch && (p.name == "path" || p.name == "from") && strings.HasPrefix(s, "/"):
			tokens := strings.Split(s, "/")
			for i, token := range tokens {
				if strings.Trim(token, "0123456789") != "" { // no index
					tokens[i] = to(token)
				}
			}
			p.set(strings.Join(tokens, "/"))
		case isString && patch && (p.name == "path" || p.name == "from"):
		case isString && s != "" && !p.text && to(s) != s:
			p.set(to(s))
		case isString && (json.Valid([]byte(s)) || p.name == "delta" && strings.HasPrefix(stringIn(e, "type"), "TOOL_CALL_")):
			p.set(inJSON(s, to))
		}
	}
	for _, p := range places(e) {
		if o, isObject := p.parent.(*jsonvalue.Object); isObject && p.free && p.name != "" {
			if name := to(p.name); name != p.name {
				o.Delete(p.name)
				o.Set(name, p.value)
			}
		}
	}
	return e
}

// inJSON returns JSON text, or a part of one, with other ids.
func inJSON(s string, to func(string) string) string {
	parts := strings.Split(s, `"`)
	for i := 1; i+1 < len(parts); i++ {
		parts[i] = to(parts[i])
	}
	return strings.Join(parts, `"`)
}

// flatten returns the text of a value with a mark for each id, and the ids.
func flatten(v jsonvalue.Value, ids map[string]bool) (string, []string) {
	var found []string
	mark := func(s string) string {
		if ids[s] {
			found = append(found, s)
			return "\x00" + strconv.Itoa(len(found)) // a name of a member must stay different from others
		}
		return s
	}
	if e, isObject := v.(*jsonvalue.Object); isObject {
		v = rename(ordered(e).(*jsonvalue.Object), mark)
	}
	return string(jsonvalue.Append(nil, v)), found
}

// ordered returns a copy of a value with members in the order of their names, and with numbers
// of one text if they are equal.
func ordered(v jsonvalue.Value) jsonvalue.Value {
	switch v := v.(type) {
	case jsonvalue.Number:
		return plain(v)
	case *jsonvalue.Array:
		a := new(jsonvalue.Array)
		for _, e := range v.All {
			a.Append(ordered(e))
		}
		return a
	case *jsonvalue.Object:
		var names []string
		for name := range v.All {
			names = append(names, name)
		}
		slices.Sort(names)
		o := new(jsonvalue.Object)
		for _, name := range names {
			e, _ := v.Get(name)
			o.Set(name, ordered(e))
		}
		return o
	}
	return v
}

// plain returns one text for all numbers with the same value.
func plain(n jsonvalue.Number) jsonvalue.Number {
	_, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	if r, ok := new(big.Rat).SetString(string(n)); ok && len(exponent) < 4 {
		return jsonvalue.Number(r.RatString())
	}
	return jsonvalue.Number(strings.ToLower(string(n)))
}

// stringIn returns a string in a member, or "".
func stringIn(o *jsonvalue.Object, name string) string {
	v, _ := o.Get(name)
	s, _ := v.(string)
	return s
}

func changedCopy(e *jsonvalue.Object) *jsonvalue.Object {
	return jsonvalue.Clone(e).(*jsonvalue.Object)
}

//go:build peer

package peer_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// mutate returns a copy of events with one to three changes, at least one event long.
func mutate(r *rand.Rand, events []string) []string {
	events = slices.Clone(events)
	for range 1 + r.IntN(3) {
		i, k := r.IntN(len(events)), r.IntN(len(events))
		switch r.IntN(8) {
		case 0: // lose an event
			if len(events) > 1 {
				events = slices.Delete(events, i, i+1)
			}
		case 1: // send an event twice
			events = slices.Insert(events, i, events[i])
		case 2: // swap two events
			events[i], events[k] = events[k], events[i]
		case 3: // send an event late, or early
			e := events[i]
			events = slices.Insert(slices.Delete(events, i, i+1), min(k, len(events)-1), e)
		case 4: // end early
			if r.IntN(3) == 0 {
				events = events[:i+1]
			}
		case 5: // break the text
			if r.IntN(3) == 0 && events[i] != "" {
				events[i] = events[i][:r.IntN(len(events[i]))] + []string{"", "}", `"`}[r.IntN(3)]
			}
		default: // change a member
			events[i] = alter(r, events[i], events[k])
		}
	}
	return events
}

// types are types of events that AG-UI does not define, or that stand for others.
var types = []string{"TextMessageContent", "run_started", "META", "TOOL_CALL_STRAT", "X", "THINKING_START", "RUN_FINISHED", "RUN_ERROR", "RAW"}

// values replace the value of a member.
var values = []string{`null`, `""`, `"x"`, `0`, `-1.5`, `true`, `[]`, `{}`, `[{"op":"replace","path":"/zzz","value":1}]`, `[{"op":"novel","path":"/a"}]`, `[{"op":"add","path":"a"}]`, `"assistant"`, `"a.b"`, `{"type":"RUN_STARTED"}`, `"{\"a\":"`}

// patches replace the patch of STATE_DELTA.
var patches = []string{`[{"op":"replace","path":"/zzz","value":1}]`, `[{"op":"novel","path":"/a"}]`, `[{"op":"add","path":"a","value":1}]`, `[{"op":"add","path":"/a"}]`, `[{"op":"move","path":"/a"}]`, `[1]`, `[{}]`}

// alter changes one member of an event: it is removed, has another value, or the one that it
// has in another event.
func alter(r *rand.Rand, text, other string) string {
	var event, from map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &event) != nil || json.Unmarshal([]byte(other), &from) != nil || len(event) == 0 {
		return text
	}
	names := slices.Sorted(maps.Keys(event))
	name := names[r.IntN(len(names))]
	choice := r.IntN(5)
	if string(event["type"]) == `"STATE_DELTA"` && r.IntN(2) == 0 {
		event["delta"] = json.RawMessage(patches[r.IntN(len(patches))])
		choice = -1
	}
	switch choice {
	case -1:
	case 0:
		delete(event, name)
	case 1:
		if value, ok := from[name]; ok {
			event[name] = value
		}
	case 2:
		event[[]string{"subagentRunId", "timestamp", "metadata", "role", "zap", "parentMessageId"}[r.IntN(6)]] = json.RawMessage(values[r.IntN(len(values))])
	case 3:
		quoted, err := json.Marshal(types[r.IntN(len(types))])
		if err != nil {
			panic(err) // a string is JSON
		}
		event["type"] = quoted
	default:
		event[name] = json.RawMessage(values[r.IntN(len(values))])
	}
	out, err := json.Marshal(event)
	if err != nil {
		return text
	}
	return strings.TrimSpace(string(out))
}

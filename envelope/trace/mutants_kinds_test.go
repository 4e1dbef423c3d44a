package trace_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/internal/jsonvalue"
)

// A kind is a kind of small change. It reports false if the stream has nothing to change so.
type kind struct {
	name string
	// equal says that by the rules the change never makes a stream different.
	equal  bool
	change func(*mutant) bool
}

var kinds = slices.Concat(orderKinds, valueKinds, idKinds, stateKinds, equalKinds)

// Changes that add, remove or move events.
var orderKinds = []kind{
	{"drop an event", false, func(m *mutant) bool { return m.at(func(i int) { m.remove(i) }) }},
	{"drop an event that counts", false, func(m *mutant) bool { return m.with(func(i int) bool { m.remove(i); return true }, counting...) }},
	{"drop a result", false, func(m *mutant) bool {
		return m.with(func(i int) bool { m.remove(i); return true }, "TOOL_CALL_RESULT")
	}},
	{"repeat an event", false, func(m *mutant) bool { return m.at(func(i int) { m.insert(i+1, m.events[i]) }) }},
	{"repeat an event later", false, func(m *mutant) bool {
		return m.at(func(i int) { m.insert(i+1+m.IntN(len(m.events)-i), m.events[i]) })
	}},
	{"swap two neighbours", false, func(m *mutant) bool {
		return m.at(func(i int) { m.swap(i, min(i+1, len(m.events)-1)) })
	}},
	{"swap two events", false, func(m *mutant) bool { return m.at(func(i int) { m.swap(i, m.IntN(len(m.events))) }) }},
	{"move an event", false, func(m *mutant) bool { return m.at(func(i int) { m.move(i, m.IntN(len(m.events))) }) }},
	{"move an event to the front", false, func(m *mutant) bool { return m.at(func(i int) { m.move(i, 0) }) }},
	{"move an event to the end", false, func(m *mutant) bool { return m.at(func(i int) { m.move(i, len(m.events)-1) }) }},
	{"move an event across a start", false, func(m *mutant) bool { return m.across("_START") }},
	{"move an event across an end", false, func(m *mutant) bool { return m.across("_END") }},
	{"truncate the stream", false, func(m *mutant) bool {
		return m.at(func(i int) { m.events = m.events[:i] })
	}},
	{"drop the start of the stream", false, func(m *mutant) bool {
		return m.at(func(i int) { m.events = m.events[i+1:] })
	}},
	{"insert an event of another kind", false, func(m *mutant) bool {
		text := pick(m.Rand, []string{
			`{"type":"STEP_STARTED","stepName":"s"}`, `{"type":"CUSTOM","name":"n","value":1}`, `{"type":"STATE_SNAPSHOT","snapshot":{"new":1}}`,
			`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/new","value":1}]}`, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`,
			`{"type":"TEXT_MESSAGE_START","messageId":"new","role":"assistant"}`, `{"type":"TOOL_CALL_RESULT","messageId":"new","toolCallId":"new","content":"1"}`,
			`{"type":"RUN_ERROR","message":"new"}`, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"new","delta":"a"}`, `{"type":"RUN_STARTED","threadId":"new","runId":"new"}`,
		})
		m.insert(m.IntN(len(m.events)+1), eventOf(text))
		return true
	}},
	{"emit a message twice", false, func(m *mutant) bool { return m.message(func(_ string, l []int) bool { m.again(l, nil); return true }) }},
	{"emit a message again under another id", false, func(m *mutant) bool {
		return m.message(func(id string, l []int) bool {
			m.again(l, func(s string) string {
				if s == id {
					return "another " + id
				}
				return s
			})
			return true
		})
	}},
	{"drop a message", false, func(m *mutant) bool {
		return m.message(func(_ string, l []int) bool {
			for _, i := range slices.Backward(l) {
				m.remove(i)
			}
			return true
		})
	}},
	{"drop one delta", false, func(m *mutant) bool { return m.with(func(i int) bool { m.remove(i); return true }, deltas...) }},
	{"turn RUN_FINISHED into RUN_ERROR", false, func(m *mutant) bool {
		return m.with(func(i int) bool {
			m.events[i] = eventOf(`{"type":"RUN_ERROR","message":"failed"}`)
			return true
		}, "RUN_FINISHED")
	}},
	{"turn an event into one of another type", false, func(m *mutant) bool {
		return m.with(func(i int) bool {
			e := m.edit(i)
			name := stringIn(e, "type")
			e.Set("type", strings.NewReplacer("TEXT", "REASONING", "REASONING", "TEXT", "TOOL_CALL", "TEXT_MESSAGE", "STARTED", "FINISHED", "FINISHED", "STARTED").Replace(name))
			return stringIn(e, "type") != name
		})
	}},
}

// counting are the types of events that count wherever they are.
var counting = []string{"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_RESULT",
	"MESSAGES_SNAPSHOT", "STEP_STARTED", "STEP_FINISHED", "CUSTOM", "REASONING_START", "REASONING_END"}

// deltas are the types of events with text.
var deltas = []string{"TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK", "TOOL_CALL_ARGS", "TOOL_CALL_CHUNK", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK"}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// eventOf returns an event of a test.
func eventOf(text string) *jsonvalue.Object { return parsed(text).(*jsonvalue.Object) }

// at changes the stream at a random event. It reports false if that changes nothing.
func (m *mutant) at(change func(i int)) bool {
	change(m.IntN(len(m.events)))
	return !slices.Equal(m.events, m.of.events)
}

// with changes a random event of some types, or of any that counts.
func (m *mutant) with(change func(i int) bool, types ...string) bool {
	var list []int
	for i, e := range m.events {
		if kind := stringIn(e, "type"); len(types) == 0 && kind != "RAW" || slices.Contains(types, kind) {
			list = append(list, i)
		}
	}
	return len(list) > 0 && change(pick(m.Rand, list))
}

// edit returns a copy of an event in the place of the event.
func (m *mutant) edit(i int) *jsonvalue.Object {
	m.events[i] = changedCopy(m.events[i])
	return m.events[i]
}

func (m *mutant) insert(i int, e *jsonvalue.Object) { m.events = slices.Insert(m.events, i, e) }
func (m *mutant) remove(i int)                      { m.events = slices.Delete(m.events, i, i+1) }
func (m *mutant) swap(i, j int)                     { m.events[i], m.events[j] = m.events[j], m.events[i] }

func (m *mutant) move(i, j int) {
	e := m.events[i]
	m.remove(i)
	m.insert(j, e)
}

// across moves a start or an end past up to three of the events beside it.
func (m *mutant) across(suffix string) bool {
	var list []int
	for i, e := range m.events {
		if strings.HasSuffix(stringIn(e, "type"), suffix) {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return false
	}
	i := pick(m.Rand, list)
	j := i + pick(m.Rand, []int{-3, -2, -1, 1, 2, 3})
	if j < 0 || j >= len(m.events) {
		return false
	}
	m.move(i, j)
	return true
}

// message calls change with the id of a random message or call and its events.
func (m *mutant) message(change func(id string, list []int) bool) bool {
	of := map[string][]int{}
	var ids []string
	for i, e := range m.events {
		id := stringIn(e, "toolCallId")
		if id == "" {
			id = stringIn(e, "messageId")
		}
		if id == "" {
			continue
		}
		if of[id] == nil {
			ids = append(ids, id)
		}
		of[id] = append(of[id], i)
	}
	if len(ids) == 0 {
		return false
	}
	id := pick(m.Rand, ids)
	return change(id, of[id])
}

// again inserts copies of events after the last one.
func (m *mutant) again(list []int, to func(string) string) {
	var copies []*jsonvalue.Object
	for _, i := range list {
		e := m.events[i]
		if to != nil {
			e = rename(e, to)
		}
		copies = append(copies, e)
	}
	m.events = slices.Insert(m.events, list[len(list)-1]+1, copies...)
}

// edited changes a random place of the events of some types, of those that a function wants.
func (m *mutant) edited(want func(*place) bool, change func(*place), types ...string) bool {
	return m.with(func(i int) bool {
		e := m.edit(i)
		var list []place
		for _, p := range places(e) {
			if want(&p) {
				list = append(list, p)
			}
		}
		if len(list) == 0 {
			return false
		}
		p := pick(m.Rand, list)
		change(&p)
		return !bytes.Equal(jsonvalue.Append(nil, e), jsonvalue.Append(nil, m.of.events[i]))
	}, types...)
}

// oneCharacter changes one character of a text.
func (m *mutant) oneCharacter(text string) string {
	if !utf8.ValidString(text) {
		return text + "a" // after half a surrogate pair
	}
	list := []rune(text)
	i := m.IntN(len(list) + 1)
	switch c := rune('a' + m.IntN(26)); {
	case i == len(list):
		return text + string(c)
	case m.IntN(2) == 0:
		return string(slices.Insert(list, i, c))
	default:
		return string(slices.Delete(list, i, i+1))
	}
}

func named(names ...string) func(*place) bool {
	return func(p *place) bool { return !p.element && slices.Contains(names, p.name) }
}

func (p *place) String() string { return fmt.Sprintf("%s %d", p.name, p.index) }

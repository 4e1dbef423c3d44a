package trace_test

import (
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/internal/jsonvalue"
)

// Changes of texts, words and other values.
var valueKinds = []kind{
	{"change a character of a delta", false, func(m *mutant) bool { return m.text(named("delta"), deltas...) }},
	{"change a character of a result", false, func(m *mutant) bool { return m.text(named("content"), "TOOL_CALL_RESULT") }},
	{"change a character of a message of a snapshot", false, func(m *mutant) bool { return m.text(named("content", "text"), "MESSAGES_SNAPSHOT") }},
	{"change a character of a custom value", false, func(m *mutant) bool { return m.text(anyPlace, "CUSTOM") }},
	{"change a character of a string", false, func(m *mutant) bool { return m.text(anyPlace) }},
	{"change a role", false, func(m *mutant) bool {
		return m.edited(named("role"), func(p *place) { p.set(pick(m.Rand, []string{"user", "assistant", "system", "tool", "developer"})) })
	}},
	{"change the name of a tool", false, func(m *mutant) bool { return m.text(named("toolCallName"), "TOOL_CALL_START", "TOOL_CALL_CHUNK") }},
	{"change the name of a step", false, func(m *mutant) bool { return m.text(named("stepName"), "STEP_STARTED", "STEP_FINISHED") }},
	{"change the name of a custom event", false, func(m *mutant) bool { return m.text(topName, "CUSTOM") }},
	{"change an error", false, func(m *mutant) bool { return m.text(named("message", "code"), "RUN_ERROR") }},
	{"move text to another delta of the message", false, func(m *mutant) bool { return m.moveText(true) }},
	{"move text to a delta of another message", false, func(m *mutant) bool { return m.moveText(false) }},
	{"swap the texts of two deltas", false, func(m *mutant) bool {
		return m.with(func(i int) bool {
			return m.with(func(j int) bool {
				one, other := m.edit(i), m.edit(j)
				a, b := stringIn(one, "delta"), stringIn(other, "delta")
				one.Set("delta", b)
				other.Set("delta", a)
				return a != b
			}, deltas...)
		}, deltas...)
	}},
	{"add a member", false, func(m *mutant) bool {
		return m.edited(isObject, func(p *place) {
			p.value.(*jsonvalue.Object).Set("new", pick(m.Rand, []any{nil, true, jsonvalue.Number("1"), "a"}))
		})
	}},
	{"add a member to the event", false, func(m *mutant) bool {
		return m.with(func(i int) bool {
			m.edit(i).Set(pick(m.Rand, []string{"new", "metadata", "subagentRunId", "role", "messageId", "name", "usage"}), "new")
			return true
		})
	}},
	{"remove a member", false, func(m *mutant) bool {
		return m.edited(func(p *place) bool { return !p.element }, (*place).remove)
	}},
	{"rename a member", false, func(m *mutant) bool {
		return m.edited(func(p *place) bool { return !p.element }, func(p *place) {
			p.remove()
			p.parent.(*jsonvalue.Object).Set(m.oneCharacter(p.name)+"2", p.value)
		})
	}},
	{"remove an element", false, func(m *mutant) bool { return m.edited(isElement, (*place).remove) }},
	{"repeat an element", false, func(m *mutant) bool {
		return m.edited(isElement, func(p *place) { p.parent.(*jsonvalue.Array).Insert(p.index, p.value) })
	}},
	{"swap two elements", false, func(m *mutant) bool {
		return m.edited(isElement, func(p *place) {
			a := p.parent.(*jsonvalue.Array)
			j := m.IntN(a.Len())
			a.Set(p.index, a.At(j))
			a.Set(j, p.value)
		})
	}},
	{"change a number by a little", false, func(m *mutant) bool {
		return m.edited(isNumber, func(p *place) {
			r, ok := new(big.Rat).SetString(string(p.value.(jsonvalue.Number)))
			if !ok {
				return
			}
			text := r.Add(r, pick(m.Rand, []*big.Rat{big.NewRat(1, 1), big.NewRat(-1, 1), big.NewRat(1, 100)})).FloatString(20)
			p.set(jsonvalue.Number(strings.TrimRight(strings.TrimRight(text, "0"), ".")))
		})
	}},
	{"change true, false or null", false, func(m *mutant) bool {
		return m.edited(func(p *place) bool { _, is := p.value.(bool); return is || p.value == nil }, func(p *place) { p.set(pick(m.Rand, []any{true, false, nil})) })
	}},
	{"change the type of a value", false, func(m *mutant) bool {
		return m.edited(anyPlace, func(p *place) {
			p.set(pick(m.Rand, []any{nil, true, jsonvalue.Number("0"), "", "0", new(jsonvalue.Array), new(jsonvalue.Object)}))
		})
	}},
	{"empty a string", false, func(m *mutant) bool { return m.edited(isString, func(p *place) { p.set("") }) }},
	{"change an outcome", false, func(m *mutant) bool {
		return m.with(func(i int) bool {
			e := m.edit(i)
			_, had := e.Get("outcome")
			switch m.IntN(3) {
			case 0:
				return e.Delete("outcome")
			case 1:
				e.Set("outcome", parsed(`{"type":"success"}`))
				return !had
			}
			e.Set("outcome", parsed(`{"type":"interrupt","interrupts":[{"id":"new","reason":"new"}]}`))
			return true
		}, "RUN_FINISHED")
	}},
	{"swap two messages of a snapshot", false, func(m *mutant) bool {
		return m.messages(func(a *jsonvalue.Array, i int) {
			j := m.IntN(a.Len())
			v := a.At(i)
			a.Set(i, a.At(j))
			a.Set(j, v)
		})
	}},
	{"drop a message of a snapshot", false, func(m *mutant) bool {
		return m.messages(func(a *jsonvalue.Array, i int) { a.Remove(i) })
	}},
	{"repeat a message of a snapshot", false, func(m *mutant) bool {
		return m.messages(func(a *jsonvalue.Array, i int) { a.Insert(m.IntN(a.Len()+1), a.At(i)) })
	}},
	{"add a message to a snapshot", false, func(m *mutant) bool {
		return m.messages(func(a *jsonvalue.Array, i int) { a.Insert(i, parsed(`{"id":"new","role":"user","content":"new"}`)) })
	}},
	{"change a call of a snapshot", false, func(m *mutant) bool {
		return m.text(func(p *place) bool { return p.name == "arguments" || p.name == "name" && !p.top }, "MESSAGES_SNAPSHOT")
	}},
	{"move the calls of a message of a snapshot", false, func(m *mutant) bool {
		return m.messages(func(a *jsonvalue.Array, i int) {
			from, _ := a.At(i).(*jsonvalue.Object)
			to, _ := a.At(m.IntN(a.Len())).(*jsonvalue.Object)
			if from != nil && to != nil {
				if calls, has := from.Get("toolCalls"); has {
					from.Delete("toolCalls")
					to.Set("toolCalls", calls)
				}
			}
		})
	}},
}

func anyPlace(*place) bool    { return true }
func isElement(p *place) bool { return p.element }
func topName(p *place) bool   { return p.top && p.name == "name" }
func isString(p *place) bool  { _, is := p.value.(string); return is }
func isNumber(p *place) bool  { _, is := p.value.(jsonvalue.Number); return is }
func isObject(p *place) bool  { _, is := p.value.(*jsonvalue.Object); return is }

// text changes a character of a string in a place.
func (m *mutant) text(want func(*place) bool, types ...string) bool {
	return m.edited(func(p *place) bool { return want(p) && isString(p) }, func(p *place) { p.set(m.oneCharacter(p.value.(string))) }, types...)
}

// moveText moves a character from one delta to another.
func (m *mutant) moveText(same bool) bool {
	return m.with(func(i int) bool {
		return m.with(func(j int) bool {
			a, b := m.events[i], m.events[j]
			own := stringIn(a, "messageId") == stringIn(b, "messageId") && stringIn(a, "toolCallId") == stringIn(b, "toolCallId")
			text := []rune(stringIn(a, "delta"))
			if i == j || own != same || len(text) == 0 || !utf8.ValidString(string(stringIn(a, "delta"))) {
				return false
			}
			m.edit(i).Set("delta", string(text[:len(text)-1]))
			m.edit(j).Set("delta", together(string(text[len(text)-1:]), stringIn(b, "delta")))
			return true
		}, deltas...)
	}, deltas...)
}

// messages changes the messages of a snapshot at a random one.
func (m *mutant) messages(change func(a *jsonvalue.Array, i int)) bool {
	return m.with(func(i int) bool {
		e := m.edit(i)
		v, _ := e.Get("messages")
		a, isList := v.(*jsonvalue.Array)
		if !isList || a.Len() == 0 {
			return false
		}
		change(a, m.IntN(a.Len()))
		return !jsonvalue.Equal(e, m.of.events[i])
	}, "MESSAGES_SNAPSHOT")
}

// Changes of ids.
var idKinds = []kind{
	{"an id becomes another one of the stream", false, func(m *mutant) bool { return m.retarget(nil, false) }},
	{"an id becomes a new one", false, func(m *mutant) bool { return m.retarget(nil, true) }},
	{"a message id becomes another", false, func(m *mutant) bool { return m.retarget(named("messageId", "parentMessageId"), m.IntN(2) == 0) }},
	{"a call id becomes another", false, func(m *mutant) bool { return m.retarget(named("toolCallId"), m.IntN(2) == 0) }},
	{"a run or thread id becomes another", false, func(m *mutant) bool { return m.retarget(named("runId", "threadId", "parentRunId"), m.IntN(2) == 0) }},
	{"an id of a message of a snapshot becomes another", false, func(m *mutant) bool {
		return m.retarget(func(p *place) bool { return !p.top }, m.IntN(2) == 0, "MESSAGES_SNAPSHOT")
	}},
	{"an id in a payload becomes another", false, func(m *mutant) bool {
		ids := sortedKeys(idsOf(m.events))
		return m.edited(func(p *place) bool { s, is := p.value.(string); return is && p.free && slices.Contains(ids, s) }, func(p *place) {
			p.set(pick(m.Rand, append(ids, "new")))
		}, "STATE_SNAPSHOT", "STATE_DELTA", "CUSTOM", "RUN_FINISHED", "ACTIVITY_SNAPSHOT")
	}},
	{"two ids become one", false, func(m *mutant) bool {
		ids := sortedKeys(idsOf(m.events))
		if len(ids) < 2 {
			return false
		}
		i := m.IntN(len(ids))
		m.renameFrom(0, ids[i], ids[(i+1+m.IntN(len(ids)-1))%len(ids)])
		return true
	}},
	{"one id becomes two", false, func(m *mutant) bool {
		ids := sortedKeys(idsOf(m.events))
		if len(ids) == 0 {
			return false
		}
		return m.renameFrom(m.IntN(len(m.events)), pick(m.Rand, ids), "new")
	}},
	{"two ids are exchanged from an event on", false, func(m *mutant) bool {
		ids := sortedKeys(idsOf(m.events))
		if len(ids) < 2 {
			return false
		}
		i := m.IntN(len(ids))
		a, b := ids[i], ids[(i+1+m.IntN(len(ids)-1))%len(ids)]
		from := m.IntN(len(m.events))
		return m.renameFrom(from, a, "\x01") && m.renameFrom(from, b, a) && m.renameFrom(from, "\x01", b)
	}},
}

// retarget makes an id in one place another one.
func (m *mutant) retarget(want func(*place) bool, fresh bool, types ...string) bool {
	ids := sortedKeys(idsOf(m.events))
	return m.edited(func(p *place) bool { return p.id && isString(p) && (want == nil || want(p)) }, func(p *place) {
		if fresh || len(ids) == 0 {
			p.set("new")
		} else {
			p.set(pick(m.Rand, ids))
		}
	}, types...)
}

// renameFrom gives an id another text in all events from one on.
func (m *mutant) renameFrom(from int, id, to string) (changed bool) {
	for i := from; i < len(m.events); i++ {
		e := rename(m.events[i], func(s string) string {
			if s == id {
				changed = true
				return to
			}
			return s
		})
		if !jsonvalue.Equal(e, m.events[i]) {
			m.events[i] = e
		}
	}
	return changed
}

func sortedKeys(ids map[string]bool) (list []string) {
	for id := range ids {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

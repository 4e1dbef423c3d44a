package trace_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/p20export/p20export/internal/jsonvalue"
)

// Changes of states and patches.
var stateKinds = []kind{
	{"change a value of a state", false, func(m *mutant) bool {
		return m.edited(isLeaf, func(p *place) { p.set(pick(m.Rand, []any{jsonvalue.Number("77"), "new", nil, true})) }, "STATE_SNAPSHOT")
	}},
	{"add a member to a state", false, func(m *mutant) bool {
		return m.edited(isObject, func(p *place) { p.value.(*jsonvalue.Object).Set("new", nil) }, "STATE_SNAPSHOT")
	}},
	{"remove a member of a state", false, func(m *mutant) bool {
		return m.edited(func(p *place) bool { return !p.element }, (*place).remove, "STATE_SNAPSHOT")
	}},
	{"drop a state", false, func(m *mutant) bool {
		return m.with(func(i int) bool { m.remove(i); return true }, "STATE_SNAPSHOT", "STATE_DELTA")
	}},
	{"move a state", false, func(m *mutant) bool {
		return m.with(func(i int) bool {
			j := m.IntN(len(m.events))
			m.move(i, j)
			return i != j
		}, "STATE_SNAPSHOT", "STATE_DELTA", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
	}},
	{"change the value of an operation", false, func(m *mutant) bool {
		return m.operation(func(a *jsonvalue.Array, i int, o *jsonvalue.Object) bool {
			_, has := o.Get("value")
			o.Set("value", pick(m.Rand, []any{jsonvalue.Number("77"), "new", nil}))
			return has
		})
	}},
	{"change the path of an operation", false, func(m *mutant) bool {
		return m.operation(func(a *jsonvalue.Array, i int, o *jsonvalue.Object) bool {
			o.Set("path", pick(m.Rand, []string{"", "/new", "/0", stringIn(o, "path") + "/new", stringIn(o, "path") + "2"}))
			return true
		})
	}},
	{"change the kind of an operation", false, func(m *mutant) bool {
		return m.operation(func(a *jsonvalue.Array, i int, o *jsonvalue.Object) bool {
			old := stringIn(o, "op")
			o.Set("op", pick(m.Rand, []string{"add", "replace", "remove", "test"}))
			return stringIn(o, "op") != old
		})
	}},
	{"drop an operation", false, func(m *mutant) bool {
		return m.operation(func(a *jsonvalue.Array, i int, o *jsonvalue.Object) bool { a.Remove(i); return true })
	}},
	{"repeat an operation", false, func(m *mutant) bool {
		return m.operation(func(a *jsonvalue.Array, i int, o *jsonvalue.Object) bool { a.Insert(i, o); return true })
	}},
	{"swap two operations", false, func(m *mutant) bool {
		return m.operation(func(a *jsonvalue.Array, i int, o *jsonvalue.Object) bool {
			j := m.IntN(a.Len())
			a.Set(i, a.At(j))
			a.Set(j, o)
			return i != j
		})
	}},
	{"make a patch a state", false, func(m *mutant) bool {
		return m.with(func(i int) bool {
			after := documentsOf(m.events)[i].after
			m.events[i] = eventOf(`{"type":"STATE_SNAPSHOT"}`)
			m.events[i].Set("snapshot", after)
			return after != nil
		}, "STATE_DELTA")
	}},
}

// Changes that the rules make equal.
var equalKinds = []kind{
	{"other ids", true, func(m *mutant) bool {
		ids := idsOf(m.events)
		for i, e := range m.events {
			m.events[i] = rename(e, func(s string) string {
				if ids[s] {
					return "other " + s
				}
				return s
			})
		}
		return len(ids) > 0 && !hasIndex(ids)
	}},
	{"ids exchanged everywhere", true, func(m *mutant) bool {
		ids := sortedKeys(idsOf(m.events))
		for i, e := range m.events {
			m.events[i] = rename(e, func(s string) string {
				if at := slices.Index(ids, s); at >= 0 {
					return ids[len(ids)-1-at]
				}
				return s
			})
		}
		return len(ids) > 1 && !hasIndex(idsOf(m.of.events))
	}},
	{"another time or raw event", true, func(m *mutant) bool {
		return m.with(func(i int) bool {
			e := m.edit(i)
			if m.IntN(2) == 0 {
				e.Set("timestamp", jsonvalue.Number(strconv.Itoa(m.IntN(1e9))))
			} else {
				e.Set("rawEvent", parsed(`{"new":[1,"messageId"]}`))
			}
			return true
		}, counting...)
	}},
	{"a RAW event more", true, func(m *mutant) bool {
		return m.at(func(i int) { m.insert(i+1, eventOf(`{"type":"RAW","event":{"messageId":"new"}}`)) })
	}},
	{"a RAW event less", true, func(m *mutant) bool {
		return m.with(func(i int) bool { m.remove(i); return true }, "RAW")
	}},
	{"a delta divided", true, func(m *mutant) bool {
		return m.with(func(i int) bool {
			text := utf16.Encode([]rune(stringIn(m.events[i], "delta")))
			if len(text) < 2 || !utf8.ValidString(stringIn(m.events[i], "delta")) {
				return false
			}
			at := 1 + m.IntN(len(text)-1) // can be within a surrogate pair
			second := changedCopy(m.events[i])
			m.edit(i).Set("delta", units(text[:at]))
			second.Set("delta", units(text[at:]))
			m.insert(i+1, second)
			return true
		}, deltas...)
	}},
	{"two deltas joined", true, func(m *mutant) bool {
		return m.with(func(i int) bool {
			if i+1 == len(m.events) {
				return false
			}
			one, other := changedCopy(m.events[i]), changedCopy(m.events[i+1])
			text := together(stringIn(one, "delta"), stringIn(other, "delta"))
			for _, e := range [...]*jsonvalue.Object{one, other} {
				e.Delete("timestamp")
				e.Delete("rawEvent")
				if _, has := e.Get("delta"); !has {
					return false
				}
				e.Set("delta", text)
			}
			m.remove(i)
			m.events[i] = one
			return jsonvalue.Equal(one, other)
		}, deltas...)
	}},
	{"the state repeated", true, func(m *mutant) bool {
		return m.with(func(i int) bool {
			v, _ := m.events[i].Get("snapshot")
			e := eventOf(`{"type":"STATE_SNAPSHOT"}`)
			e.Set("snapshot", v)
			m.insert(i+1, e)
			return v != nil
		}, "STATE_SNAPSHOT")
	}},
	{"the state repeated after a patch", true, func(m *mutant) bool {
		return m.with(func(i int) bool {
			d := documentsOf(m.events)[i]
			e := eventOf(`{"type":"STATE_SNAPSHOT"}`)
			e.Set("snapshot", d.after)
			m.insert(i+1, e)
			return d.applied
		}, "STATE_DELTA")
	}},
	{"a patch without effect", true, func(m *mutant) bool {
		return m.with(func(i int) bool {
			v, _ := m.events[i].Get("snapshot")
			patch := `{"type":"STATE_DELTA","delta":[]}`
			if _, isObject := v.(*jsonvalue.Object); isObject && m.IntN(2) == 0 {
				patch = `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/new","value":1},{"op":"test","path":"/new","value":1.0},{"op":"remove","path":"/new"}]}`
				if _, has := v.(*jsonvalue.Object).Get("new"); has {
					return false
				}
			}
			m.insert(i+1, eventOf(patch))
			return true
		}, "STATE_SNAPSHOT")
	}},
	{"a patch spelled otherwise", true, (*mutant).respellPatch},
	{"a number spelled otherwise", true, func(m *mutant) bool {
		return m.edited(isNumber, func(p *place) {
			n := string(p.value.(jsonvalue.Number))
			switch {
			case strings.ContainsAny(n, "eE"):
				n = strings.NewReplacer("e", "E", "E", "e").Replace(n)
			case strings.Contains(n, "."):
				n += "0"
			case n == "0" || m.IntN(2) == 0:
				n += ".0"
			default:
				n += "e0"
			}
			p.set(jsonvalue.Number(n))
		})
	}},
	{"members in another order", true, func(m *mutant) bool {
		return m.with(func(i int) bool {
			e := m.edit(i)
			for _, p := range append(places(e), place{value: e}) {
				o, isObject := p.value.(*jsonvalue.Object)
				if !isObject {
					continue
				}
				var names []string
				for name := range o.All {
					names = append(names, name)
				}
				m.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
				for _, name := range names {
					v, _ := o.Get(name)
					o.Delete(name)
					o.Set(name, v)
				}
			}
			return true
		})
	}},
	{"strings with other escapes", true, func(m *mutant) bool {
		return m.with(func(i int) bool { m.respelled = append(m.respelled, m.edit(i)); return true })
	}},
	{"independent events in another order", true, func(m *mutant) bool {
		swapped := 0
		for range 50 {
			i := m.IntN(len(m.events))
			if i+1 == len(m.events) || !independent(m.events[i], m.events[i+1]) {
				continue
			}
			m.swap(i, i+1)
			swapped++
		}
		return swapped > 0 && !slices.Equal(m.events, m.of.events)
	}},
}

// hasIndex reports whether an id could be taken for the index of an element in a pointer.
func hasIndex(ids map[string]bool) bool {
	for id := range ids {
		if strings.Trim(id, "0123456789") == "" {
			return true
		}
	}
	return false
}

// units returns a text of UTF-16 code units, as one with halves of surrogate pairs.
func units(list []uint16) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range list {
		fmt.Fprintf(&b, "\\u%04x", c)
	}
	b.WriteByte('"')
	return parsed(b.String()).(string)
}

// independent reports whether a client cannot notice the order of two events (TR10).
func independent(a, b *jsonvalue.Object) bool {
	x, y := about(a), about(b)
	return !slices.Contains(y, everything) && !slices.ContainsFunc(x, func(what string) bool { return what == everything || slices.Contains(y, what) })
}

func isLeaf(p *place) bool {
	switch p.value.(type) {
	case *jsonvalue.Array, *jsonvalue.Object:
		return false
	}
	return true
}

// operation changes an operation of a patch.
func (m *mutant) operation(change func(a *jsonvalue.Array, i int, o *jsonvalue.Object) bool) bool {
	return m.with(func(i int) bool {
		v, _ := m.edit(i).Get("delta")
		if v == nil {
			v, _ = m.events[i].Get("patch")
		}
		a, isList := v.(*jsonvalue.Array)
		if !isList || a.Len() == 0 {
			return false
		}
		at := m.IntN(a.Len())
		o, isObject := a.At(at).(*jsonvalue.Object)
		return isObject && change(a, at, o) && !jsonvalue.Equal(m.events[i], m.of.events[i])
	}, "STATE_DELTA", "ACTIVITY_DELTA")
}

// respellPatch gives a patch other operations with the same effect.
func (m *mutant) respellPatch() bool {
	spelled := m.operation(func(a *jsonvalue.Array, i int, o *jsonvalue.Object) bool {
		path := stringIn(o, "path")
		value, has := o.Get("value")
		op := func(op, path, from string) *jsonvalue.Object {
			n := new(jsonvalue.Object)
			n.Set("op", op)
			n.Set("path", path)
			switch {
			case from != "":
				n.Set("from", from)
			case op != "remove":
				n.Set("value", value)
			}
			return n
		}
		insert := func(ops ...*jsonvalue.Object) {
			for j, o := range ops {
				a.Insert(i+j, o)
			}
		}
		kind := stringIn(o, "op")
		switch m.IntN(4) {
		case 0:
			if kind != "replace" || path == "" {
				return false
			}
			a.Remove(i)
			insert(op("remove", path, ""), op("add", path, ""))
		case 1:
			if kind != "add" || path == "" {
				return false
			}
			a.Remove(i)
			insert(op("add", "/moved", ""), op("move", path, "/moved"))
		case 2:
			if kind != "add" || path == "" {
				return false
			}
			a.Remove(i)
			insert(op("add", "/moved", ""), op("copy", path, "/moved"), op("remove", "/moved", ""))
		case 3:
			if !has || kind == "test" || strings.HasSuffix(path, "/-") {
				return false
			}
			i++
			insert(op("test", path, ""))
		}
		return true
	})
	if !spelled {
		return false
	}
	before, after := documentsOf(m.of.events), documentsOf(m.events)
	for i := range before {
		if m.events[i] != m.of.events[i] && !before[i].applied || before[i].applied != after[i].applied || !jsonvalue.Equal(before[i].after, after[i].after) {
			return false
		}
	}
	return true
}

// respell writes letters of strings as escapes.
func respell(text string) string {
	var b strings.Builder
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			b.WriteString(text[i : i+2])
			if text[i+1] == 'u' {
				b.WriteString(text[i+2 : i+6])
				i += 4
			}
			i++
		case c == '"':
			inString = !inString
			b.WriteByte(c)
		case inString && c >= 'a' && c <= 'z':
			b.WriteString(`\u00` + strconv.FormatInt(int64(c), 16))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

package trace_test

import (
	"slices"
	"strings"

	"github.com/p20export/p20export/envelope/internal/jsonpatch"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// This file reads docs/traces.md a second time, for streams that are in memory, without names:
// it asks whether two streams are equal, and knows nothing of a normal form or an alignment.

// ruleNames are the rules that make streams equal, in the order in which they are tried.
var ruleNames = [...]string{"TR8", "TR3", "TR2", "TR4", "TR5", "TR6", "TR10"}

// A level is how many of the rules apply.
type level int

const (
	byValues level = iota // TR8
	byWhatCounts
	byNames
	byText
	byState
	byEffect
	byOrder
)

// equalBy returns the rule that makes two streams equal, after those before it in ruleNames, and
// the ids that correspond. The rule is empty if the streams differ.
func equalBy(a *stream, b []*jsonvalue.Object) (string, *exchange) {
	if a.whole == nil {
		a.whole = reading(byOrder, a.events)
	}
	if equalUnder(byOrder, a.whole, reading(byOrder, b)) == nil {
		return "", nil
	}
	for l, name := range ruleNames {
		if x := equalUnder(level(l), reading(level(l), a.events), reading(level(l), b)); x != nil {
			return name, x
		}
	}
	return "", nil
}

// equalUnder returns the ids that correspond if two streams are equal by the rules of a level,
// and otherwise nil.
func equalUnder(l level, a, b *reader) *exchange {
	x := &exchange{a.ids, b.ids, map[string]string{}, map[string]string{}}
	p, q := a.items, b.items
	if len(p) != len(q) {
		return nil
	}
	if l < byOrder {
		if !x.sequence(p, q) {
			return nil
		}
		return x
	}
	// Two orders are the same to who can only compare dependent events if they are the same for
	// each set of events that all depend on one another: those about the conversation, those
	// about the state, and those of each id.
	about := func(items []item, what string) (list []item) {
		for _, i := range items {
			if slices.Contains(i.about, what) || slices.Contains(i.about, everything) {
				list = append(list, i)
			}
		}
		return list
	}
	for _, what := range [...]string{conversationOf, stateOf} {
		if !x.sequence(about(p, what), about(q, what)) {
			return nil
		}
	}
	done := map[string]bool{}
	for _, i := range p {
		for _, what := range i.about {
			id, isID := strings.CutPrefix(what, "of ")
			if !isID || done[what] {
				continue
			}
			done[what] = true
			other, known := x.to[id]
			if !known {
				other = id
			}
			if !x.sequence(about(p, what), about(q, "of "+other)) {
				return nil
			}
		}
	}
	return x
}

// The things that the place of an event can be about. The others are "of " and an id.
const (
	everything     = "everything"
	conversationOf = "the conversation"
	stateOf        = "the state"
)

// An item is an event, or several deltas.
type item struct {
	value *jsonvalue.Object
	about []string
	// text is the event with a mark for each id, and ids are those.
	text string
	ids  []string
	// dropped says that the event does not count, but can end a text.
	dropped bool
}

// about returns what the place of an event is about (TR10).
func about(e *jsonvalue.Object) (list []string) {
	for _, name := range [...]string{"messageId", "toolCallId"} {
		v, _ := e.Get(name)
		if id, isString := v.(string); isString {
			list = append(list, "of "+id)
		}
	}
	switch kind := stringIn(e, "type"); kind {
	case "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT":
		return []string{everything}
	case "STATE_SNAPSHOT", "STATE_DELTA":
		return append(list, stateOf)
	case "TEXT_MESSAGE_CHUNK", "REASONING_MESSAGE_CHUNK", "TOOL_CALL_CHUNK", "THINKING_TEXT_MESSAGE_CONTENT":
		if _, has := e.Get("toolCallName"); len(list) == 0 || kind == "TOOL_CALL_CHUNK" && !has {
			return []string{everything} // it continues the text that is open
		}
		return append(list, conversationOf)
	case "CUSTOM", "META", "RAW":
		return append(list, conversationOf, stateOf)
	case "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "TEXT_MESSAGE_END", "REASONING_MESSAGE_END", "TOOL_CALL_END":
		if len(list) == 0 {
			return []string{everything}
		}
		return list
	default:
		return append(list, conversationOf)
	}
}

// A reader is what counts of a stream under the rules of a level.
type reader struct {
	ids   map[string]bool
	items []item
}

func reading(l level, events []*jsonvalue.Object) *reader {
	r := new(reader)
	if l >= byNames {
		r.ids = idsOf(events)
	}
	r.items = read(l, events)
	for i := range r.items {
		r.items[i].text, r.items[i].ids = flatten(r.items[i].value, r.ids)
	}
	return r
}

// read returns what counts of a stream under the rules of a level.
func read(l level, events []*jsonvalue.Object) (list []item) {
	documents := documentsOf(events)
	for i, e := range events {
		if l >= byWhatCounts {
			if stringIn(e, "type") == "RAW" {
				continue
			}
			e = changedCopy(e)
			e.Delete("timestamp")
			e.Delete("rawEvent")
		}
		d := documents[i]
		dropped := (l >= byState && d.pulse || l >= byEffect && d.applied && jsonvalue.Equal(d.before, d.after)) && !hasMore(e)
		if l >= byEffect && d.applied {
			e = changedCopy(e)
			e.Set(d.member, d.after)
		}
		list = append(list, item{value: e, about: about(e), dropped: dropped})
	}
	if l >= byText {
		list = joined(list)
	}
	return slices.DeleteFunc(list, func(i item) bool { return i.dropped })
}

// hasMore reports whether an event about a state or an activity has other members than its value
// needs.
func hasMore(e *jsonvalue.Object) bool {
	want := map[string][]string{"STATE_SNAPSHOT": {"snapshot"}, "STATE_DELTA": {"delta"}, "ACTIVITY_DELTA": {"activityType", "messageId", "patch"}}
	var names []string
	for name := range e.All {
		if name != "type" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return !slices.Equal(names, want[stringIn(e, "type")])
}

// joined joins the deltas of each text (TR4).
func joined(list []item) (out []item) {
	var open []int // places in out of texts that can go on
	for _, i := range list {
		text, isDelta := deltaOf(i.value)
		at := slices.IndexFunc(open, func(n int) bool { return sharesID(out[n], i) || loose(out[n]) && loose(i) })
		if isDelta && at >= 0 {
			last := &out[open[at]]
			before, _ := deltaOf(last.value)
			one, other := changedCopy(last.value), changedCopy(i.value)
			one.Delete("delta")
			other.Delete("delta")
			if jsonvalue.Equal(one, other) {
				_, one := last.value.Get("delta")
				_, other := i.value.Get("delta")
				last.value = changedCopy(last.value)
				if one || other {
					last.value.Set("delta", together(before, text))
				}
				continue
			}
		}
		open = slices.DeleteFunc(open, func(n int) bool {
			chunk := strings.HasSuffix(stringIn(out[n].value, "type"), "_CHUNK")
			return slices.Contains(i.about, everything) || loose(out[n]) || sharesID(out[n], i) || chunk && !isDelta && slices.Contains(i.about, conversationOf)
		})
		if isDelta {
			open = append(open, len(out))
		}
		out = append(out, i)
	}
	return out
}

// loose reports whether an item is deltas that continue the text that is open.
func loose(i item) bool {
	_, isDelta := deltaOf(i.value)
	return isDelta && slices.Contains(i.about, everything)
}

// together returns two texts as one. Halves of a surrogate pair become one character.
func together(a, b string) string {
	text, _ := strictjson.JoinSurrogates(a + b)
	return text
}

func sharesID(a, b item) bool {
	return slices.ContainsFunc(a.about, func(s string) bool { return strings.HasPrefix(s, "of ") && slices.Contains(b.about, s) })
}

// deltaOf returns the text of a delta, and whether the event has one.
func deltaOf(e *jsonvalue.Object) (string, bool) {
	switch kind := stringIn(e, "type"); kind {
	case "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK", "TOOL_CALL_ARGS", "TOOL_CALL_CHUNK", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK", "THINKING_TEXT_MESSAGE_CONTENT":
		v, has := e.Get("delta")
		s, isString := v.(string)
		return s, isString || !has && strings.HasSuffix(kind, "_CHUNK")
	}
	return "", false
}

// A change is what an event does to the state, or to an activity.
type change struct {
	pulse         bool   // a snapshot of the state that there is
	applied       bool   // a patch that applies to a known value
	member        string // with the patch
	before, after jsonvalue.Value
}

// documentsOf returns what each event does to the state and to activities (TR5, TR6).
func documentsOf(events []*jsonvalue.Object) []change {
	list := make([]change, len(events))
	known := map[string]jsonvalue.Value{} // of the run: the state, and activities by id
	for i, e := range events {
		of := "activity " + stringIn(e, "messageId")
		switch kind := stringIn(e, "type"); kind {
		case "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR":
			clear(known)
		case "MESSAGES_SNAPSHOT": // has activities too
			for name := range known {
				if name != "state" {
					delete(known, name)
				}
			}
		case "STATE_SNAPSHOT", "ACTIVITY_SNAPSHOT":
			member := "content"
			if kind == "STATE_SNAPSHOT" {
				of, member = "state", "snapshot"
			}
			v, _ := e.Get(member)
			old, ok := known[of]
			if replace, _ := e.Get("replace"); kind == "ACTIVITY_SNAPSHOT" && replace == false {
				continue // it keeps an activity, if there is one
			}
			list[i].pulse = kind == "STATE_SNAPSHOT" && ok && jsonvalue.Equal(old, v)
			known[of] = v
		case "STATE_DELTA", "ACTIVITY_DELTA":
			member := "patch"
			if kind == "STATE_DELTA" {
				of, member = "state", "delta"
			}
			v, _ := e.Get(member)
			before, ok := known[of]
			if _, isList := v.(*jsonvalue.Array); !ok || !isList {
				continue
			}
			var d jsonpatch.Document
			if err := d.Reset(textOf(before)); err != nil {
				panic(err)
			}
			if d.Apply(textOf(v), jsonpatch.RFC6902, func(int, string) {}) == nil {
				known[of] = jsonvalue.Clone(d.Value())
				list[i] = change{applied: true, member: member, before: before, after: known[of]}
			}
		}
	}
	return list
}

// textOf returns a value as one that was read.
func textOf(v jsonvalue.Value) strictjson.Value {
	text := jsonvalue.Append(nil, v)
	read, err := strictjson.ReadText(new(strictjson.Object), strictjson.NewDecoder(text), text)
	if err != nil {
		panic(err)
	}
	return read
}

// An exchange is the ids of two streams that correspond, one for one (TR2).
type exchange struct {
	a, b     map[string]bool // the ids
	to, from map[string]string
}

// sequence reports whether items are equal in their order.
func (x *exchange) sequence(p, q []item) bool {
	return slices.EqualFunc(p, q, func(i, j item) bool { return i.text == j.text && slices.EqualFunc(i.ids, j.ids, x.bind) })
}

// bind reports whether two ids can correspond, and then they do.
func (x *exchange) bind(a, b string) bool {
	to, bound := x.to[a]
	from, taken := x.from[b]
	if !bound && !taken {
		x.to[a], x.from[b] = b, a
		return true
	}
	return bound && taken && to == b && from == a
}

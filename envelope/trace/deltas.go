package trace

import (
	"maps"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/jsonvalue"
)

// deltas has the deltas that wait for the end of their text, by what they belong to: a message,
// a call, or a chunk or thought without an id.
type deltas struct {
	waiting map[string]*joined
	begun   int // texts so far
}

// joined is the deltas of one text.
type joined struct {
	eventType   string
	of          string            // what they belong to
	rest        string            // the normal form of the other members
	value       *jsonvalue.Object // without the delta
	text        []byte
	has         bool // there is a delta
	first, last envelope.Ref
	order       int // the value of deltas.begun
}

// delta adds an event with a delta. The deltas of one text are one line if their other members
// are equal.
func (n *Normalizer) delta(e *envelope.Event, id string) error {
	v, has := e.Get("delta")
	text, valid := v.Text()
	if n.options.Deltas || has && (v.Kind != envelope.StringValue || !valid) {
		value := n.value(e)
		if err := n.flushOf(value); err != nil {
			return err
		}
		if n.options.Shape && has && v.Kind == envelope.StringValue {
			value.Set("delta", shape(len(text) > 0))
		}
		return n.line(e.Type, value, e.Ref(), e.Ref())
	}
	value := n.value(e)
	value.Delete("delta")
	of := ""
	if id != "" {
		of = nameOf(value, id)
	}
	rest := string(jsonvalue.Append(nil, canonical(value)))
	j := n.open.waiting[of]
	if j != nil && (j.eventType != e.Type || j.rest != rest) {
		if err := n.pass(j); err != nil {
			return err
		}
		j = nil
	}
	if j == nil {
		j = &joined{eventType: e.Type, of: of, rest: rest, value: value, first: e.Ref(), order: n.open.begun}
		if n.open.waiting == nil {
			n.open.waiting = map[string]*joined{}
		}
		n.open.waiting[of] = j
		n.open.begun++
	}
	j.text = append(j.text, text...)
	j.has = j.has || has
	j.last = e.Ref()
	return nil
}

// pass passes on deltas as one line.
func (n *Normalizer) pass(j *joined) error {
	delete(n.open.waiting, j.of)
	switch {
	case j.has && n.options.Shape:
		j.value.Set("delta", shape(len(j.text) > 0))
	case j.has:
		j.value.Set("delta", literal(string(j.text)))
	}
	return n.line(j.eventType, j.value, j.first, j.last)
}

// shape stands for a text.
func shape(present bool) string {
	if present {
		return "(text)"
	}
	return ""
}

// flush passes on all deltas, in the order in which they began.
func (n *Normalizer) flush() error {
	for _, j := range slices.SortedFunc(maps.Values(n.open.waiting), func(a, b *joined) int { return a.order - b.order }) {
		if err := n.pass(j); err != nil {
			return err
		}
	}
	return nil
}

// flushOf passes on the deltas of what an event names, and those without an id, which end with
// any other event.
func (n *Normalizer) flushOf(value *jsonvalue.Object) error {
	for _, of := range [...]string{"", nameOf(value, "messageId"), nameOf(value, "toolCallId")} {
		if j := n.open.waiting[of]; j != nil {
			if err := n.pass(j); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameOf returns the name in a member, or "".
func nameOf(value *jsonvalue.Object, member string) string {
	v, _ := value.Get(member)
	s, _ := v.(string)
	return s
}

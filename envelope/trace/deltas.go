package trace

import (
	"bytes"
	"maps"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// deltas has the deltas that wait for the end of their text, by what they belong to: a message,
// a call, or "" for what is loose.
type deltas struct {
	waiting map[string]*joined
	begun   int     // texts so far
	chunks  int     // of the waiting ones, those of chunks
	last    *joined // the text of the last delta, if it waits and has only an id
	keys    [envelope.Shapes]deltaKeys
}

// joined is the deltas of one text.
type joined struct {
	eventType   string
	id          []byte            // the JSON text of the id, if that is the only other member
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
	k := n.keysOf(e, id)
	if j := n.open.last; j != nil && k.only && j.eventType == e.Type && bytes.Equal(j.id, e.Raw(k.id)) {
		// Nearly all events are of this form.
		j.text, _ = strictjson.AppendUnquoted(j.text, e.Raw(k.delta))
		j.last = e.Ref()
		return nil
	}
	v, has := e.Get("delta")
	text, _ := v.Text() // can be half a surrogate pair
	if n.options.Deltas || v.Kind != envelope.StringValue && (has || !isChunk(e.Type)) {
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
	if !loose(e.Type, value) {
		of = nameOf(value, id)
		if j := n.open.waiting[""]; j != nil {
			if err := n.pass(j); err != nil {
				return err
			}
		}
	}
	rest := string(jsonvalue.Append(nil, canonical(value)))
	j := n.open.waiting[of]
	if j != nil && (j.eventType != e.Type || j.rest != rest) {
		if err := n.pass(j); err != nil {
			return err
		}
		j = nil
	}
	if j == nil && of == "" {
		if err := n.flush(); err != nil {
			return err
		}
	}
	if j == nil {
		j = &joined{eventType: e.Type, of: of, rest: rest, value: value, first: e.Ref(), order: n.open.begun}
		if n.open.waiting == nil {
			n.open.waiting = map[string]*joined{}
		}
		n.open.waiting[of] = j
		if isChunk(j.eventType) {
			n.open.chunks++
		}
		n.open.begun++
	}
	j.text = append(j.text, text...)
	j.has = j.has || has
	j.last = e.Ref()
	n.open.last = nil
	if k.only && !n.options.Deltas {
		j.id = append(j.id[:0], e.Raw(k.id)...)
		n.open.last = j
	}
	return nil
}

// deltaKeys are the members of the events of a shape: only says that they are the id, the delta
// and others that do not count.
type deltaKeys struct {
	shape     envelope.Shape
	id, delta int
	only      bool
}

// keysOf returns the members of an event with a delta.
func (n *Normalizer) keysOf(e *envelope.Event, id string) *deltaKeys {
	shape := e.Shape()
	k := &n.open.keys[shape%envelope.Shapes]
	if shape == 0 || k.shape != shape {
		*k = deltaKeys{shape: shape, id: e.Object.Index(id), delta: e.Object.Index("delta")}
		k.only = k.id >= 0 && e.At(k.id).Kind == envelope.StringValue && k.delta >= 0 && e.At(k.delta).Kind == envelope.StringValue
		for m := range e.Object.All {
			k.only = k.only && (uncounted(m) || m.Is(id, "delta"))
		}
	}
	return k
}

// loose reports whether a delta continues the text that is open: a chunk or a thought without an
// id, or a chunk of a call without the name of the tool.
func loose(eventType string, value *jsonvalue.Object) bool {
	switch eventType {
	case eventnames.ToolCallChunk:
		return nameOf(value, "toolCallId") == "" || nameOf(value, "toolCallName") == ""
	case eventnames.TextMessageChunk, eventnames.ReasoningMessageChunk:
		return nameOf(value, "messageId") == ""
	}
	return eventType == eventnames.ThinkingTextMessageContent
}

// pass passes on deltas as one line.
func (n *Normalizer) pass(j *joined) error {
	delete(n.open.waiting, j.of)
	if n.open.last == j {
		n.open.last = nil
	}
	if isChunk(j.eventType) {
		n.open.chunks--
		if err := n.flushChunks(j.order); err != nil {
			return err
		}
	}
	text, _ := strictjson.JoinSurrogates(string(j.text))
	switch {
	case j.has && n.options.Shape:
		j.value.Set("delta", shape(len(j.text) > 0))
	case j.has:
		j.value.Set("delta", n.names.text(text))
	}
	n.matchers.apply(j.eventType, j.value, &n.names)
	return n.line(j.eventType, j.value, j.first, j.last)
}

// shape stands for a text.
func shape(present bool) string {
	if present {
		return "(text)"
	}
	return ""
}

// shapeMessages puts the shapes in the place of what a model wrote in the messages of an object.
func shapeMessages(o *jsonvalue.Object) {
	v, _ := o.Get("messages")
	each(v, func(m *jsonvalue.Object) {
		if role := text(m, "role"); role != "assistant" && role != "reasoning" {
			return
		}
		shapeMember(m, "content")
		content, _ := m.Get("content")
		each(content, func(part *jsonvalue.Object) { shapeMember(part, "text") })
		calls, _ := m.Get("toolCalls")
		each(calls, func(call *jsonvalue.Object) {
			f, _ := call.Get("function")
			if f, ok := f.(*jsonvalue.Object); ok {
				shapeMember(f, "arguments")
			}
		})
	})
}

// shapeMember puts the shape of a text in its place.
func shapeMember(o *jsonvalue.Object, member string) {
	v, _ := o.Get(member)
	if s, ok := v.(string); ok {
		o.Set(member, shape(s != ""))
	}
}

// each calls do for the objects in an array.
func each(v jsonvalue.Value, do func(*jsonvalue.Object)) {
	a, ok := v.(*jsonvalue.Array)
	if !ok {
		return
	}
	for _, e := range a.All {
		if o, ok := e.(*jsonvalue.Object); ok {
			do(o)
		}
	}
}

// flush passes on all deltas, in the order in which they began.
func (n *Normalizer) flush() error { return n.flushFunc(func(*joined) bool { return true }) }

// flushChunks passes on the texts of chunks that began before others. A client notices in which
// order they begin.
func (n *Normalizer) flushChunks(before int) error {
	if n.open.chunks == 0 {
		return nil
	}
	return n.flushFunc(func(j *joined) bool { return isChunk(j.eventType) && j.order < before })
}

func (n *Normalizer) flushFunc(which func(*joined) bool) error {
	for _, j := range slices.SortedFunc(maps.Values(n.open.waiting), func(a, b *joined) int { return a.order - b.order }) {
		if n.open.waiting[j.of] == j && which(j) {
			if err := n.pass(j); err != nil {
				return err
			}
		}
	}
	return nil
}

// isChunk reports whether events of a type begin a text, go on with it, or both.
func isChunk(eventType string) bool {
	switch eventType {
	case eventnames.TextMessageChunk, eventnames.ToolCallChunk, eventnames.ReasoningMessageChunk:
		return true
	}
	return false
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

// nameOf returns the name in a member, " " for an empty id, or "" if there is none.
func nameOf(value *jsonvalue.Object, member string) string {
	v, _ := value.Get(member)
	s, ok := v.(string)
	if ok && s == "" {
		return " "
	}
	return s
}

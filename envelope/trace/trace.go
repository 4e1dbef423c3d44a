// Package trace brings streams of AG-UI events into a normal form, in which two runs of the
// same agent are equal if nothing changed that a client can notice: docs/traces.md has its
// rules (TR1 to TR10).
//
// A [Normalizer] takes events and passes lines to a function. A line is the JSON text of an
// event with names such as message-2 in the place of generated ids, and without times. The
// deltas of a message are one line.
//
// The package must not know how lines are written, compared or shown, and traces are not
// evidence of a run.
package trace

import (
	"bytes"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/jsonvalue"
)

// Options choose what counts. The zero value is the default of docs/traces.md.
type Options struct {
	// Raw says that RAW events count (TR3).
	Raw bool
	// Deltas says that each delta counts, and not only the text of all (TR4).
	Deltas bool
	// Pulses says that each of several equal STATE_SNAPSHOTs counts (TR5).
	Pulses bool
	// Patches says that patches count as they are written, and not by their effect (TR6).
	Patches bool
	// Shape says that of what a model writes only counts whether there is any (TR7).
	Shape bool
	// Matchers say what of some values counts (TR9).
	Matchers []Matcher
}

// A Line is an event in normal form, or several that are one.
type Line struct {
	// Type is the type of the events.
	Type string
	// Text is the JSON text, an object whose first member is the type and whose others are
	// sorted by name. It is valid until the function that the line was passed to returns.
	Text []byte
	// First and Last are the places of the first and the last event.
	First, Last envelope.Ref
	// After is the type of the line before it, or "" for the first one. It is set by Compare.
	After string

	order   order
	subject string
	// skeleton is a hash of Text without names, and names are those, in their order. They are
	// set by Compare.
	skeleton string
	names    []string
	words    []uint32 // a sample of the words of Text, made when it is needed
}

// Clone returns a copy of l that stays valid.
func (l *Line) Clone() *Line {
	c := *l
	c.Text = bytes.Clone(l.Text)
	return &c
}

// A Normalizer makes the lines of one stream of events.
type Normalizer struct {
	options  Options
	matchers matchers
	emit     func(*Line) error
	names    names
	open     deltas
	state    document // of the run
	// activities have the content of the activities of the run, by name.
	activities map[string]*document
	out        []byte // reused
}

// New returns a Normalizer of a stream with these ids, which passes each line to emit. Without
// ids, or with those of another stream, ids that are found before their events keep their text.
// The matchers must be those that the ids were collected with.
func New(o Options, ids *IDs, emit func(*Line) error) *Normalizer {
	if ids == nil {
		ids = new(IDs)
	}
	n := &Normalizer{options: o, matchers: newMatchers(o.Matchers), emit: emit, names: names{known: ids}}
	n.state = newState()
	return n
}

// Event adds the next event of the stream. It does not retain e. The error is that of emit.
func (n *Normalizer) Event(e *envelope.Event) error {
	switch e.Type {
	case eventnames.Raw:
		if !n.options.Raw {
			return nil
		}
	case eventnames.TextMessageContent, eventnames.ReasoningMessageContent, eventnames.TextMessageChunk, eventnames.ReasoningMessageChunk:
		return n.delta(e, "messageId")
	case eventnames.ToolCallArgs, eventnames.ToolCallChunk:
		return n.delta(e, "toolCallId")
	case eventnames.ThinkingTextMessageContent:
		return n.delta(e, "")
	case eventnames.RunStarted, eventnames.RunFinished, eventnames.RunError:
		n.state = newState()
		fallthrough
	case eventnames.MessagesSnapshot:
		n.activities = nil // a snapshot can have some
		// A client can notice how far every message is.
		if err := n.flush(); err != nil {
			return err
		}
	}
	value := n.value(e)
	if err := n.flushOf(value); err != nil {
		return err
	}
	if orderOf(e.Type, value).conversation {
		if err := n.flushChunks(n.open.begun); err != nil {
			return err
		}
	}
	switch e.Type {
	case eventnames.StateSnapshot:
		v, _ := e.Get("snapshot")
		if !n.set(&n.state, v) && !n.options.Pulses && value.Len() == 1 {
			return nil
		}
	case eventnames.StateDelta:
		if !n.patch(&n.state, e, value, "delta") && value.Len() == 1 {
			return nil
		}
	case eventnames.ActivitySnapshot:
		v, _ := e.Get("content")
		if replace, _ := e.Get("replace"); replace.Kind != envelope.FalseValue { // otherwise an activity stays, if there is one
			n.set(n.activity(nameOf(value, "messageId")), v)
		}
	case eventnames.ActivityDelta:
		if !n.patch(n.activity(nameOf(value, "messageId")), e, value, "patch") && value.Len() == 3 {
			return nil
		}
	}
	return n.line(e.Type, value, e.Ref(), e.Ref())
}

// End ends the stream, and passes on what waited for its end. It must be called once, after the
// last event.
func (n *Normalizer) End() error { return n.flush() }

// line passes on a line.
func (n *Normalizer) line(eventType string, value *jsonvalue.Object, first, last envelope.Ref) error {
	n.out = appendLine(n.out[:0], eventType, value)
	return n.emit(&Line{Type: eventType, Text: n.out, First: first, Last: last, order: orderOf(eventType, value), subject: subjectOf(value)})
}

// activity returns the content of an activity of the run.
func (n *Normalizer) activity(name string) *document {
	d := n.activities[name]
	if d == nil {
		if n.activities == nil {
			n.activities = map[string]*document{}
		}
		d = &document{snapshot: eventnames.ActivitySnapshot, member: "content"}
		n.activities[name] = d
	}
	return d
}

// value returns the members of an event that count, with names in the place of ids.
func (n *Normalizer) value(e *envelope.Event) *jsonvalue.Object {
	value := members(e)
	n.names.object(value, 0)
	if n.options.Shape {
		shapeMessages(value)
		input, _ := value.Get("input")
		if input, ok := input.(*jsonvalue.Object); ok {
			shapeMessages(input)
		}
	}
	n.matchers.apply(e.Type, value, &n.names)
	return value
}

// members returns the members of an event that count (TR3).
func members(e *envelope.Event) *jsonvalue.Object {
	value := new(jsonvalue.Object)
	for m := range e.Object.All {
		if !uncounted(m) {
			name, _ := m.Name.Text()
			value.Set(name, jsonvalue.Parse(m.Value))
		}
	}
	return value
}

// uncounted reports whether a member of an event is the type or does not count (TR3).
func uncounted(m envelope.Member) bool { return m.Is("type", "timestamp", "rawEvent") }

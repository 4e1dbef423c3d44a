package chunk

import "github.com/p20export/p20export/envelope"

var emptyString = envelope.Value{Kind: envelope.StringValue, Raw: []byte(`""`)}

// expand yields the START of a chunk that begins a stream, and the CONTENT or ARGS of
// a chunk that has any. The metadata of the chunk is on both, its rawEvent and the
// members that AG-UI 1.0 does not define are on the last. The timestamp is on neither.
func (x *Expander) expand(c *chunk, yield func(e *envelope.Event)) {
	s := c.continues
	meta, hasMeta := c.Get(metadata)
	raw, hasRaw := c.Get(rawEvent)
	text, hasText := c.Get(delta)
	others := c.hasOthers()
	content := hasText || hasRaw || !c.begins && (hasMeta || others || c.tag.Kind == envelope.NullValue)
	if c.begins {
		x.start(s)
		x.add(metadata, meta)
		if others && !content {
			x.addOthers(c, s.shape == reasoningShape)
		}
		x.yield(s.start, c.Event, yield)
	}
	if !content {
		return
	}
	if !hasText {
		text = emptyString
	}
	tag := c.tag
	if tag.Kind == 0 {
		tag = s.tag
	}
	x.begin(s.content, s.id, s)
	x.add(delta, text)
	x.add(subagentRunID, tag)
	x.add(metadata, meta)
	x.add(rawEvent, raw)
	if others {
		x.addOthers(c, false)
	}
	x.yield(s.content, c.Event, yield)
}

// start begins the START of a stream.
func (x *Expander) start(s *stream) {
	x.begin(s.shape.start, s.id, s)
	if s.shape == reasoningShape {
		x.add(role, envelope.Value{Kind: envelope.StringValue, Raw: []byte(s.role)})
	} else {
		x.add(s.shape.repeated[0], s.repeated[0])
		x.add(s.shape.repeated[1], s.repeated[1])
	}
	x.add(subagentRunID, s.tag)
}

// begin begins an event of a stream.
func (x *Expander) begin(eventType string, id envelope.Value, s *stream) {
	x.builder.Reset()
	x.quoted = append(append(append(x.quoted[:0], '"'), eventType...), '"')
	x.builder.Add("type", envelope.Value{Kind: envelope.StringValue, Raw: x.quoted})
	x.builder.Add(s.shape.id, id)
}

// add adds a member if it has a value.
func (x *Expander) add(key string, v envelope.Value) {
	if v.Kind != 0 {
		x.builder.Add(key, v)
	}
}

// hasOthers reports whether the chunk has a member that AG-UI 1.0 does not define.
func (c *chunk) hasOthers() bool {
	for m := range c.All {
		if !c.describes(m) {
			return true
		}
	}
	return false
}

// addOthers adds the members that AG-UI 1.0 does not define for a chunk. It omits the
// role if the event has one of its own.
func (x *Expander) addOthers(c *chunk, hasRole bool) {
	for m := range c.All {
		if !c.describes(m) && !(hasRole && m.Is(role)) {
			x.builder.AddMember(m)
		}
	}
}

// yield passes on the event that was built.
func (x *Expander) yield(eventType string, e *envelope.Event, yield func(e *envelope.Event)) {
	data, object := x.builder.Object()
	x.event.Derive(e, eventType, data, object)
	yield(&x.event)
}

// Opener returns a chunk without delta that begins the open stream with an id again, for
// somebody who has not seen its first chunk. The type is that of the START that the stream
// has, and the result is nil if there is no such stream.
func (x *Expander) Opener(start, id string) []byte {
	for sh, held := range x.held {
		s := held[id]
		if sh.start != start || s == nil {
			continue
		}
		x.begin(sh.chunk, s.id, s)
		if sh != reasoningShape {
			x.add(sh.repeated[0], s.repeated[0])
			x.add(sh.repeated[1], s.repeated[1])
		}
		x.add(subagentRunID, s.tag)
		data, _ := x.builder.Object()
		return append([]byte(nil), data...)
	}
	return nil
}

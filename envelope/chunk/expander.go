// Package chunk expands the chunk events of AG-UI 1.0 (TEXT_MESSAGE_CHUNK,
// TOOL_CALL_CHUNK, REASONING_MESSAGE_CHUNK) into the START, CONTENT or ARGS, and END
// events that they stand for, as the reference client 1.0.0 does.
//
// The run and each subagent are a lane with at most one open stream. A chunk continues
// the stream of its id or of its lane, or ends the stream of its lane and begins
// another; other events end streams too. The package must not know what a message is or
// what the order of events should be.
package chunk

import (
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// An Expander expands the chunks of one stream of events, which may have several runs.
// The zero value is ready to use. At the end of the events, open streams need no END.
type Expander struct {
	lanes  map[lane]*stream
	held   map[*shape]map[string]*stream // by id
	opened int                           // streams begun so far
	bytes  int                           // the sizes of the open streams

	event   envelope.Event
	builder strictjson.Builder
	quoted  []byte
}

// lane identifies a lane: the tag of a subagent, or none for the run itself.
type lane struct {
	tag    string
	tagged bool
}

// stream is an open stream of chunks.
type stream struct {
	*shape
	lane  lane
	order int
	size  int // of the values below, in bytes
	// id and tag are the values of the opener. The tag has no kind if there is none.
	id, tag envelope.Value
	// repeated are the values that later chunks may repeat.
	repeated [2]envelope.Value
}

// Expand calls yield with the events that e stands for. If e is not a chunk, these are
// the ENDs of the streams that e ends, in the order in which they began, and then e. The
// other events have the index and place of e and are valid during the call of yield.
//
// If e is an invalid chunk, Expand returns the fault and ignores the chunk, except that a
// chunk that should begin a stream still ends the stream of its lane, so that no later
// chunk continues the wrong one.
func (x *Expander) Expand(e *envelope.Event, yield func(e *envelope.Event)) *Fault {
	switch e.Type {
	case textShape.chunk:
		return x.chunk(textShape, e, yield)
	case toolShape.chunk:
		return x.chunk(toolShape, e, yield)
	case reasoningShape.chunk:
		return x.chunk(reasoningShape, e, yield)
	}
	if len(x.lanes) > 0 {
		x.end(EndsOf(e.Type), e, yield)
	}
	yield(e)
	return nil
}

// end ends the streams that an event other than a chunk ends.
func (x *Expander) end(ends Ends, e *envelope.Event, yield func(e *envelope.Event)) {
	switch ends {
	case EndsLane, EndsSubagent:
		tag, _ := e.Get(subagentRunID)
		l, ok := laneOf(tag)
		if ok && (l.tagged || ends == EndsLane) {
			x.close(x.lanes[l], e, yield)
		}
	case EndsAll:
		open := make([]*stream, 0, len(x.lanes))
		for _, s := range x.lanes {
			open = append(open, s)
		}
		slices.SortFunc(open, func(a, b *stream) int { return a.order - b.order })
		for _, s := range open {
			x.close(s, e, yield)
		}
	}
}

// laneOf returns the lane that a subagentRunId names. A null tag is the lane of the run.
// A tag that is not a string names no lane.
func laneOf(tag envelope.Value) (l lane, ok bool) {
	switch tag.Kind {
	case 0, envelope.NullValue:
		return lane{}, true
	case envelope.StringValue:
		text, _ := tag.Text()
		return lane{text, true}, true
	}
	return lane{}, false
}

// close ends a stream, if there is one.
func (x *Expander) close(s *stream, e *envelope.Event, yield func(e *envelope.Event)) {
	if s == nil {
		return
	}
	delete(x.lanes, s.lane)
	x.bytes -= s.size
	id, _ := s.id.Text()
	delete(x.held[s.shape], id)
	x.begin(s.end, s.id, s)
	x.add(subagentRunID, s.tag)
	x.yield(s.end, e, yield)
}

// chunk expands a chunk.
func (x *Expander) chunk(sh *shape, e *envelope.Event, yield func(e *envelope.Event)) *Fault {
	c := chunk{Event: e, shape: sh}
	c.tag, _ = e.Get(subagentRunID)
	var ok bool
	if c.lane, ok = laneOf(c.tag); !ok {
		return fault(Malformed, subagentRunID, "the %s of %s must be a string, not %s", subagentRunID, e.Type, c.tag.Kind)
	}
	var wrong *Fault
	if c.id, wrong = text(e, sh.id); wrong == nil {
		wrong = c.resolve(x)
	} else {
		c.begins = true
	}
	for i := 0; wrong == nil && i < len(c.repeated) && sh.repeated[i] != ""; i++ {
		c.repeated[i], wrong = text(e, sh.repeated[i])
	}
	if wrong == nil && c.continues != nil {
		wrong = c.agree()
	}
	if c.begins {
		x.close(x.lanes[c.lane], e, yield)
	}
	if wrong == nil && c.begins {
		wrong = x.open(&c)
	}
	if wrong != nil {
		return wrong
	}
	x.expand(&c, yield)
	return nil
}

// chunk is a chunk that is being expanded.
type chunk struct {
	*envelope.Event
	*shape
	id, tag  envelope.Value
	lane     lane
	repeated [2]envelope.Value
	// continues is the open stream that the chunk continues. If the chunk begins a
	// stream, continues is nil until the stream is open.
	continues *stream
	begins    bool
}

// resolve finds the stream that a chunk continues, or the lane in which it begins one.
func (c *chunk) resolve(x *Expander) *Fault {
	held := x.held[c.shape]
	if c.id.Kind != 0 {
		id, _ := c.id.Text()
		s := held[id]
		if s != nil && c.lane.tagged && c.lane != s.lane {
			return fault(Conflict, subagentRunID, "%s of %s %s has another %s than its first chunk", c.Type, c.noun, finding.Quote(id), subagentRunID)
		}
		c.continues, c.begins = s, s == nil
		return nil
	}
	s := x.lanes[c.lane]
	if s != nil && s.shape == c.shape {
		c.continues = s
		return nil
	}
	if !c.lane.tagged && len(held) > 1 {
		return fault(Ambiguous, c.shape.id, "%s has neither a %s nor a %s, and %d subagents have an open %s", c.Type, c.shape.id, subagentRunID, len(held), c.noun)
	}
	if !c.lane.tagged && len(held) == 1 {
		for _, c.continues = range held {
		}
		return nil
	}
	c.begins = true
	return nil
}

// agree compares the fields that a chunk repeats with those of its stream.
func (c *chunk) agree() *Fault {
	for i, v := range c.repeated {
		if v.Kind == 0 {
			continue
		}
		text, _ := v.Text()
		if !c.continues.repeated[i].Is(text) {
			id, _ := c.continues.id.Text()
			key := c.shape.repeated[i]
			return fault(Conflict, key, "%s of %s %s has another %s than its first chunk", c.Type, c.noun, finding.Quote(id), key)
		}
	}
	return nil
}

// open begins the stream of a chunk.
func (x *Expander) open(c *chunk) *Fault {
	if c.id.Kind == 0 {
		return fault(Incomplete, c.shape.id, "the first %s of a %s must have a %s", c.Type, c.noun, c.shape.id)
	}
	if c.needed != "" && c.repeated[0].Kind == 0 {
		return fault(Incomplete, c.needed, "the first %s of a %s must have a %s", c.Type, c.noun, c.needed)
	}
	s := &stream{shape: c.shape, lane: c.lane, repeated: c.repeated}
	if c.shape == textShape && s.repeated[0].Kind == 0 {
		s.repeated[0] = envelope.Value{Kind: envelope.StringValue, Raw: []byte(c.role)}
	}
	kept := []*envelope.Value{&s.id, &s.tag, &s.repeated[0], &s.repeated[1]}
	s.id, s.tag = c.id, c.tag
	for _, v := range kept {
		s.size += len(v.Raw)
	}
	switch {
	case s.size > MaxStreamBytes:
		return fault(TooLarge, c.shape.id, "the ids and names in %s have %d bytes, more than %d", c.Type, s.size, MaxStreamBytes)
	case x.bytes+s.size > MaxBytes:
		return fault(TooLarge, c.shape.id, "the ids and names of the open streams of chunks have more than %d bytes", MaxBytes)
	case len(x.lanes) == MaxStreams:
		return fault(TooLarge, subagentRunID, "more than %d subagents have open streams of chunks", MaxStreams)
	}
	buf := make([]byte, 0, s.size)
	for _, v := range kept {
		start := len(buf)
		buf = append(buf, v.Raw...)
		v.Raw = buf[start:len(buf):len(buf)]
	}
	x.opened++
	s.order = x.opened
	x.hold(s)
	c.continues = s
	return nil
}

// hold adds an open stream.
func (x *Expander) hold(s *stream) {
	x.bytes += s.size
	if x.lanes == nil {
		x.lanes = make(map[lane]*stream)
		x.held = map[*shape]map[string]*stream{textShape: {}, toolShape: {}, reasoningShape: {}}
	}
	x.lanes[s.lane] = s
	id, _ := s.id.Text()
	x.held[s.shape][id] = s
}

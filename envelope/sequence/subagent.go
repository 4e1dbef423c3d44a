package sequence

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// subagent is a subagent that has started in the run.
type subagent struct {
	active bool
	since  int
}

// optionals returns the optional members of an event about a subagent that the client
// refuses if they are null.
func optionals(eventType string) []string {
	switch eventType {
	case eventnames.SubagentStarted:
		return []string{"description", "parentSubagentRunId", "parentToolCallId", "parentMessageId"}
	case eventnames.SubagentFinished:
		return []string{"outcome"}
	}
	return []string{"code"}
}

// checkSubagentForm checks the members of an event about a subagent.
func (c *Checker) checkSubagentForm(e *envelope.Event) {
	for _, key := range optionals(e.Type) {
		if v, ok := e.Get(key); ok && v.Kind == envelope.NullValue {
			c.breach(e, "G6", v, pointerTo(key), "%s has the %s null; leave it out", e.Type, key)
		}
	}
	outcome, ok := e.Get("outcome")
	if !ok || outcome.Kind == envelope.NullValue || e.Type != eventnames.SubagentFinished {
		return
	}
	var o envelope.Object
	if outcome.Kind == envelope.ObjectValue {
		_, _ = strictjson.ReadText(&o, new(strictjson.Decoder), outcome.Raw) // it was read before
	}
	kind, _ := o.Get("type")
	if !kind.Is("success") && !kind.Is("suspended") {
		c.breach(e, "G7", outcome, "/outcome", "the outcome of SUBAGENT_FINISHED must be an object with the type \"success\" or \"suspended\"")
	}
	ids, ok := o.Get("interruptIds")
	if !ok {
		return
	}
	ids.Start += outcome.Start
	if ids.Kind == envelope.NullValue {
		c.breach(e, "G6", ids, "/outcome/interruptIds", "SUBAGENT_FINISHED has the interruptIds null; leave them out")
	}
	reported := false
	_ = strictjson.Elements(ids, func(i int, v envelope.Value, _ *envelope.Object) error {
		if v.Kind != envelope.StringValue && !reported {
			reported = true
			c.breach(e, "G8", v, finding.Pointer("/outcome/interruptIds").Index(i), "an interrupt id must be a string, not %s", v.Kind)
		}
		return nil
	})
}

// required returns a required string of an event about a subagent. It reports a member
// that is missing or not a string.
func (c *Checker) required(e *envelope.Event, key string) (text string, v envelope.Value, ok bool) {
	text, v, ok = c.idOf(e, key)
	if !ok && !(key == "subagentRunId" && v.Kind == envelope.NullValue) { // null breaks G5
		c.breach(e, "G19", v, pointerTo(key), "%s must have a %s, which is a string", e.Type, key)
	}
	return text, v, ok
}

func (c *Checker) startSubagent(e *envelope.Event) {
	id, v, ok := c.required(e, "subagentRunId")
	if !ok {
		return
	}
	c.required(e, "name")
	it := c.run.subagents[id]
	switch {
	case it != nil && it.active:
		c.breach(e, "G20", v, "/subagentRunId", "SUBAGENT_STARTED names subagent %s, which is already active", finding.Quote(id))
		return
	case it != nil:
		c.breach(e, "G20", v, "/subagentRunId", "SUBAGENT_STARTED names subagent %s, which has ended in this run; every invocation needs its own id", finding.Quote(id))
	default:
		if c.run.tagged[id] && c.has("G42") {
			c.breach(e, "G42", v, "/subagentRunId", "SUBAGENT_STARTED names subagent %s, which an earlier event of the run belongs to", finding.Quote(id))
		}
		if parent, at, ok := c.idOf(e, "parentSubagentRunId"); ok && c.run.subagents[parent] == nil && !c.run.full {
			c.breach(e, "G21", at, "/parentSubagentRunId", "SUBAGENT_STARTED names the parent %s, which has not started in this run", finding.Quote(parent))
		}
	}
	c.activate(e, id)
}

func (c *Checker) endSubagent(e *envelope.Event) {
	id, v, ok := c.required(e, "subagentRunId")
	if !ok {
		return
	}
	if e.Type == eventnames.SubagentError {
		c.required(e, "message")
	}
	it := c.run.subagents[id]
	switch {
	case it != nil && it.active:
		it.active = false
	case !c.run.full:
		c.breach(e, "G22", v, "/subagentRunId", "%s names subagent %s, which is not active; SUBAGENT_STARTED starts it", e.Type, finding.Quote(id))
	}
}

// activate records that a subagent is active.
func (c *Checker) activate(e *envelope.Event, id string) {
	it := c.run.subagents[id]
	if it == nil {
		if !c.remember(e, id) {
			return
		}
		if c.run.subagents == nil {
			c.run.subagents = make(map[string]*subagent)
		}
		it = new(subagent)
		c.run.subagents[id] = it
	}
	c.run.sequence++
	it.active, it.since = true, c.run.sequence
}

// openSubagents returns the active subagents.
func (c *Checker) openSubagents() (list []*opened) {
	for id, it := range c.run.subagents {
		if it.active {
			list = append(list, &opened{id: id, since: it.since})
		}
	}
	return list
}

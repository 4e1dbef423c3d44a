package sequence

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// opener is the two members of the first event that opened an entity in the run with which
// later ones have to agree. See checkReopened.
type opener [2]name

// checkReopened compares an event that opens an entity with the first one that did. A START
// without a role has the role assistant. Otherwise a member that is missing agrees with any.
func (c *Checker) checkReopened(e *envelope.Event, it *entity, rule string, k *kind, id string, keys ...string) {
	if c.client {
		return
	}
	first := &it.opener
	for i, key := range keys {
		value, v := c.nameOf(e, key)
		if _, has := e.Get(key); key == "role" && !has {
			value = name{"assistant", true}
		}
		if !value.known {
			continue
		}
		if first[i].differs(value) && c.has(rule) {
			c.breach(e, rule, v, pointerIf(v, key), "%s opens %s %s again with the %s %s, which was %s", c.subject(e), k.noun, quoteID(id), key, finding.Quote(value.text), finding.Quote(first[i].text))
		}
		if !first[i].known && c.hold(len(value.text)) {
			first[i] = value
		}
	}
}

// hold counts text that is remembered of the run. It reports whether there is room for it.
func (c *Checker) hold(bytes int) bool {
	if c.run.bytes+bytes > c.maxBytes {
		return false
	}
	c.run.bytes += bytes
	return true
}

// pointerIf returns the pointer to a member of an event, or to the event without it.
func pointerIf(v envelope.Value, key string) finding.Pointer {
	if v.Kind == 0 {
		return ""
	}
	return pointerTo(key)
}

// noteTag remembers the subagent that an event belongs to. The subagentRunId of an event
// about a subagent is not that of an owner.
func (c *Checker) noteTag(e *envelope.Event, tag owner) {
	if !tag.subagent || c.client || c.run.tagged[tag.name] || c.run.subagents[tag.name] != nil || !c.remember(e, tag.name) {
		return
	}
	if c.run.tagged == nil {
		c.run.tagged = make(map[string]bool)
	}
	c.run.tagged[tag.name] = true
}

// answer takes account of TOOL_CALL_RESULT.
func (c *Checker) answer(e *envelope.Event) {
	if id, _, ok := c.idOf(e, "toolCallId"); ok && !c.client {
		if it := c.entity(e, &c.run.tools, id); it != nil {
			it.answered = true
		}
	}
}

// checkPending compares the pendingToolCallIds of RUN_FINISHED with the calls of the run that
// have no result. An empty list says nothing.
func (c *Checker) checkPending(e *envelope.Event) {
	outcome, _ := e.Get("outcome")
	kind, _ := memberOf(outcome, "type")
	list, ok := memberOf(outcome, "pendingToolCallIds")
	if !ok || !kind.Is("success") || c.run.full || !c.has("G39") {
		return
	}
	const at = finding.Pointer("/outcome/pendingToolCallIds")
	listed, malformed, reported := make(map[string]bool), false, false
	_ = strictjson.Elements(list, func(i int, v envelope.Value, _ *envelope.Object) error {
		malformed = malformed || v.Kind != envelope.StringValue
		text, _ := v.Text()
		it := c.run.tools[text]
		switch {
		case malformed || reported:
		case it == nil || !it.called:
			reported = true
			c.breach(e, "G39", v, at.Index(i), "pendingToolCallIds names call %s, which the run did not start", finding.Quote(text))
		case it.answered:
			reported = true
			c.breach(e, "G39", v, at.Index(i), "pendingToolCallIds names call %s, which has a TOOL_CALL_RESULT", finding.Quote(text))
		}
		listed[text] = true
		return nil
	})
	if malformed || len(listed) == 0 {
		return
	}
	var left []*opened
	for id, it := range c.run.tools {
		if it.called && !it.answered && !listed[id] {
			left = append(left, &opened{id: id, since: it.since})
		}
	}
	if len(left) > 0 {
		c.breach(e, "G39", list, at, "pendingToolCallIds leaves out %s without a result: %s", counted(len(left), "call", "calls"), listOpened(left))
	}
}

// checkEncrypted checks that a message or tool call whose members are o, at pointer in the
// event, has no encryptedValueType without an encryptedValue.
func (c *Checker) checkEncrypted(e *envelope.Event, o *envelope.Object, pointer finding.Pointer) {
	v, ok := o.Get("encryptedValueType")
	if _, has := o.Get("encryptedValue"); !ok || has || v.Kind != envelope.StringValue || !c.has("G38") {
		return
	}
	c.breach(e, "G38", v, pointer.Name("encryptedValueType"), "%s is without an encryptedValue", pointer.Name("encryptedValueType"))
}

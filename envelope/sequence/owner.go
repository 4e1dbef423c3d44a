package sequence

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// owner is the agent that an event is attributed to. The zero value is the run's own
// agent, which subagents have as their parent.
type owner struct {
	name     string
	subagent bool
	// unknown means that the subagentRunId is not a string. Such an owner is not
	// compared with others.
	unknown bool
}

// String returns the owner for a finding.
func (o owner) String() string {
	if o.subagent {
		return "subagent " + finding.Quote(o.name)
	}
	return "the parent agent"
}

// tagOf returns the owner that an event names. It reports a null subagentRunId, once for
// all events that a chunk stands for.
func (c *Checker) tagOf(e *envelope.Event) owner {
	v, _ := e.Get("subagentRunId")
	if v.Kind != envelope.NullValue {
		return ownerOf(v)
	}
	if c.protocol == event.V0 && e.Type != c.origin.Type { // 0.x omitted it from what chunks stand for
		return owner{}
	}
	if at, _ := c.origin.Get("subagentRunId"); at.Kind == envelope.NullValue && !c.tagged {
		c.tagged = true
		c.breach(c.origin, "G5", at, "/subagentRunId", "%s has the subagentRunId null; leave it out", c.origin.Type)
	}
	return ownerOf(v)
}

// ownerOf returns the owner with a subagentRunId, which may be absent.
func ownerOf(v envelope.Value) owner {
	switch v.Kind {
	case 0:
		return owner{}
	case envelope.StringValue:
		name, _ := v.Text()
		return owner{name: name, subagent: true}
	}
	return owner{unknown: true}
}

// claim records the owner of an entity that has none.
func (it *entity) claim(tag owner) {
	if !it.owned {
		it.owner, it.owned = tag, true
	}
}

// reown replaces the owner of an entity.
func (it *entity) reown(tag owner) {
	it.owner, it.owned, it.disputed = tag, true, false
}

// differs reports whether a tag names another owner than the recorded one. An event
// without a tag agrees with any owner.
func (it *entity) differs(tag owner) bool {
	return tag.subagent && it != nil && it.owned && !it.owner.unknown && it.owner != tag
}

// checkOwner compares the tag of an event with the owner of its entity. It reports an
// entity once. It returns whether they agree.
func (c *Checker) checkOwner(e *envelope.Event, noun string, it *entity, id string, tag owner) bool {
	if !it.differs(tag) {
		return true
	}
	if !it.disputed {
		v, _ := e.Get("subagentRunId")
		c.breach(e, "G18", v, "/subagentRunId", "%s names %s, but the %s %s belongs to %s", c.subject(e), tag, noun, quoteID(id), it.owner)
		it.disputed = true
	}
	return false
}

// own makes the tag of an event the owner of the entity that it creates.
func (c *Checker) own(list *entities, e *envelope.Event, key string, tag owner) {
	if id, _, ok := c.idOf(e, key); ok {
		if it := c.entity(e, list, id); it != nil {
			it.reown(tag)
		}
	}
}

// activitySnapshot records the owner of an activity, unless the snapshot leaves an
// activity as it is.
func (c *Checker) activitySnapshot(e *envelope.Event, tag owner) {
	id, _, ok := c.idOf(e, "messageId")
	if !ok {
		return
	}
	it := c.entity(e, &c.run.activities, id)
	replace, _ := e.Get("replace")
	switch {
	case it == nil:
	case !it.owned || replace.Kind != envelope.FalseValue:
		it.reown(tag)
	case it.differs(tag) && c.has("G43"):
		v, _ := e.Get("subagentRunId")
		c.breach(e, "G43", v, "/subagentRunId", "ACTIVITY_SNAPSHOT with replace false names %s, but the activity %s belongs to %s", tag, quoteID(id), it.owner)
	}
}

// activityDelta compares the tag of an event with the owner of the activity.
func (c *Checker) activityDelta(e *envelope.Event, tag owner) {
	if id, _, ok := c.idOf(e, "messageId"); ok {
		c.checkOwner(e, "activity", c.run.activities[id], id, tag)
	}
}

// checkEncryptedValue compares the tag of an event with the owner of the message or tool
// call that it belongs to.
func (c *Checker) checkEncryptedValue(e *envelope.Event, tag owner) {
	id, _, ok := c.idOf(e, "entityId")
	if !ok {
		return
	}
	subtype, _ := e.Get("subtype")
	switch {
	case subtype.Is("tool-call"):
		c.checkOwner(e, "tool call", c.run.tools[id], id, tag)
	case subtype.Is("message") && c.run.messages[id] != nil && c.run.messages[id].owned:
		c.checkOwner(e, "message", c.run.messages[id], id, tag)
	default:
		c.checkOwner(e, "reasoning", c.run.reasoning[id], id, tag)
	}
}

// openToolCall checks TOOL_CALL_START. A tool call belongs to the message that contains
// it, so it has the same owner.
func (c *Checker) openToolCall(e *envelope.Event, tag owner) {
	id, v, ok := c.idOf(e, "toolCallId")
	if !ok {
		return
	}
	it := c.entity(e, &c.run.tools, id)
	if it == nil || !c.begin(e, toolCall, it, id, v) {
		return
	}
	if !it.called {
		it.called, it.since = true, c.run.sequence
	}
	c.checkReopened(e, it, "G41", toolCall, id, "toolCallName", "parentMessageId")
	inherited := tag
	parentID, parentValue, named := c.idOf(e, "parentMessageId")
	parent := c.run.messages[parentID]
	if named && parent != nil && parent.owned && !parent.owner.unknown {
		if parent.differs(tag) {
			tagged, _ := e.Get("subagentRunId")
			c.breach(e, "G13", tagged, "/subagentRunId", "%s names %s, but its parent message %s belongs to %s", c.subject(e), tag, quoteID(parentID), parent.owner)
			it.claim(tag)
			return
		}
		if !tag.subagent {
			inherited = parent.owner
		}
		if !tag.subagent && !tag.unknown && it.owned && !it.owner.unknown && it.owner != inherited {
			c.breach(e, "G13", parentValue, "/parentMessageId", "%s starts tool call %s of %s again, but its parent message %s belongs to %s", c.subject(e), quoteID(id), it.owner, quoteID(parentID), inherited)
			return
		}
	}
	c.checkOwner(e, "tool call", it, id, tag)
	it.claim(inherited)
}

// seedInput records the owners of the messages in the input of RUN_STARTED. They are
// history, so they do not replace owners.
func (c *Checker) seedInput(e *envelope.Event) {
	input, ok := e.Get("input")
	if !ok || input.Kind != envelope.ObjectValue {
		return
	}
	var o envelope.Object
	if _, err := strictjson.ReadText(&o, new(strictjson.Decoder), input.Raw); err != nil {
		return // the event was read before, so this cannot happen
	}
	if list, ok := o.Get("messages"); ok {
		list.Start += input.Start
		c.seed(e, list, "/input/messages", false)
	}
}

// seed records the owners of messages and of their tool calls. Owners from a snapshot
// replace those on record.
func (c *Checker) seed(e *envelope.Event, list envelope.Value, at finding.Pointer, replaces bool) {
	record := func(list *entities, v envelope.Value, tag owner) {
		id, _ := v.Text()
		it := c.entity(e, list, id)
		switch {
		case it == nil:
		case replaces:
			it.reown(tag)
		default:
			it.claim(tag)
		}
	}
	// The event was read before, so there is no error.
	_ = strictjson.Elements(list, func(i int, _ envelope.Value, m *envelope.Object) error {
		id, ok := m.Get("id")
		if !ok || id.Kind != envelope.StringValue {
			return nil
		}
		v, _ := m.Get("subagentRunId")
		if v.Kind == envelope.NullValue {
			c.breach(e, "G5", v, at.Index(i).Name("subagentRunId"), "message %s has the subagentRunId null; leave it out", quoted(id))
		}
		tag := ownerOf(v)
		c.checkEncrypted(e, m, at.Index(i))
		bucket := &c.run.messages
		if role, _ := m.Get("role"); role.Is("reasoning") {
			bucket = &c.run.reasoning
		} else if role.Is("activity") {
			bucket = &c.run.activities
		}
		record(bucket, id, tag)
		calls, _ := m.Get("toolCalls")
		return strictjson.Elements(calls, func(n int, _ envelope.Value, call *envelope.Object) error {
			c.checkEncrypted(e, call, at.Index(i).Name("toolCalls").Index(n))
			if id, ok := call.Get("id"); ok && id.Kind == envelope.StringValue {
				record(&c.run.tools, id, tag)
			}
			return nil
		})
	})
}

// quoted returns the text of a string for a finding.
func quoted(v envelope.Value) string {
	text, _ := v.Text()
	return finding.Quote(text)
}
